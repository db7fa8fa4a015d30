/* Cuts the layers into rows by dynamic programming: a cut costs the wires that it wraps; a row costs its height and its
 * empty space. */
#include "ui/layout/layout-private.h"

#include <math.h>

/* Counts the wires over each cut; those of one output count once, because they can share a track back. */
static void
count_tracks (const LayoutLayers *self, const LayoutGraph *graph, guint component, guint n_layers, guint *tracks,
              guint *wires)
{
  g_autoptr (GHashTable) reach = g_hash_table_new (NULL, NULL);
  g_autofree int *step = g_new0 (int, n_layers + 1), *each = g_new0 (int, n_layers + 1);

  for (guint e = 0; e < graph->n_edges; e++)
    {
      const LayoutEdge *edge = &graph->edge[e];
      guint from = self->layer[edge->from], to = self->layer[edge->to], before;

      if (self->component[edge->from] != component || self->is_back[e])
        continue;
      each[from]++;
      each[to]--;
      /* Layers that an earlier wire of this output reached are already counted. */
      before = GPOINTER_TO_UINT (g_hash_table_lookup (reach, GUINT_TO_POINTER (edge->track + 1)));
      from = MAX (from, before);
      if (to <= from)
        continue;
      step[from]++;
      step[to]--;
      g_hash_table_insert (reach, GUINT_TO_POINTER (edge->track + 1), GUINT_TO_POINTER (to));
    }
  for (guint l = 0, open = 0, all = 0; l < n_layers; l++)
    {
      tracks[l] = open += step[l];
      wires[l] = all += each[l];
    }
}

/* TRUE if no reader of a source is before the next layer, so that it can begin a new row with its reader. */
static void
find_leading (const LayoutLayers *self, const LayoutGraph *graph, const guint *nodes, guint n, guint *reader)
{
  g_autofree gboolean *is_fed = g_new0 (gboolean, graph->n_nodes + 1);

  for (guint i = 0; i < n; i++)
    reader[nodes[i]] = LAYOUT_NONE;
  for (guint e = 0; e < graph->n_edges; e++)
    {
      const LayoutEdge *edge = &graph->edge[e];

      if (self->is_back[e] || self->component[edge->from] != self->component[nodes[0]])
        continue;
      is_fed[edge->to] = TRUE;
      reader[edge->from] = MIN (reader[edge->from], self->layer[edge->to]);
    }
  for (guint i = 0; i < n; i++)
    if (is_fed[nodes[i]])
      reader[nodes[i]] = LAYOUT_NONE;
}

guint
layout_layers_wrap (const LayoutLayers *self, const LayoutGraph *graph, const guint *nodes, guint n, guint columns,
                    guint *row, guint *tracks)
{
  /* Costs in pixels of a row's height: a wire that wraps, an empty column (except in the last row), and a row with a
   * single layer. */
  const double wrapped = 36, empty = 64, last_empty = 2, alone = 90;
  guint n_layers = 0, rows = 0;
  g_autofree double *height = NULL, *cost = NULL;
  g_autofree guint *wide = NULL, *cut = NULL, *leading = NULL, *wires = NULL,
                   *reader = g_new (guint, graph->n_nodes + 1);

  for (guint i = 0; i < n; i++)
    n_layers = MAX (n_layers, self->layer[nodes[i]] + 1);
  height = g_new0 (double, n_layers);
  wide = g_new (guint, n_layers);
  leading = g_new0 (guint, n_layers + 1);
  wires = g_new0 (guint, n_layers + 1);
  cost = g_new (double, n_layers + 1);
  cut = g_new0 (guint, n_layers + 1);
  find_leading (self, graph, nodes, n, reader);
  for (guint l = 0; l < n_layers; l++)
    wide[l] = 1;
  for (guint i = 0; i < n; i++)
    {
      guint l = self->layer[nodes[i]];
      const LayoutNode *node = &graph->node[nodes[i]];

      height[l] += node->height + LAYOUT_ROW_GAP;
      wide[l] = MAX (wide[l], ceil ((node->width - graph->cell_width) / (graph->cell_width + LAYOUT_CHANNEL)) + 1);
      if (reader[nodes[i]] != LAYOUT_NONE)
        leading[reader[nodes[i]]]++;
    }
  count_tracks (self, graph, self->component[nodes[0]], n_layers, tracks, wires);
  /* A node that moves to its reader's row crosses no cut before it. */
  for (guint l = 1; l < n_layers; l++)
    {
      tracks[l - 1] -= MIN (tracks[l - 1], leading[l]);
      wires[l - 1] -= MIN (wires[l - 1], leading[l]);
    }

  cost[0] = 0;
  for (guint end = 1; end <= n_layers; end++)
    {
      double tallest = 0;
      guint used = 0;

      cost[end] = INFINITY;
      for (guint begin = end; begin-- > 0;)
        {
          guint all;
          double here;

          used += wide[begin];
          tallest = MAX (tallest, height[begin]);
          all = used + (begin > 0 && leading[begin] > 0);
          if (used > columns && begin + 1 < end)
            break;
          if (all > columns && begin + 1 < end)
            continue;
          here = cost[begin] + tallest + LAYOUT_GUTTER + (end < n_layers ? wrapped * wires[end - 1] : 0)
                 + (all < columns ? (end < n_layers ? empty : last_empty) * (columns - all) : 0)
                 + (all == 1 && columns > 1 && n_layers > 1 ? alone : 0);
          if (here < cost[end])
            {
              cost[end] = here;
              cut[end] = begin;
            }
        }
    }
  for (guint end = n_layers; end > 0; end = cut[end])
    rows++;
  for (guint end = n_layers, r = rows; end > 0; end = cut[end])
    {
      r--;
      for (guint l = cut[end]; l < end; l++)
        row[l] = r;
    }
  return rows;
}

void
layout_layers_settle (const LayoutLayers *self, const LayoutGraph *graph, const guint *nodes, guint n, guint rows,
                      const guint *row, guint *row_of, guint *column_of)
{
  g_autofree guint *reader = g_new (guint, graph->n_nodes + 1), *first = g_new (guint, rows + 1);
  g_autofree gboolean *leads = g_new0 (gboolean, rows + 1);

  find_leading (self, graph, nodes, n, reader);
  for (guint r = 0; r < rows; r++)
    first[r] = LAYOUT_NONE;
  for (guint i = 0; i < n; i++)
    {
      guint v = nodes[i], l = self->layer[v];

      row_of[v] = row[l];
      first[row[l]] = MIN (first[row[l]], l);
      if (reader[v] == LAYOUT_NONE || row[reader[v]] == row[l])
        continue;
      row_of[v] = row[reader[v]];
      leads[row_of[v]] = TRUE;
    }
  for (guint i = 0; i < n; i++)
    {
      guint v = nodes[i];

      column_of[v] = row_of[v] != row[self->layer[v]] ? 0 : self->layer[v] - first[row_of[v]] + leads[row_of[v]];
    }
}
