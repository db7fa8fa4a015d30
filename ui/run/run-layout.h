/* Chooses the parts of a run that there is room for, as arithmetic without widgets: figures, charts and memory, fewer
 * by importance where the panel is small, so that none of them is cut. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define RUN_FIGURES 4
#define RUN_CHARTS  2

typedef struct
{
  int x, y, width, height; /* width 0: not seen */
} RunArea;

typedef struct
{
  int figure_width, figure_height; /* what the largest of them needs */
  gboolean has_figure[RUN_FIGURES], has_chart[RUN_CHARTS], has_memory;
  int chart_width, memory_width; /* at least */
} RunParts;

typedef struct
{
  RunArea figure[RUN_FIGURES], chart[RUN_CHARTS], memory;
} RunPlaces;

#define RUN_GAP        18
#define RUN_FIGURE_GAP 12

/* Figures are counted as they are read; importance says which stay: rank[i] of figure i, 0 stays longest. */
void run_layout (RunPlaces *places, const RunParts *parts, const guint rank[RUN_FIGURES], int width, int height);

G_END_DECLS
