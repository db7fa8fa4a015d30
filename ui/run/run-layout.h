/* Computes which figures, charts and memory bars of a run fit into the run panel, and their rectangles. The least
 * important ones are hidden, so that none is clipped. Arithmetic without widgets, so that it is tested without a
 * display. */
#pragma once

#include <glib.h>

#define RUN_FIGURES 4
#define RUN_CHARTS  2

typedef struct
{
  int x, y, width, height; /* width 0: hidden */
} RunArea;

typedef struct
{
  int figure_width, figure_height; /* of the largest figure */
  gboolean has_figure[RUN_FIGURES], has_chart[RUN_CHARTS], has_memory;
  int chart_width, memory_width; /* minimum */
} RunParts;

typedef struct
{
  RunArea figure[RUN_FIGURES], chart[RUN_CHARTS], memory;
} RunAllocation;

#define RUN_GAP        18
#define RUN_FIGURE_GAP 12

/* figures are stored in reading order; rank[i] is the importance of figure i, and 0 is hidden last. */
void
run_layout (RunAllocation *allocations, const RunParts *parts, const guint rank[RUN_FIGURES], int width, int height);
