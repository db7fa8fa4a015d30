/* Chooses the shape of the whole layout: the number of columns per row, the width of the channels between them, and the
 * arrangement of components.
 *
 * Several shapes are computed and rated: mostly by the size of the text on the canvas, then by few rows, few crossings,
 * and channels wide enough for shape labels. For a large graph only the most promising shape is computed, so that 2,000
 * boxes take well below a third of a second. */
#include "ui/layout/layout-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A layout with open channels: x is x0 + channels × their width. */
typedef struct
{
  double *x0, *y;
  guint *channels;
  double height;
  guint rows, tracks, alone; /* rows, wires that wrap, rows after the first that have one column */
  guint64 crossings;
} Draft;

typedef struct
{
  guint layers; /* number of the layering */
  guint columns;
  double cost;
} Shape;

typedef struct
{
  const LayoutGraph *graph;
  double width, height;
  LayoutLayers layers[2];
  guint n_layerings;
  guint **nodes; /* of each component */
  guint *n_nodes;
  guint *loose, n_loose;
} Work;

double
studio_layout_zoom (double whole_width, double whole_height, double width, double height)
{
  /* As the canvas fits the graph: with a margin for everything that cards draw beyond their edges. */
  const double aside = 16, margin = 48;

  return MIN (1,
              MIN (MAX (width - margin, 1) / (whole_width + aside), MAX (height - margin, 1) / (whole_height + aside)));
}

/* In units of a quarter of a zoom step from 0 to 1. */
static double
cost_of (const Work *work, double whole_width, double whole_height, guint rows)
{
  double zoom = studio_layout_zoom (whole_width, whole_height, work->width, work->height);

  return 4 * (1 - zoom) + 12 * MAX (0, STUDIO_LAYOUT_READABLE - zoom) + 0.12 * MIN (rows, 12u);
}

static double
channel_cost (const Work *work, double zoom, double channel)
{
  /* Below the readable zoom, shapes are not drawn. */
  if (zoom < STUDIO_LAYOUT_READABLE || work->graph->label <= channel)
    return 0;
  return 0.25 * (work->graph->label - channel) / work->graph->label;
}

static double
gutter (guint tracks)
{
  return MAX (layout_snap_up (LAYOUT_GUTTER), layout_snap_up (32 + LAYOUT_TRACK * tracks));
}

/* ---- computing one shape -------------------------------------------------- */

typedef struct
{
  double width0, height;
  guint channels, columns;
} Block;

static Block
draft_component (const Work *work, Draft *draft, const Shape *shape, guint component, double x0, guint channels,
                 double top)
{
  const LayoutLayers *layers = &work->layers[shape->layers];
  const guint *nodes = work->nodes[component];
  guint n = work->n_nodes[component];
  g_autofree guint *row = g_new0 (guint, layers->n_layers + 1), *tracks = g_new0 (guint, layers->n_layers + 1);
  g_autofree guint *row_of = g_new (guint, work->graph->n_nodes + 1);
  g_autofree guint *column_of = g_new (guint, work->graph->n_nodes + 1);
  guint rows = layout_layers_wrap (layers, work->graph, nodes, n, shape->columns, row, tracks), last = 0;
  Block block = { 0 };
  double y = top;

  layout_layers_settle (layers, work->graph, nodes, n, rows, row, row_of, column_of);
  for (guint r = 0; r < rows; r++)
    {
      g_autoptr (LayoutRow) one = layout_row_new (work->graph, layers, nodes, n, row_of, column_of, r);
      g_autofree double *wide = g_new0 (double, one->n_layers + 1), *left = g_new0 (double, one->n_layers + 1);
      double height;

      while (last < layers->n_layers && row[last] == r)
        last++;
      /* All weights of a layer may have moved to their readers. */
      if (one->n_spots == 0)
        continue;
      layout_row_order (one);
      height = layout_row_place (one);
      draft->crossings += one->crossings;
      for (guint i = 0; i < one->n_spots; i++)
        if (one->spot[i].node != LAYOUT_NONE)
          wide[one->spot[i].layer] = MAX (wide[one->spot[i].layer], work->graph->node[one->spot[i].node].width);
      for (guint l = 0; l < one->n_layers; l++)
        left[l + 1] = left[l] + wide[l];
      for (guint i = 0; i < one->n_spots; i++)
        {
          const LayoutSpot *spot = &one->spot[i];
          double aside;

          if (spot->node == LAYOUT_NONE)
            continue;
          aside = (wide[spot->layer] - work->graph->node[spot->node].width) / 2;
          draft->x0[spot->node] = x0 + left[spot->layer] + STUDIO_SNAP * floor (aside / STUDIO_SNAP);
          draft->channels[spot->node] = channels + spot->layer;
          draft->y[spot->node] = y + spot->y;
        }
      draft->alone += rows > 1 && shape->columns > 1 && one->n_layers == 1;
      block.width0 = MAX (block.width0, left[one->n_layers]);
      block.channels = MAX (block.channels, one->n_layers - 1);
      y = layout_snap_up (y + height);
      if (r + 1 < rows)
        {
          y += gutter (tracks[last - 1]);
          draft->tracks += tracks[last - 1];
        }
    }
  draft->rows += rows;
  block.columns
      = MAX (block.channels + 1,
             (guint)ceil ((block.width0 + LAYOUT_CHANNEL) / (work->graph->cell_width + LAYOUT_CHANNEL) - 0.01));
  block.height = y - top;
  return block;
}

/* Arranges cards without wires in lines. */
static double
draft_loose (const Work *work, Draft *draft, guint columns, double top)
{
  double y = top, tallest = 0, x0 = 0;

  for (guint i = 0; i < work->n_loose; i++)
    {
      guint node = work->loose[i], column = i % columns;

      if (column == 0)
        {
          y = i > 0 ? layout_snap_up (y + tallest + LAYOUT_ROW_GAP) : y;
          tallest = x0 = 0;
          draft->rows++;
        }
      draft->x0[node] = x0;
      draft->channels[node] = column;
      draft->y[node] = y;
      tallest = MAX (tallest, work->graph->node[node].height);
      x0 += work->graph->node[node].width;
    }
  return y + tallest;
}

/* Components are placed side by side while there are columns, then below each other. */
static Draft *
draft_new (const Work *work, const Shape *shape)
{
  Draft *draft = g_new0 (Draft, 1);
  guint n = work->graph->n_nodes, n_components = work->layers[shape->layers].n_components;
  guint columns = 0, channels = 0;
  double x0 = 0, top = 0, bottom = 0;

  draft->x0 = g_new0 (double, n + 1);
  draft->y = g_new0 (double, n + 1);
  draft->channels = g_new0 (guint, n + 1);
  for (guint c = 0; c < n_components; c++)
    {
      Block block = draft_component (work, draft, shape, c, x0, channels, top);

      if (columns > 0 && columns + 1 + block.columns > shape->columns)
        {
          double by = bottom + gutter (0) - top;

          for (guint i = 0; i < work->n_nodes[c]; i++)
            {
              guint node = work->nodes[c][i];

              draft->x0[node] -= x0;
              draft->channels[node] -= channels;
              draft->y[node] += by;
            }
          top += by;
          columns = channels = 0;
          x0 = 0;
        }
      columns += block.columns + 1;
      channels += block.channels + 2;
      x0 += block.width0;
      bottom = MAX (bottom, top + block.height);
    }
  if (work->n_loose > 0)
    bottom = draft_loose (work, draft, MAX (1u, MIN (shape->columns, work->n_loose)),
                          n_components > 0 ? bottom + gutter (0) : 0);
  draft->height = bottom;
  return draft;
}

static void
draft_free (Draft *draft)
{
  g_free (draft->x0);
  g_free (draft->y);
  g_free (draft->channels);
  g_free (draft);
}

static double
draft_width (const Work *work, const Draft *draft, double channel)
{
  double width = 0;

  for (guint i = 0; i < work->graph->n_nodes; i++)
    width = MAX (width, draft->x0[i] + work->graph->node[i].width + draft->channels[i] * channel);
  return width;
}

/* Chooses the best channel width for this draft, and returns its cost. */
static double
draft_cost (const Work *work, const Draft *draft, double *channel)
{
  double best = INFINITY, ideal = MAX (work->graph->label, LAYOUT_CHANNEL + 2 * STUDIO_SNAP);

  /* In steps of the grid, so that columns of cards are on it. */
  for (double width = LAYOUT_CHANNEL; width < ideal + STUDIO_SNAP; width += STUDIO_SNAP)
    {
      double whole = draft_width (work, draft, width);
      double cost = cost_of (work, whole, draft->height, draft->rows)
                    + channel_cost (work, studio_layout_zoom (whole, draft->height, work->width, work->height), width);

      if (cost < best - 1e-9)
        {
          best = cost;
          *channel = width;
        }
    }
  return best + 0.15 * (double)draft->crossings / (1 + work->graph->n_nodes / 30.0) + 0.02 * draft->tracks
         + 0.2 * MIN (draft->alone, 2u);
}

/* ---- choosing shapes ------------------------------------------------------ */

/* Estimates from the heights of layers alone. */
static double
guess (const Work *work, const Shape *shape)
{
  const LayoutLayers *layers = &work->layers[shape->layers];
  g_autofree guint *row = g_new (guint, layers->n_layers + 1), *tracks = g_new (guint, layers->n_layers + 1);
  g_autofree double *height = g_new (double, layers->n_layers + 1);
  double total = 0, widest = 0;
  guint rows = 0;

  for (guint c = 0; c < layers->n_components; c++)
    {
      guint n = layout_layers_wrap (layers, work->graph, work->nodes[c], work->n_nodes[c], shape->columns, row, tracks);
      guint count = 0, before = LAYOUT_NONE;
      double tallest = 0;

      memset (height, 0, layers->n_layers * sizeof (double));
      for (guint i = 0; i < work->n_nodes[c]; i++)
        height[layers->layer[work->nodes[c][i]]] += work->graph->node[work->nodes[c][i]].height + LAYOUT_ROW_GAP;
      for (guint l = 0; l < layers->n_layers && height[l] > 0; l++)
        {
          if (row[l] != before)
            {
              total += tallest + (before != LAYOUT_NONE ? gutter (tracks[l - 1]) : 0);
              tallest = count = 0;
              before = row[l];
            }
          tallest = MAX (tallest, height[l]);
          count++;
          widest = MAX (widest, count * (work->graph->cell_width + LAYOUT_CHANNEL));
        }
      total += tallest + LAYOUT_GUTTER;
      rows += n;
    }
  if (work->n_loose > 0)
    widest = MAX (widest, MIN (shape->columns, work->n_loose) * (work->graph->cell_width + LAYOUT_CHANNEL));
  total += ceil (work->n_loose / (double)shape->columns) * (work->graph->cell_height + LAYOUT_ROW_GAP);
  return cost_of (work, widest - LAYOUT_CHANNEL, total - LAYOUT_GUTTER, rows);
}

static int
compare_shapes (gconstpointer a, gconstpointer b)
{
  const Shape *p = a, *q = b;

  if (p->cost != q->cost)
    return p->cost < q->cost ? -1 : 1;
  return p->columns != q->columns ? (p->columns < q->columns ? -1 : 1) : (int)p->layers - (int)q->layers;
}

static GArray *
shapes_new (const Work *work)
{
  GArray *shapes = g_array_new (FALSE, FALSE, sizeof (Shape));
  guint most = MAX (work->layers[0].n_layers, work->n_loose);

  for (guint l = 0; l < work->n_layerings; l++)
    most = MAX (most, work->layers[l].n_layers);
  /* Components may be side by side. */
  most = MIN (work->graph->n_nodes, most * MAX (1u, work->layers[0].n_components));
  /* A canvas is not much wider than high, and the time to compute a shape grows with its width. */
  most = MIN (most, MAX (96u, 2 * (guint)sqrt (work->graph->n_nodes)));
  for (guint columns = 1; columns <= MAX (1u, most); columns += columns < 16 ? 1 : columns / 6)
    for (guint l = 0; l < work->n_layerings; l++)
      {
        Shape shape = { l, columns, 0 };

        shape.cost = guess (work, &shape);
        g_array_append_val (shapes, shape);
      }
  g_array_sort (shapes, compare_shapes);
  return shapes;
}

/* ---- the whole ------------------------------------------------------------- */

static void
work_init (Work *work)
{
  guint n = work->graph->n_nodes, n_components;

  layout_layers_init (&work->layers[0], work->graph, FALSE);
  layout_layers_init (&work->layers[1], work->graph, TRUE);
  work->n_layerings = memcmp (work->layers[0].layer, work->layers[1].layer, n * sizeof (guint)) == 0 ? 1 : 2;
  n_components = work->layers[0].n_components;
  work->nodes = g_new0 (guint *, n_components + 1);
  work->n_nodes = g_new0 (guint, n_components + 1);
  work->loose = g_new (guint, n + 1);
  for (guint i = 0; i < n; i++)
    if (work->layers[0].component[i] == LAYOUT_NONE)
      work->loose[work->n_loose++] = i;
    else
      work->n_nodes[work->layers[0].component[i]]++;
  for (guint c = 0; c < n_components; c++)
    {
      work->nodes[c] = g_new (guint, work->n_nodes[c]);
      work->n_nodes[c] = 0;
    }
  for (guint i = 0; i < n; i++)
    {
      guint c = work->layers[0].component[i];

      if (c != LAYOUT_NONE)
        work->nodes[c][work->n_nodes[c]++] = i;
    }
}

static void
work_clear (Work *work)
{
  for (guint c = 0; c < work->layers[0].n_components; c++)
    g_free (work->nodes[c]);
  g_free (work->nodes);
  g_free (work->n_nodes);
  g_free (work->loose);
  layout_layers_clear (&work->layers[0]);
  layout_layers_clear (&work->layers[1]);
}

double
layout_graph (const LayoutGraph *graph, double width, double height, double *x, double *y, double *whole_width,
              double *whole_height)
{
  Work work = { .graph = graph, .width = width, .height = height };
  g_autoptr (GArray) shapes = NULL;
  Draft *best = NULL;
  double least = INFINITY, channel = LAYOUT_CHANNEL;
  guint tries = graph->n_nodes <= 60 ? 16 : graph->n_nodes <= 300 ? 4 : 1;

  *whole_width = *whole_height = 0;
  if (graph->n_nodes == 0)
    return 0;
  work_init (&work);
  shapes = shapes_new (&work);
  for (guint i = 0; i < MIN (tries, shapes->len); i++)
    {
      Draft *draft = draft_new (&work, &g_array_index (shapes, Shape, i));
      double gap = LAYOUT_CHANNEL, cost = draft_cost (&work, draft, &gap);

      if (best == NULL || cost < least - 1e-9)
        {
          g_clear_pointer (&best, draft_free);
          best = g_steal_pointer (&draft);
          least = cost;
          channel = gap;
        }
      g_clear_pointer (&draft, draft_free);
    }
  for (guint i = 0; i < graph->n_nodes; i++)
    {
      x[i] = best->x0[i] + best->channels[i] * channel;
      y[i] = best->y[i];
    }
  *whole_width = draft_width (&work, best, channel);
  *whole_height = best->height;
  draft_free (best);
  work_clear (&work);
  return least;
}
