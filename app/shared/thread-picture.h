/* Shows the threads of a generated kernel with the elements that each computes, as text and as a picture. */
#pragma once

#include "engine/loom-run.h"

typedef struct
{
  int threads, vector; /* of a block; elements of a thread */
  gint64 count;        /* elements of the result */
} ThreadGrid;

/* Reads the grid from a kernel's source and the call's result. FALSE if the source is not of such a kernel. */
gboolean thread_grid_read (const char *source, const LoomKernelSpec *spec, ThreadGrid *grid);
gint64 thread_grid_blocks (const ThreadGrid *grid);
/* SVG of the first two blocks and the last one; title: above it (transfer full). */
char *thread_grid_draw (const ThreadGrid *grid, const char *title);
