/* Shows on the canvas the time of each node, measured by the worker. It is requested once per run and when the user
 * chooses what to measure, never periodically, because measuring takes the time of a few steps. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_TIMES (studio_times_get_type ())
G_DECLARE_FINAL_TYPE (StudioTimes, studio_times, STUDIO, TIMES, GObject)

StudioTimes *studio_times_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);

G_END_DECLS
