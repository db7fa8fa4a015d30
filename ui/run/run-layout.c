/* Implements run-layout.h: chooses the first row of `choices` that fits the width, and computes the rectangles. The
 * table decides what a small panel hides first. */
#include "ui/run/run-layout.h"

typedef struct
{
  int columns, charts;
  gboolean memory;
} Choice;

/* Ordered from everything to the most important parts: the figures and the loss chart. */
static const Choice choices[] = { { 2, 2, TRUE }, { 2, 2, FALSE }, { 2, 1, FALSE }, { 1, 1, FALSE }, { 1, 0, FALSE } };

static int
count (const gboolean *has, int n)
{
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += has[i] ? 1 : 0;
  return sum;
}

static int
needed (const RunParts *parts, const Choice *choice, int n_charts)
{
  int charts = MIN (choice->charts, n_charts);
  return choice->columns * (parts->figure_width + RUN_GAP) - RUN_GAP + charts * (RUN_GAP + parts->chart_width)
         + (choice->memory && parts->has_memory ? RUN_GAP + parts->memory_width : 0);
}

static void
allocate_figures (RunAllocation *allocations, const RunParts *parts, const guint rank[RUN_FIGURES], int columns,
                  int rows)
{
  int at = 0, slots = columns * rows;
  for (int i = 0; i < RUN_FIGURES; i++)
    {
      int more_important = 0;
      for (int k = 0; k < RUN_FIGURES; k++)
        more_important += parts->has_figure[k] && rank[k] < rank[i] ? 1 : 0;
      if (!parts->has_figure[i] || more_important >= slots)
        continue;
      allocations->figure[i] = (RunArea){ (at % columns) * (parts->figure_width + RUN_GAP),
                                          (at / columns) * (parts->figure_height + RUN_FIGURE_GAP), parts->figure_width,
                                          parts->figure_height };
      at++;
    }
}

void
run_layout (RunAllocation *allocations, const RunParts *parts, const guint rank[RUN_FIGURES], int width, int height)
{
  int n_charts = count (parts->has_chart, RUN_CHARTS), n_figures = count (parts->has_figure, RUN_FIGURES);
  int rows = MAX ((height + RUN_FIGURE_GAP) / MAX (parts->figure_height + RUN_FIGURE_GAP, 1), 1);
  guint c = 0;
  *allocations = (RunAllocation){ 0 };
  while (c + 1 < G_N_ELEMENTS (choices) && needed (parts, &choices[c], n_charts) > width)
    c++;
  /* A single column of all figures, if the height allows it, leaves the charts more width. */
  rows = MIN (rows, (n_figures + choices[c].columns - 1) / choices[c].columns);
  allocate_figures (allocations, parts, rank, choices[c].columns, rows);
  int x = choices[c].columns * (parts->figure_width + RUN_GAP), end = width;
  if (choices[c].memory && parts->has_memory)
    {
      allocations->memory = (RunArea){ width - parts->memory_width, 0, parts->memory_width, height };
      end = allocations->memory.x - RUN_GAP;
    }
  int charts = MIN (choices[c].charts, n_charts), each = charts > 0 ? (end - x - (charts - 1) * RUN_GAP) / charts : 0;
  for (int i = 0, k = 0; i < RUN_CHARTS && k < charts; i++)
    if (parts->has_chart[i])
      allocations->chart[i] = (RunArea){ x + k++ * (each + RUN_GAP), 0, each, height };
}
