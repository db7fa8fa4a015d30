/* Orders the boxes and passing wires of each layer in a row so that few wires cross.
 *
 * Barycentre sweeps from both sides, including ports, then exchanges of neighbours; the best order found is kept. */
#include "ui/layout/layout-private.h"

#include <stdlib.h>
#include <string.h>

#define SWEEPS         10
#define FEW            600 /* wires; in larger graphs those of one output share a track */
#define SWEEPS_OF_MANY 4
#define MANY           1500 /* spots; exchanging neighbours takes quadratic time in the size of a layer */

static guint
add_spot (GArray *spots, guint node, guint layer, double height)
{
  LayoutSpot spot = { .node = node, .layer = layer, .height = height };

  g_array_append_val (spots, spot);
  return spots->len - 1;
}

static void
add_segment (LayoutRow *self, guint from, guint to, double out, double in, double weight)
{
  LayoutSegment segment = { from, to, out, in, weight };

  g_array_append_val (self->segment, segment);
}

/* Returns the spot at which a wire, or all wires of one output, pass this layer. */
static guint
passing_spot (GArray *spots, GHashTable *passing, guint which, guint layer, guint n_layers, gboolean *is_new)
{
  gint64 key = (gint64)which * (n_layers + 1) + layer;
  guint *found = g_hash_table_lookup (passing, &key);

  *is_new = found == NULL;
  if (found == NULL)
    {
      gint64 *own = g_memdup2 (&key, sizeof key);

      found = g_new (guint, 1);
      *found = add_spot (spots, LAYOUT_NONE, layer, 0);
      g_hash_table_insert (passing, own, found);
    }
  return *found;
}

static void
add_edges (LayoutRow *self, const LayoutGraph *graph, const LayoutLayers *layers, const guint *spot_of,
           const guint *column_of, GArray *spots)
{
  g_autoptr (GHashTable) passing = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  gboolean share = graph->n_edges > FEW;

  for (guint e = 0; e < graph->n_edges; e++)
    {
      const LayoutEdge *edge = &graph->edge[e];
      guint at = spot_of[edge->from], to = spot_of[edge->to];
      gboolean is_main = layers->main_edge[e], is_new = TRUE;
      double out = edge->out;

      /* Between two rows a wire runs in the gutter and needs no space next to cards. */
      if (at == LAYOUT_NONE || to == LAYOUT_NONE || layers->is_back[e])
        continue;
      for (guint l = column_of[edge->from] + 1; l < column_of[edge->to]; l++)
        {
          guint spot = passing_spot (spots, passing, share ? edge->track : e, l, self->n_layers, &is_new);

          if (is_new)
            add_segment (self, at, spot, out, 0, g_array_index (spots, LayoutSpot, at).node == LAYOUT_NONE ? 100 : 20);
          at = spot;
          out = 0;
        }
      add_segment (self, at, to, out, edge->in,
                   is_main                                                     ? 1000
                   : g_array_index (spots, LayoutSpot, at).node == LAYOUT_NONE ? 20
                   : edge->is_second                                           ? 10
                                                                               : 12);
    }
}

static guint *
segments_by (const LayoutRow *self, gboolean by_from, guint **list)
{
  guint *first = g_new0 (guint, self->n_spots + 2);

  *list = g_new (guint, self->segment->len + 1);
  for (guint s = 0; s < self->segment->len; s++)
    {
      const LayoutSegment *segment = &g_array_index (self->segment, LayoutSegment, s);

      first[(by_from ? segment->from : segment->to) + 2]++;
    }
  for (guint i = 0; i < self->n_spots; i++)
    first[i + 2] += first[i + 1];
  for (guint s = 0; s < self->segment->len; s++)
    {
      const LayoutSegment *segment = &g_array_index (self->segment, LayoutSegment, s);

      (*list)[first[(by_from ? segment->from : segment->to) + 1]++] = s;
    }
  return first;
}

LayoutRow *
layout_row_new (const LayoutGraph *graph, const LayoutLayers *layers, const guint *nodes, guint n, const guint *row_of,
                const guint *column_of, guint which)
{
  LayoutRow *self = g_new0 (LayoutRow, 1);
  GArray *spots = g_array_new (FALSE, TRUE, sizeof (LayoutSpot));
  g_autofree guint *spot_of = g_new (guint, graph->n_nodes + 1), *fill = NULL;

  memset (spot_of, 0xff, (graph->n_nodes + 1) * sizeof (guint));
  for (guint i = 0; i < n; i++)
    if (row_of[nodes[i]] == which)
      self->n_layers = MAX (self->n_layers, column_of[nodes[i]] + 1);
  self->segment = g_array_new (FALSE, FALSE, sizeof (LayoutSegment));
  /* The main path first: if nothing else decides, it is the upper one. */
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < n; i++)
      if (row_of[nodes[i]] == which && layers->main_node[nodes[i]] == (pass == 0))
        spot_of[nodes[i]] = add_spot (spots, nodes[i], column_of[nodes[i]], graph->node[nodes[i]].height);
  add_edges (self, graph, layers, spot_of, column_of, spots);

  self->n_spots = spots->len;
  self->spot = (LayoutSpot *)(gpointer)g_array_free (spots, FALSE);
  self->first = g_new0 (guint, self->n_layers + 2);
  self->order = g_new (guint, self->n_spots + 1);
  for (guint i = 0; i < self->n_spots; i++)
    self->first[self->spot[i].layer + 1]++;
  for (guint l = 0; l < self->n_layers; l++)
    self->first[l + 1] += self->first[l];
  fill = g_memdup2 (self->first, (self->n_layers + 1) * sizeof (guint));
  for (guint i = 0; i < self->n_spots; i++)
    {
      guint *at = &fill[self->spot[i].layer];

      self->spot[i].position = *at - self->first[self->spot[i].layer];
      self->order[(*at)++] = i;
    }
  self->first_right = segments_by (self, TRUE, &self->right);
  self->first_left = segments_by (self, FALSE, &self->left);
  return self;
}

void
layout_row_free (LayoutRow *self)
{
  if (self == NULL)
    return;
  g_free (self->spot);
  g_free (self->first);
  g_free (self->order);
  g_free (self->first_left);
  g_free (self->left);
  g_free (self->first_right);
  g_free (self->right);
  g_array_unref (self->segment);
  g_free (self);
}

static void
take_positions (LayoutRow *self)
{
  for (guint l = 0; l < self->n_layers; l++)
    for (guint k = self->first[l]; k < self->first[l + 1]; k++)
      self->spot[self->order[k]].position = k - self->first[l];
}

/* The position of a segment's end in its layer: that of its box, plus a fraction for the port. */
static double
end_at (const LayoutSpot *spot, double port)
{
  return spot->position + (spot->height > 0 ? CLAMP (port / spot->height, 0, 1) : 0.5) * 0.9;
}

typedef struct
{
  double value;
  guint spot;
} Key;

static int
compare_keys (gconstpointer a, gconstpointer b)
{
  const Key *p = a, *q = b;

  return p->value < q->value ? -1 : p->value > q->value ? 1 : 0;
}

/* Insertion sort from the left: it is stable, counts the distance that each element moves, and takes linear time if the
 * layer is nearly sorted, as usual. */
static void
sort_keys (Key *key, guint n)
{
  gboolean sorted = TRUE;

  for (guint i = 1; i < n && sorted; i++)
    sorted = key[i - 1].value <= key[i].value;
  if (sorted)
    return;
  if (n > 24)
    {
      /* qsort() of glibc sorts arrays of this size by merging, but this is not guaranteed. */
      for (guint i = 0; i < n; i++)
        key[i].value += 1e-9 * i;
      qsort (key, n, sizeof (Key), compare_keys);
      return;
    }
  for (guint i = 1; i < n; i++)
    {
      Key k = key[i];
      guint j = i;

      for (; j > 0 && key[j - 1].value > k.value; j--)
        key[j] = key[j - 1];
      key[j] = k;
    }
}

static void
sort_layer (LayoutRow *self, guint layer, gboolean from_left, Key *key)
{
  guint n = self->first[layer + 1] - self->first[layer];
  guint adjacent = from_left ? layer - 1 : layer + 1, m = self->first[adjacent + 1] - self->first[adjacent];

  for (guint k = 0; k < n; k++)
    {
      guint spot = self->order[self->first[layer] + k];
      const guint *first = from_left ? self->first_left : self->first_right;
      const guint *list = from_left ? self->left : self->right;
      double sum = 0;
      guint count = first[spot + 1] - first[spot];

      for (guint i = first[spot]; i < first[spot + 1]; i++)
        {
          const LayoutSegment *s = &g_array_index (self->segment, LayoutSegment, list[i]);

          sum += from_left ? end_at (&self->spot[s->from], s->out) : end_at (&self->spot[s->to], s->in);
        }
      key[k] = (Key){ count > 0 ? sum / count : (k + 0.5) * m / n, spot };
    }
  sort_keys (key, n);
  for (guint k = 0; k < n; k++)
    {
      self->order[self->first[layer] + k] = key[k].spot;
      self->spot[key[k].spot].position = k;
    }
}

typedef struct
{
  double from, to;
} Ends;

static int
compare_ends (gconstpointer a, gconstpointer b)
{
  const Ends *p = a, *q = b;

  return p->from != q->from ? (p->from < q->from ? -1 : 1) : p->to < q->to ? -1 : p->to > q->to;
}

/* Counts inversions by merge sort. */
static guint64
count_inversions (double *v, double *room, guint n)
{
  guint half = n / 2, i = 0, j = half, k = 0;
  guint64 count;

  if (n < 2)
    return 0;
  count = count_inversions (v, room, half) + count_inversions (v + half, room, n - half);
  while (i < half && j < n)
    if (v[j] < v[i])
      {
        count += half - i;
        room[k++] = v[j++];
      }
    else
      room[k++] = v[i++];
  while (i < half)
    room[k++] = v[i++];
  memcpy (v, room, k * sizeof (double));
  return count;
}

static guint64
count_crossings (const LayoutRow *self)
{
  g_autofree Ends *ends = g_new (Ends, self->segment->len + 1);
  g_autofree double *v = g_new (double, self->segment->len + 1), *room = g_new (double, self->segment->len + 1);
  guint64 count = 0;

  for (guint l = 0; l + 1 < self->n_layers; l++)
    {
      guint n = 0;

      for (guint k = self->first[l]; k < self->first[l + 1]; k++)
        for (guint i = self->first_right[self->order[k]]; i < self->first_right[self->order[k] + 1]; i++)
          {
            const LayoutSegment *s = &g_array_index (self->segment, LayoutSegment, self->right[i]);

            ends[n++] = (Ends){ end_at (&self->spot[s->from], s->out), end_at (&self->spot[s->to], s->in) };
          }
      qsort (ends, n, sizeof (Ends), compare_ends);
      for (guint i = 0; i < n; i++)
        v[i] = ends[i].to;
      count += count_inversions (v, room, n);
    }
  return count;
}

/* Counts the crossings of the segments of two neighbours on one side, with the first above. */
static guint
pair_crossings (const LayoutRow *self, guint upper, guint lower, gboolean on_left)
{
  const guint *first = on_left ? self->first_left : self->first_right;
  const guint *list = on_left ? self->left : self->right;
  guint count = 0;

  for (guint i = first[upper]; i < first[upper + 1]; i++)
    for (guint j = first[lower]; j < first[lower + 1]; j++)
      {
        const LayoutSegment *a = &g_array_index (self->segment, LayoutSegment, list[i]);
        const LayoutSegment *b = &g_array_index (self->segment, LayoutSegment, list[j]);

        count += on_left ? end_at (&self->spot[b->from], b->out) < end_at (&self->spot[a->from], a->out)
                         : end_at (&self->spot[b->to], b->in) < end_at (&self->spot[a->to], a->in);
      }
  return count;
}

static void
exchange_neighbours (LayoutRow *self)
{
  gboolean better = TRUE;

  for (guint round = 0; better && round < 12; round++)
    {
      better = FALSE;
      for (guint l = 0; l < self->n_layers; l++)
        for (guint k = self->first[l]; k + 1 < self->first[l + 1]; k++)
          {
            guint a = self->order[k], b = self->order[k + 1];
            guint now = pair_crossings (self, a, b, TRUE) + pair_crossings (self, a, b, FALSE);
            guint then = pair_crossings (self, b, a, TRUE) + pair_crossings (self, b, a, FALSE);

            if (then >= now)
              continue;
            self->order[k] = b;
            self->order[k + 1] = a;
            self->spot[b].position--;
            self->spot[a].position++;
            better = TRUE;
          }
    }
}

static void
keep_best (LayoutRow *self, guint *best)
{
  guint64 crossings = count_crossings (self);

  if (crossings >= self->crossings)
    return;
  self->crossings = crossings;
  memcpy (best, self->order, self->n_spots * sizeof (guint));
}

void
layout_row_order (LayoutRow *self)
{
  g_autofree guint *best = g_memdup2 (self->order, (self->n_spots + 1) * sizeof (guint));
  g_autofree Key *key = g_new (Key, self->n_spots + 1);
  guint sweeps = self->n_spots > MANY ? SWEEPS_OF_MANY : SWEEPS;

  self->crossings = count_crossings (self);
  for (guint sweep = 0; self->crossings > 0 && sweep < sweeps; sweep++)
    {
      if (sweep % 2 == 0)
        for (guint l = 1; l < self->n_layers; l++)
          sort_layer (self, l, TRUE, key);
      else
        for (guint l = self->n_layers; l-- > 1;)
          sort_layer (self, l - 1, FALSE, key);
      keep_best (self, best);
      if (self->n_spots <= MANY)
        {
          exchange_neighbours (self);
          keep_best (self, best);
        }
    }
  memcpy (self->order, best, self->n_spots * sizeof (guint));
  take_positions (self);
}
