/* The time of each node, measured by the worker while the canvas shows it: asked for once a run and after each change
 * of what the canvas measures, never over and over, because measuring takes a few steps' time. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_TIMES (studio_times_get_type ())
G_DECLARE_FINAL_TYPE (StudioTimes, studio_times, STUDIO, TIMES, GObject)

StudioTimes *studio_times_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);

G_END_DECLS
