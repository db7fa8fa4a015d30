/* Opens a Studio window in the process of a benchmark. */
#pragma once

#include "ui/window/studio-window-private.h"

/* A window with the graph argv[1]. Ends the program with a message if none is named (status 2) or it cannot be opened
 * (status 1). */
StudioWindow *bench_window_open (int argc, char **argv);
void bench_run_for (guint ms); /* the main loop */
