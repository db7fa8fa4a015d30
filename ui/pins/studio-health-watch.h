/* Watches the health of the net while the canvas shows it: requests reports from the worker, shows them on the canvas,
 * and says what is sick, since when, and where the run can go back to.
 *
 * Nothing is requested while the canvas does not show health. A report costs the worker about a step, so the next one
 * is requested only after a multiple of the time that the last one took. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-run.h"

#define STUDIO_TYPE_HEALTH_WATCH (studio_health_watch_get_type ())
G_DECLARE_FINAL_TYPE (StudioHealthWatch, studio_health_watch, STUDIO, HEALTH_WATCH, GObject)

/* Signal "changed": after each report. */
StudioHealthWatch *studio_health_watch_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);
/* "act: 31 of 32 units are dead since the rate became 50.", or why health is not measured; NULL: nothing is known to be
 * sick. */
const char *studio_health_watch_get_sentence (StudioHealthWatch *self);
/* The path of that node; NULL: none. */
const char *studio_health_watch_get_sick (StudioHealthWatch *self);
/* The step of the newest checkpoint from when it was well; -1: there is none. */
gint64 studio_health_watch_get_back (StudioHealthWatch *self);
guint studio_health_watch_n_reports (StudioHealthWatch *self); /* of this run, for tests */
