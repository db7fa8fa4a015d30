/* The bars above the run panel. The version bar appears if the run trains an earlier version of the graph, and offers
 * Restart. The end bar reports how the run ended and offers Continue, reports that the run's steps stall or that the
 * graph trains in another window, or offers to attach a run without a window. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-memory-forecast.h"

#define STUDIO_TYPE_RUN_BANNERS (studio_run_banners_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunBanners, studio_run_banners, STUDIO, RUN_BANNERS, GtkWidget)

/* Its buttons activate win.attach, win.continue, win.continue-slower, win.restart and win.compare-run. */
StudioRunBanners *studio_run_banners_new (StudioDocument *document, StudioRun *run, StudioMemoryForecast *forecast);
/* Updates "Training an earlier version · 3 changes"; call when the document may have changed. A number of ranks that
 * differs from the live run's counts as a change. */
void studio_run_banners_update_version (StudioRunBanners *self);
/* Puts the buttons below the text if there is no space for both in one line. */
void studio_run_banners_set_narrow (StudioRunBanners *self, gboolean narrow);
