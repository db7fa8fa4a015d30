/* Shows on the canvas the time of each node, measured by the worker. It is requested once per run and when the user
 * chooses what to measure, never periodically, because measuring takes the time of a few steps. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-run.h"

#define STUDIO_TYPE_NODE_TIMES (studio_node_times_get_type ())
G_DECLARE_FINAL_TYPE (StudioNodeTimes, studio_node_times, STUDIO, NODE_TIMES, GObject)

StudioNodeTimes *studio_node_times_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);
