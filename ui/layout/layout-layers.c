/* Assigns each box to a layer.
 *
 * The layer is the longest path from a source, as in Sugiyama, Tagawa and Toda (1981). Then each box with more outgoing
 * than incoming wires moves to the right, so that weights and targets are one layer before their reader instead of at
 * the left edge. */
#include "ui/layout/layout-private.h"

typedef struct
{
  const LayoutGraph *graph;
  guint *first_out, *out, *first_in, *in; /* edges by their start, and by their end */
  guint *order;                           /* nodes, sources first */
  guint *least;                           /* of each edge: the minimum number of layers that it spans */
} Work;

static guint *
by_end (const LayoutGraph *graph, gboolean by_start, guint **list)
{
  guint *first = g_new0 (guint, graph->n_nodes + 2);

  *list = g_new (guint, graph->n_edges + 1);
  for (guint e = 0; e < graph->n_edges; e++)
    first[(by_start ? graph->edge[e].from : graph->edge[e].to) + 2]++;
  for (guint i = 0; i < graph->n_nodes; i++)
    first[i + 2] += first[i + 1];
  for (guint e = 0; e < graph->n_edges; e++)
    (*list)[first[(by_start ? graph->edge[e].from : graph->edge[e].to) + 1]++] = e;
  return first;
}

/* Kahn's algorithm. If only cycles are left, it takes the first node, and marks its edges from unsorted nodes as back
 * edges. */
static void
find_order (Work *work, gboolean *is_back)
{
  const LayoutGraph *graph = work->graph;
  guint n = graph->n_nodes, reached = 0, done = 0, stuck = 0;
  g_autofree guint *waiting = g_new0 (guint, n + 1);
  g_autofree gboolean *queued = g_new0 (gboolean, n + 1);

  for (guint e = 0; e < graph->n_edges; e++)
    waiting[graph->edge[e].to]++;
  for (guint i = 0; i < n; i++)
    if (waiting[i] == 0)
      {
        work->order[reached++] = i;
        queued[i] = TRUE;
      }
  while (done < n)
    {
      guint at;

      if (done == reached)
        {
          while (queued[stuck])
            stuck++;
          for (guint k = work->first_in[stuck]; k < work->first_in[stuck + 1]; k++)
            is_back[work->in[k]] |= !queued[graph->edge[work->in[k]].from];
          queued[stuck] = TRUE;
          work->order[reached++] = stuck;
        }
      at = work->order[done++];
      for (guint k = work->first_out[at]; k < work->first_out[at + 1]; k++)
        {
          guint to = graph->edge[work->out[k]].to;

          if (!is_back[work->out[k]] && !queued[to] && --waiting[to] == 0)
            {
              work->order[reached++] = to;
              queued[to] = TRUE;
            }
        }
    }
}

static guint
earliest (const Work *work, const LayoutLayers *self, guint node)
{
  guint layer = 0;

  for (guint k = work->first_in[node]; k < work->first_in[node + 1]; k++)
    if (!self->is_back[work->in[k]])
      layer = MAX (layer, self->layer[work->graph->edge[work->in[k]].from] + work->least[work->in[k]]);
  return layer;
}

/* LAYOUT_NONE if the node has no reader. */
static guint
latest (const Work *work, const LayoutLayers *self, guint node)
{
  guint layer = LAYOUT_NONE;

  for (guint k = work->first_out[node]; k < work->first_out[node + 1]; k++)
    if (!self->is_back[work->out[k]])
      {
        guint to = self->layer[work->graph->edge[work->out[k]].to], least = work->least[work->out[k]];

        layer = MIN (layer, to >= least ? to - least : 0);
      }
  return layer;
}

static guint
degree (const Work *work, const gboolean *is_back, guint node, gboolean out)
{
  guint n = 0;

  for (guint k = (out ? work->first_out : work->first_in)[node]; k < (out ? work->first_out : work->first_in)[node + 1];
       k++)
    n += !is_back[(out ? work->out : work->in)[k]];
  return n;
}

/* Boxes with more outgoing than incoming wires move right as far as possible, the others left. */
static void
tighten (const Work *work, LayoutLayers *self)
{
  enum
  {
    SWEEPS = 8
  };
  guint n = work->graph->n_nodes;
  gboolean moved = TRUE;

  for (guint sweep = 0; moved && sweep < SWEEPS; sweep++)
    {
      moved = FALSE;
      for (guint i = n; i-- > 0;)
        {
          guint v = work->order[i], layer = latest (work, self, v);

          if (layer == LAYOUT_NONE || layer == self->layer[v]
              || degree (work, self->is_back, v, TRUE) <= degree (work, self->is_back, v, FALSE))
            continue;
          self->layer[v] = layer;
          moved = TRUE;
        }
      for (guint i = 0; i < n; i++)
        {
          guint v = work->order[i], layer = earliest (work, self, v);

          if (layer == self->layer[v] || degree (work, self->is_back, v, TRUE) > degree (work, self->is_back, v, FALSE))
            continue;
          self->layer[v] = layer;
          moved = TRUE;
        }
    }
}

static gboolean
is_weight (const Work *work, guint node)
{
  guint from = work->first_out[node];

  if (work->first_in[node] != work->first_in[node + 1] || from == work->first_out[node + 1])
    return FALSE;
  for (guint k = from; k < work->first_out[node + 1]; k++)
    if (work->graph->edge[work->out[k]].to != work->graph->edge[work->out[from]].to)
      return FALSE;
  return TRUE;
}

/* The wires of a source whose readers have weights of their own span two layers: the weights are in the layer between.
 */
static void
spread_sources (Work *work)
{
  const LayoutGraph *graph = work->graph;
  g_autofree gboolean *has_weight = g_new0 (gboolean, graph->n_nodes + 1);

  for (guint i = 0; i < graph->n_nodes; i++)
    if (is_weight (work, i))
      has_weight[graph->edge[work->out[work->first_out[i]]].to] = TRUE;
  for (guint i = 0; i < graph->n_nodes; i++)
    {
      guint n = 0, last = LAYOUT_NONE;

      if (work->first_in[i] != work->first_in[i + 1])
        continue;
      for (guint k = work->first_out[i]; k < work->first_out[i + 1]; k++)
        {
          guint to = graph->edge[work->out[k]].to;

          n += has_weight[to] && to != last;
          last = to;
        }
      for (guint k = work->first_out[i]; n > 1 && k < work->first_out[i + 1]; k++)
        if (has_weight[graph->edge[work->out[k]].to])
          work->least[work->out[k]] = 2;
    }
}

static void
find_components (const LayoutGraph *graph, LayoutLayers *self)
{
  guint n = graph->n_nodes;
  g_autofree guint *root = g_new (guint, n + 1), *number = g_new (guint, n + 1), *size = g_new0 (guint, n + 1);

  for (guint i = 0; i < n; i++)
    root[i] = i;
  for (guint e = 0; e < graph->n_edges; e++)
    {
      guint a = graph->edge[e].from, b = graph->edge[e].to;

      while (root[a] != a)
        a = root[a] = root[root[a]];
      while (root[b] != b)
        b = root[b] = root[root[b]];
      root[MAX (a, b)] = MIN (a, b);
    }
  for (guint i = 0; i < n; i++)
    {
      guint r = i;

      while (root[r] != r)
        r = root[r];
      self->component[i] = r;
      size[r]++;
    }
  self->n_components = 0;
  for (guint i = 0; i < n; i++)
    number[i] = size[i] > 1 ? self->n_components++ : LAYOUT_NONE;
  for (guint i = 0; i < n; i++)
    self->component[i] = number[self->component[i]];
}

/* Finds the longest path through each component, the main path; of equal ones that through first inputs. */
static void
find_main (const Work *work, LayoutLayers *self)
{
  const LayoutGraph *graph = work->graph;
  guint n = graph->n_nodes;
  g_autofree double *length = g_new0 (double, n + 1);
  g_autofree guint *by = g_new (guint, n + 1), *end = g_new (guint, self->n_components + 1);

  for (guint c = 0; c < self->n_components; c++)
    end[c] = LAYOUT_NONE;
  for (guint i = 0; i < n; i++)
    {
      guint v = work->order[i], c = self->component[v];

      by[v] = LAYOUT_NONE;
      for (guint k = work->first_in[v]; k < work->first_in[v + 1]; k++)
        {
          guint e = work->in[k];
          double here = length[graph->edge[e].from] + (graph->edge[e].is_second ? 1 : 1.25);

          if (!self->is_back[e] && here > length[v])
            {
              length[v] = here;
              by[v] = e;
            }
        }
      if (c != LAYOUT_NONE && (end[c] == LAYOUT_NONE || length[v] > length[end[c]]))
        end[c] = v;
    }
  for (guint c = 0; c < self->n_components; c++)
    {
      guint v = end[c];

      self->main_node[v] = TRUE;
      while (by[v] != LAYOUT_NONE)
        {
          self->main_edge[by[v]] = TRUE;
          v = graph->edge[by[v]].from;
          self->main_node[v] = TRUE;
        }
    }
}

void
layout_layers_init (LayoutLayers *self, const LayoutGraph *graph, gboolean spread)
{
  guint n = graph->n_nodes;
  Work work = { .graph = graph, .order = g_new (guint, n + 1), .least = g_new (guint, graph->n_edges + 1) };
  g_autofree guint *lowest = NULL;

  *self = (LayoutLayers){ .layer = g_new0 (guint, n + 1),
                          .component = g_new (guint, n + 1),
                          .is_back = g_new0 (gboolean, graph->n_edges + 1),
                          .main_node = g_new0 (gboolean, n + 1),
                          .main_edge = g_new0 (gboolean, graph->n_edges + 1) };
  work.first_out = by_end (graph, TRUE, &work.out);
  work.first_in = by_end (graph, FALSE, &work.in);
  for (guint e = 0; e < graph->n_edges; e++)
    work.least[e] = 1;
  find_components (graph, self);
  find_order (&work, self->is_back);
  if (spread)
    spread_sources (&work);
  for (guint i = 0; i < n; i++)
    self->layer[work.order[i]] = earliest (&work, self, work.order[i]);
  tighten (&work, self);
  find_main (&work, self);

  /* Each component begins at layer 0. */
  lowest = g_new (guint, self->n_components + 1);
  for (guint c = 0; c < self->n_components; c++)
    lowest[c] = G_MAXUINT;
  for (guint i = 0; i < n; i++)
    if (self->component[i] != LAYOUT_NONE)
      lowest[self->component[i]] = MIN (lowest[self->component[i]], self->layer[i]);
  for (guint i = 0; i < n; i++)
    {
      self->layer[i] -= self->component[i] != LAYOUT_NONE ? lowest[self->component[i]] : self->layer[i];
      self->n_layers = MAX (self->n_layers, self->layer[i] + 1);
    }
  g_free (work.first_out);
  g_free (work.out);
  g_free (work.first_in);
  g_free (work.in);
  g_free (work.order);
  g_free (work.least);
}

void
layout_layers_clear (LayoutLayers *self)
{
  g_free (self->layer);
  g_free (self->component);
  g_free (self->is_back);
  g_free (self->main_node);
  g_free (self->main_edge);
}
