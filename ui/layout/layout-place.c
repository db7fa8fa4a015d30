/* Computes the y of each box of a row, following Brandes and Köpf (2002): segments that do not cross are joined to
 * blocks, the most important first, whose ports are on one line; blocks are stacked as closely as cards and passing
 * wires allow, and then moved towards the middle of their neighbours. Unlike in the paper one alignment is enough,
 * because the main path is known and stays straight. */
#include "ui/layout/layout-private.h"

#include <math.h>

typedef struct
{
  LayoutRow *row;
  guint *block;   /* of each spot: the block's index */
  double *offset; /* of each spot below its block's y */
  guint n_blocks;
  double *y;                      /* of each block */
  guint *topological;             /* blocks, upper ones first */
  guint *first_member, *member;   /* the spots of each block */
  guint *first_outside, *outside; /* the segments that lead out of each block */
} Place;

double
layout_snap_up (double v)
{
  return STUDIO_SNAP * ceil (v / STUDIO_SNAP - 1e-6);
}

static double
gap_between (const LayoutSpot *a, const LayoutSpot *b)
{
  return a->node != LAYOUT_NONE && b->node != LAYOUT_NONE   ? LAYOUT_ROW_GAP
         : a->node != LAYOUT_NONE || b->node != LAYOUT_NONE ? LAYOUT_TRACK_ASIDE
                                                            : LAYOUT_TRACK;
}

static int
compare_weights (gconstpointer a, gconstpointer b, gpointer data)
{
  const LayoutRow *row = data;
  const LayoutSegment *p = &g_array_index (row->segment, LayoutSegment, *(const guint *)a);
  const LayoutSegment *q = &g_array_index (row->segment, LayoutSegment, *(const guint *)b);

  if (p->weight != q->weight)
    return p->weight > q->weight ? -1 : 1;
  return *(const guint *)a < *(const guint *)b ? -1 : 1;
}

/* The spot with which each is aligned on its right, and on its left; joined segments of one channel do not cross. */
static void
align (const LayoutRow *row, guint *right, guint *left)
{
  guint n = row->segment->len;
  g_autofree guint *by_weight = g_new (guint, n + 1);
  g_autofree GArray **joined = g_new0 (GArray *, row->n_layers + 1);

  for (guint s = 0; s < n; s++)
    by_weight[s] = s;
  g_qsort_with_data (by_weight, n, sizeof (guint), compare_weights, (gpointer)row);
  for (guint l = 0; l < row->n_layers; l++)
    joined[l] = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint k = 0; k < n; k++)
    {
      const LayoutSegment *s = &g_array_index (row->segment, LayoutSegment, by_weight[k]);
      GArray *others = joined[row->spot[s->from].layer];
      gboolean crosses = right[s->from] != LAYOUT_NONE || left[s->to] != LAYOUT_NONE;

      for (guint i = 0; i < others->len && !crosses; i++)
        {
          const LayoutSegment *o = &g_array_index (row->segment, LayoutSegment, g_array_index (others, guint, i));
          gboolean above = row->spot[o->from].position < row->spot[s->from].position;

          crosses = above != (row->spot[o->to].position < row->spot[s->to].position);
        }
      if (crosses)
        continue;
      right[s->from] = by_weight[k];
      left[s->to] = by_weight[k];
      g_array_append_val (others, by_weight[k]);
    }
  for (guint l = 0; l < row->n_layers; l++)
    g_array_unref (joined[l]);
}

static void
make_blocks (Place *self)
{
  LayoutRow *row = self->row;
  g_autofree guint *right = g_new (guint, row->n_spots + 1), *left = g_new (guint, row->n_spots + 1);

  for (guint i = 0; i < row->n_spots; i++)
    right[i] = left[i] = LAYOUT_NONE;
  align (row, right, left);
  for (guint i = 0; i < row->n_spots; i++)
    {
      double offset = 0;

      if (left[i] != LAYOUT_NONE)
        continue;
      for (guint at = i;;)
        {
          const LayoutSegment *s;

          self->block[at] = self->n_blocks;
          self->offset[at] = offset;
          if (right[at] == LAYOUT_NONE)
            break;
          s = &g_array_index (row->segment, LayoutSegment, right[at]);
          offset += s->out - s->in;
          at = s->to;
        }
      self->n_blocks++;
    }
}

static guint *
group (guint n, guint n_groups, const guint *group_of, guint **member)
{
  guint *first = g_new0 (guint, n_groups + 2);

  *member = g_new (guint, n + 1);
  for (guint i = 0; i < n; i++)
    first[group_of[i] + 2]++;
  for (guint g = 0; g < n_groups; g++)
    first[g + 2] += first[g + 1];
  for (guint i = 0; i < n; i++)
    (*member)[first[group_of[i] + 1]++] = i;
  return first;
}

static guint
spot_next_to (const LayoutRow *row, guint spot, int by)
{
  guint layer = row->spot[spot].layer, n = row->first[layer + 1] - row->first[layer];
  guint at = row->spot[spot].position + by;

  return at < n ? row->order[row->first[layer] + at] : LAYOUT_NONE;
}

/* Sorts blocks from top to bottom. This is a partial order, because joined segments do not cross. */
static void
sort_blocks (Place *self)
{
  LayoutRow *row = self->row;
  g_autofree guint *waiting = g_new0 (guint, self->n_blocks + 1);
  guint n = 0;

  for (guint i = 0; i < row->n_spots; i++)
    waiting[self->block[i]] += row->spot[i].position > 0;
  for (guint b = 0; b < self->n_blocks; b++)
    if (waiting[b] == 0)
      self->topological[n++] = b;
  for (guint k = 0; k < n; k++)
    for (guint m = self->first_member[self->topological[k]]; m < self->first_member[self->topological[k] + 1]; m++)
      {
        guint below = spot_next_to (row, self->member[m], 1);

        if (below != LAYOUT_NONE && --waiting[self->block[below]] == 0)
          self->topological[n++] = self->block[below];
      }
  g_assert (n == self->n_blocks);
}

/* The distance by which a block can move up (or down) without touching its neighbours. */
static double
bound (const Place *self, guint block, gboolean upper)
{
  const LayoutRow *row = self->row;
  double limit = upper ? -INFINITY : INFINITY;

  for (guint m = self->first_member[block]; m < self->first_member[block + 1]; m++)
    {
      guint spot = self->member[m], other = spot_next_to (row, spot, upper ? -1 : 1);
      const LayoutSpot *a, *b;
      double y;

      if (other == LAYOUT_NONE)
        continue;
      a = &row->spot[upper ? other : spot];
      b = &row->spot[upper ? spot : other];
      y = self->y[self->block[other]] + self->offset[other];
      if (upper)
        limit = MAX (limit, y + a->height + gap_between (a, b) - self->offset[spot]);
      else
        limit = MIN (limit, y - gap_between (a, b) - a->height - self->offset[spot]);
    }
  return limit;
}

typedef struct
{
  double at, weight;
} Pull;

static int
compare_pulls (gconstpointer a, gconstpointer b)
{
  const Pull *p = a, *q = b;

  return p->at < q->at ? -1 : p->at > q->at;
}

/* The weighted median of the positions at which its outside segments would be straight; between two equal halves their
 * mean. */
static gboolean
find_median (const Place *self, guint block, GArray *pulls, double *y)
{
  double total = 0, sum = 0;

  g_array_set_size (pulls, 0);
  for (guint k = self->first_outside[block]; k < self->first_outside[block + 1]; k++)
    {
      const LayoutSegment *s = &g_array_index (self->row->segment, LayoutSegment, self->outside[k] / 2);
      gboolean starts = self->outside[k] % 2 == 0;
      guint own = starts ? s->from : s->to, other = starts ? s->to : s->from;
      double there = self->y[self->block[other]] + self->offset[other] + (starts ? s->in : s->out);
      Pull pull = { there - self->offset[own] - (starts ? s->out : s->in), s->weight >= 100 ? 4 : 1 };

      g_array_append_val (pulls, pull);
      total += pull.weight;
    }
  if (pulls->len == 0)
    return FALSE;
  g_array_sort (pulls, compare_pulls);
  for (guint i = 0; i < pulls->len; i++)
    {
      const Pull *pull = &g_array_index (pulls, Pull, i);

      sum += pull->weight;
      if (sum * 2 > total)
        {
          *y = pull->at;
          return TRUE;
        }
      if (sum * 2 == total)
        {
          *y = (pull->at + g_array_index (pulls, Pull, i + 1).at) / 2;
          return TRUE;
        }
    }
  return FALSE;
}

/* The nearest grid position between two bounds, or a bound if there is none. */
static double
settle (double wanted, double low, double high)
{
  double y = STUDIO_SNAP * floor (CLAMP (wanted, low, MAX (low, high)) / STUDIO_SNAP + 0.5);

  if (y < low)
    y = layout_snap_up (low);
  if (y > high)
    y = STUDIO_SNAP * floor (high / STUDIO_SNAP + 1e-6);
  return y < low ? low : y;
}

static void
draw_together (Place *self)
{
  enum
  {
    ROUNDS = 8
  };
  g_autoptr (GArray) pulls = g_array_new (FALSE, FALSE, sizeof (Pull));
  gboolean moved = TRUE;

  for (guint round = 0; moved && round < ROUNDS; round++)
    {
      moved = FALSE;
      for (guint pass = 0; pass < 2; pass++)
        for (guint k = 0; k < self->n_blocks; k++)
          {
            guint b = self->topological[pass == 0 ? self->n_blocks - 1 - k : k];
            double y;

            if (!find_median (self, b, pulls, &y))
              continue;
            y = settle (y, bound (self, b, TRUE), bound (self, b, FALSE));
            moved |= y != self->y[b];
            self->y[b] = y;
          }
    }
}

static void
find_outside (Place *self)
{
  const LayoutRow *row = self->row;
  guint n = 2 * row->segment->len, m = 0;
  g_autofree guint *block = g_new (guint, n + 1), *end = g_new (guint, n + 1);

  /* Lists each outside segment at both of its ends: even numbers start in the block. */
  for (guint s = 0; s < row->segment->len; s++)
    {
      const LayoutSegment *segment = &g_array_index (row->segment, LayoutSegment, s);

      if (self->block[segment->from] == self->block[segment->to])
        continue;
      block[m] = self->block[segment->from];
      end[m++] = 2 * s;
      block[m] = self->block[segment->to];
      end[m++] = 2 * s + 1;
    }
  self->first_outside = group (m, self->n_blocks, block, &self->outside);
  for (guint i = 0; i < m; i++)
    self->outside[i] = end[self->outside[i]];
}

double
layout_row_place (LayoutRow *row)
{
  Place self = { .row = row, .block = g_new (guint, row->n_spots + 1), .offset = g_new (double, row->n_spots + 1) };
  double top = INFINITY, bottom = -INFINITY;

  make_blocks (&self);
  self.y = g_new (double, self.n_blocks + 1);
  self.topological = g_new (guint, self.n_blocks + 1);
  self.first_member = group (row->n_spots, self.n_blocks, self.block, &self.member);
  sort_blocks (&self);
  find_outside (&self);
  for (guint k = 0; k < self.n_blocks; k++)
    {
      guint b = self.topological[k];
      double low = bound (&self, b, TRUE);

      for (guint m = self.first_member[b]; m < self.first_member[b + 1]; m++)
        low = MAX (low, -self.offset[self.member[m]]);
      self.y[b] = layout_snap_up (low);
    }
  draw_together (&self);

  for (guint i = 0; i < row->n_spots; i++)
    {
      row->spot[i].y = self.y[self.block[i]] + self.offset[i];
      top = MIN (top, row->spot[i].y);
    }
  for (guint i = 0; i < row->n_spots; i++)
    {
      row->spot[i].y -= top;
      bottom = MAX (bottom, row->spot[i].y + MAX (row->spot[i].height, LAYOUT_TRACK));
    }
  g_free (self.block);
  g_free (self.offset);
  g_free (self.y);
  g_free (self.topological);
  g_free (self.first_member);
  g_free (self.member);
  g_free (self.first_outside);
  g_free (self.outside);
  return bottom;
}
