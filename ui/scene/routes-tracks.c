/* Assigns parallel wires to separate tracks: horizontal segments first, then vertical ones.
 *
 * After "Orthogonal connector routing" (Wybrow, Marriott, Stuckey, GD 2009): the routes determine the cards that a wire
 * passes; here segments are shifted within the space between cards. The order of two wires follows from where they
 * part, so that they cross only if they must. Wires that share most of their route form a bundle: their tracks are as
 * close as two lines can be while distinguishable, and fan out where they part. */
#include "ui/scene/routes-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRACK_NEAR  24.0 /* segments this close can be in one bundle */
#define TRACK_END   12.0 /* tracks extend a little beyond their ends, which may shift, too */
#define TRACK_GAP   10.0 /* between tracks, if there is space */
#define TRACK_LEAST 2.0
#define BUNDLE_GAP  4.0   /* between the tracks of a bundle; lines are 2 wide */
#define BUNDLE_LONG 100.0 /* minimum common length of two tracks of a bundle, */
#define BUNDLE_MOST 0.6   /* and its minimum fraction of the shorter track */
#define MOST_VOTES  8u    /* segments of a track that vote */
#define WEIGHT      100
#define MOST_PAIRS  400u /* larger groups are ordered only by position */

#define corner(array, k) (&g_array_index (array, RoutePoint, k))

/* The segments of one net on one line, which share a track. */
typedef struct
{
  guint first_piece, n_pieces; /* among the candidates */
  guint64 net;
  gboolean fixed;
  double at, low, high, a, b; /* position, its range, and the ends of the track */
  double first, last;         /* positions when packed from one side, and from the other */
  guint bundle_id;            /* the bundle; 0: none */
} Track;

typedef struct
{
  RoutePiece piece;
  guint64 net;
  guint wire, track;
  gboolean fixed;
  double at, a, b;
} Candidate;

typedef struct
{
  GArray *tracks, *candidates;
  GPtrArray *by_place; /* Track */
} Tracks;

static int
compare_candidates (gconstpointer a, gconstpointer b)
{
  const Candidate *p = a, *q = b;

  if (p->net != q->net)
    return p->net < q->net ? -1 : 1;
  if (p->at != q->at)
    return p->at < q->at ? -1 : 1;
  if (p->a != q->a)
    return p->a < q->a ? -1 : 1;
  if (p->wire != q->wire)
    return p->wire < q->wire ? -1 : 1;
  return p->piece.k < q->piece.k ? -1 : p->piece.k > q->piece.k;
}

static int
compare_places (gconstpointer a, gconstpointer b)
{
  const Track *p = *(Track *const *)a, *q = *(Track *const *)b;

  if (p->at != q->at)
    return p->at < q->at ? -1 : 1;
  if (p->a != q->a)
    return p->a < q->a ? -1 : 1;
  if (p->b != q->b)
    return p->b < q->b ? -1 : 1;
  return p->net < q->net ? -1 : p->net > q->net;
}

static GArray *
candidates_new (RouteWire *wire, guint n, guint upright)
{
  GArray *candidates = g_array_new (FALSE, FALSE, sizeof (Candidate));

  for (guint i = 0; i < n; i++)
    {
      guint len = wire[i].way != NULL ? wire[i].way->len : 0;

      for (guint k = upright; k + 1 < len; k += 2)
        {
          Candidate c = { { wire[i].way, k }, wire[i].net, i, 0, route_is_fixed (wire[i].way, k), 0, 0, 0 };
          const RoutePoint *p = corner (wire[i].way, k), *q = p + 1;

          c.at = upright ? p->x : p->y;
          c.a = upright ? MIN (p->y, q->y) : MIN (p->x, q->x);
          c.b = upright ? MAX (p->y, q->y) : MAX (p->x, q->x);
          g_array_append_val (candidates, c);
        }
    }
  g_array_sort (candidates, compare_candidates);
  return candidates;
}

static void
collect_tracks (Tracks *self, RouteIndex *index, RouteWire *wire, guint n, guint upright)
{
  self->candidates = candidates_new (wire, n, upright);
  self->tracks = g_array_new (FALSE, FALSE, sizeof (Track));
  for (guint i = 0; i < self->candidates->len; i++)
    {
      Candidate *c = &g_array_index (self->candidates, Candidate, i);
      Track *track = self->tracks->len > 0 ? &g_array_index (self->tracks, Track, self->tracks->len - 1) : NULL;
      double low = c->at, high = c->at;

      if (!c->fixed)
        route_slack (index, c->piece.way, c->piece.k, &low, &high);
      c->track = self->tracks->len;
      if (track != NULL && track->net == c->net && fabs (track->at - c->at) < 0.5 && track->fixed == c->fixed
          && c->a <= track->b)
        {
          c->track--;
          track->n_pieces++;
          track->b = MAX (track->b, c->b);
          track->low = MAX (track->low, low);
          track->high = MIN (track->high, high);
        }
      else
        {
          Track fresh = { i, 1, c->net, c->fixed, c->at, low, high, c->a, c->b, 0, 0, 0 };

          g_array_append_val (self->tracks, fresh);
        }
    }
  self->by_place = g_ptr_array_new ();
  for (guint i = 0; i < self->tracks->len; i++)
    {
      Track *track = &g_array_index (self->tracks, Track, i);

      /* A net may have the same end segment twice, with different lengths. */
      track->low = MIN (track->low, track->at);
      track->high = MAX (track->high, track->at);
      g_ptr_array_add (self->by_place, track);
    }
  g_ptr_array_sort (self->by_place, compare_places);
}

static gboolean
are_adjacent (const Track *p, const Track *q)
{
  return p->a - TRACK_END < q->b + TRACK_END && q->a - TRACK_END < p->b + TRACK_END;
}

static gboolean
are_bundled (const Track *p, const Track *q)
{
  double common = MIN (p->b, q->b) - MAX (p->a, q->a);

  return common >= BUNDLE_LONG && common >= BUNDLE_MOST * MIN (p->b - p->a, q->b - q->a)
         && fabs (p->at - q->at) <= TRACK_NEAR;
}

/* TRUE if two tracks could be shifted onto each other. */
static gboolean
may_meet (const Track *p, const Track *q)
{
  return p->net != q->net && !(p->fixed && q->fixed) && are_adjacent (p, q) && p->high + TRACK_GAP > q->low
         && q->high + TRACK_GAP > p->low;
}

/* Groups: tracks that could overlap, directly or through other tracks. root: of each track in by_place. */
static guint
find_root (guint *root, guint i)
{
  while (root[i] != i)
    i = root[i] = root[root[i]];
  return i;
}

static int
compare_starts (gconstpointer a, gconstpointer b, gpointer by_place)
{
  guint i = *(const guint *)a, j = *(const guint *)b;
  const Track *p = g_ptr_array_index ((GPtrArray *)by_place, i), *q = g_ptr_array_index ((GPtrArray *)by_place, j);

  if (p->a != q->a)
    return p->a < q->a ? -1 : 1;
  return i < j ? -1 : i > j;
}

#define REACH   (2 * ROUTE_SLIDE + TRACK_GAP) /* tracks further apart cannot meet */
#define BUCKETS 1024u

/* Joins a track to the tracks of one bucket that it may overlap, and removes those that end before it. */
static void
join (GArray *open, const GPtrArray *by_place, guint *root, guint i)
{
  const Track *p = by_place->pdata[i];
  guint *index = (guint *)(gpointer)open->data, kept = 0;

  for (guint o = 0; o < open->len; o++)
    {
      const Track *q = by_place->pdata[index[o]];

      if (q->b + 2 * TRACK_END < p->a)
        continue;
      if (fabs (q->at - p->at) <= REACH && may_meet (p, q))
        {
          guint one = find_root (root, i), other = find_root (root, index[o]);

          root[MAX (one, other)] = MIN (one, other);
        }
      index[kept++] = index[o];
    }
  g_array_set_size (open, kept);
}

/* Sweeps along the tracks. Buckets by position limit the comparison to nearby tracks. */
static guint *
bundle (GPtrArray *by_place)
{
  guint n = by_place->len;
  guint *root = g_new (guint, n + 1);
  g_autofree guint *start = g_new (guint, n + 1);
  GArray *open[BUCKETS] = { NULL };

  for (guint i = 0; i < n; i++)
    root[i] = start[i] = i;
  g_qsort_with_data (start, (int)n, sizeof *start, compare_starts, by_place);
  for (guint k = 0; k < n; k++)
    {
      const Track *p = by_place->pdata[start[k]];
      gint64 bucket = (gint64)floor (p->at / REACH);
      guint own = (guint64)bucket % BUCKETS;

      for (int by = -1; by <= 1; by++)
        if (open[(guint64)(bucket + by) % BUCKETS] != NULL)
          join (open[(guint64)(bucket + by) % BUCKETS], by_place, root, start[k]);
      if (open[own] == NULL)
        open[own] = g_array_new (FALSE, FALSE, sizeof (guint));
      g_array_append_val (open[own], start[k]);
    }
  for (guint b = 0; b < BUCKETS; b++)
    if (open[b] != NULL)
      g_array_unref (open[b]);
  return root;
}

/* A group of tracks while it is ordered. */
typedef struct
{
  const GArray *candidates;
  Track **track;
  guint n;
  guint8 *apart; /* of each pair: the weight of the constraint that the first precedes the second; 0: none */
} Bundle;

/* The votes that the second of two tracks should be first, from their parallel segments. */
static int
count_swap_votes (const Bundle *self, const Track *p, const Track *q)
{
  int votes = 0;

  for (guint i = 0; i < MIN (p->n_pieces, MOST_VOTES); i++)
    for (guint j = 0; j < MIN (q->n_pieces, MOST_VOTES); j++)
      {
        const Candidate *c = &g_array_index (self->candidates, Candidate, p->first_piece + i);
        const Candidate *d = &g_array_index (self->candidates, Candidate, q->first_piece + j);

        if (c->a - TRACK_END < d->b + TRACK_END && d->a - TRACK_END < c->b + TRACK_END)
          votes += route_side (&c->piece, &d->piece);
      }
  return votes;
}

/* Sets the constraint of each pair by route_side() if they are close, else by position. */
static void
relate (Bundle *self, gboolean by_place)
{
  if (by_place)
    qsort (self->track, self->n, sizeof *self->track, compare_places);
  memset (self->apart, 0, (gsize)self->n * self->n);
  for (guint i = 0; i < self->n; i++)
    for (guint j = i + 1; j < self->n; j++)
      {
        const Track *p = self->track[i], *q = self->track[j];
        gboolean swaps;
        int votes = 0;

        if (!may_meet (p, q))
          continue;
        if (!by_place && fabs (q->at - p->at) <= TRACK_NEAR)
          votes = count_swap_votes (self, p, q);
        swaps = votes > 0;
        /* The order must fit into their ranges. */
        if ((swaps ? q->low : p->low) + TRACK_LEAST > (swaps ? p->high : q->high))
          {
            swaps = !swaps;
            votes = ROUTE_SURE;
          }
        self->apart[swaps ? j * self->n + i : i * self->n + j] = ABS (votes) >= ROUTE_SURE / 2 ? WEIGHT : 1;
      }
}

/* Sorts the tracks by their constraints. A cycle is cut where the fewest constraints are violated. */
static void
sort_bundle (Bundle *self)
{
  guint n = self->n;
  g_autofree guint *waiting = g_new0 (guint, n), *sorted = g_new (guint, n);
  g_autofree Track **track = g_new (Track *, n);
  g_autofree guint8 *apart = g_malloc0 ((gsize)n * n);

  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < n; j++)
      waiting[j] += self->apart[i * n + j];
  for (guint k = 0; k < n; k++)
    {
      guint next = 0;

      for (guint i = 1; i < n; i++)
        if (waiting[i] < waiting[next])
          next = i;
      waiting[next] = G_MAXUINT;
      sorted[k] = next;
      for (guint j = 0; j < n; j++)
        if (waiting[j] != G_MAXUINT)
          waiting[j] -= self->apart[next * n + j];
    }
  for (guint i = 0; i < n; i++)
    {
      track[i] = self->track[sorted[i]];
      for (guint j = i + 1; j < n; j++)
        apart[i * n + j] = self->apart[sorted[i] * n + sorted[j]] | self->apart[sorted[j] * n + sorted[i]];
    }
  memcpy (self->track, track, n * sizeof *track);
  memcpy (self->apart, apart, (gsize)n * n);
}

/* Places the tracks of a bundle at their average position, or at that of a fixed one. The tracks are sorted, so those
 * of one bundle are adjacent. */
static void
merge_bundles (Bundle *self)
{
  for (guint first = 0, end; first < self->n; first = end)
    {
      double sum = 0, low = -G_MAXDOUBLE, high = G_MAXDOUBLE, place;
      const Track *fixed = NULL;

      for (end = first; end < self->n && (end == first || are_bundled (self->track[end - 1], self->track[end])); end++)
        {
          sum += self->track[end]->at;
          low = MAX (low, self->track[end]->low);
          high = MIN (high, self->track[end]->high);
          if (self->track[end]->fixed)
            fixed = self->track[end];
        }
      /* If cards leave no common range, each track keeps its position. */
      if (end - first < 2 || low > high)
        continue;
      place = fixed != NULL ? fixed->at : CLAMP (sum / (end - first), low, high);
      for (guint i = first; i < end; i++)
        {
          self->track[i]->bundle_id = first + 1;
          if (!self->track[i]->fixed)
            self->track[i]->at = place;
        }
    }
}

static double
gap_between (const Track *p, const Track *q, double gap)
{
  return p->bundle_id != 0 && p->bundle_id == q->bundle_id ? MIN (gap, BUNDLE_GAP) : gap;
}

/* Computes the smallest and the largest position of each track with this gap between them; FALSE if they do not fit. */
static gboolean
limits (const Bundle *self, double gap, double *least, double *most)
{
  gboolean fits = TRUE;

  for (guint j = 0; j < self->n; j++)
    {
      least[j] = self->track[j]->low;
      for (guint i = 0; i < j; i++)
        if (self->apart[i * self->n + j])
          least[j] = MAX (least[j], least[i] + gap_between (self->track[i], self->track[j], gap));
      fits = fits && least[j] <= self->track[j]->high + 1e-6;
    }
  for (guint j = self->n; j-- > 0;)
    {
      most[j] = self->track[j]->high;
      for (guint i = j + 1; i < self->n; i++)
        if (self->apart[j * self->n + i])
          most[j] = MIN (most[j], most[i] - gap_between (self->track[i], self->track[j], gap));
    }
  return fits;
}

static double
widest_gap (const Bundle *self, double *least, double *most)
{
  static const double gaps[] = { TRACK_GAP, 8, 6, 5, 4, 3, TRACK_LEAST };

  for (guint g = 0; g < G_N_ELEMENTS (gaps); g++)
    if (limits (self, gaps[g], least, most))
      return gaps[g];
  return 0;
}

/* Packs the tracks from one side and from the other and takes the mean: equal gaps around their original positions. */
static void
place_bundle (const GArray *candidates, Track **track, guint n)
{
  Bundle self = { candidates, track, n, NULL };
  g_autofree double *least = g_new (double, n), *most = g_new (double, n);
  g_autofree guint8 *apart = NULL;
  double gap = 0;

  if (n < 2)
    return;
  self.apart = apart = g_malloc ((gsize)n * n);
  for (guint pass = n > MOST_PAIRS ? 1 : 0; pass < 2 && gap == 0; pass++)
    {
      relate (&self, pass == 1);
      sort_bundle (&self);
      if (pass == 0)
        merge_bundles (&self);
      gap = widest_gap (&self, least, most);
    }
  if (gap == 0)
    return;
  for (guint j = 0; j < n; j++)
    {
      double at = MAX (track[j]->at, least[j]);

      for (guint i = 0; i < j; i++)
        if (self.apart[i * n + j])
          at = MAX (at, track[i]->first + gap_between (track[i], track[j], gap));
      track[j]->first = MIN (at, most[j]);
    }
  for (guint j = n; j-- > 0;)
    {
      double at = MIN (track[j]->at, most[j]);

      for (guint i = j + 1; i < n; i++)
        if (self.apart[j * n + i])
          at = MIN (at, track[i]->last - gap_between (track[j], track[i], gap));
      track[j]->last = MAX (at, least[j]);
    }
  for (guint j = 0; j < n; j++)
    if (!track[j]->fixed)
      track[j]->at = (track[j]->first + track[j]->last) / 2;
}

static void
tracks_of (RouteIndex *index, RouteWire *wire, guint n, guint upright)
{
  Tracks self;
  g_autofree guint *root = NULL;
  g_autoptr (GPtrArray) members = g_ptr_array_new ();
  g_autofree guint *next = NULL;

  collect_tracks (&self, index, wire, n, upright);
  root = bundle (self.by_place);
  /* Makes lists of the members of each group, ordered by position. */
  next = g_new (guint, 2 * self.by_place->len + 1);
  for (guint i = 0; i < self.by_place->len; i++)
    {
      guint r = find_root (root, i);

      next[i] = i;
      if (r != i)
        {
          next[next[self.by_place->len + r]] = i;
          next[self.by_place->len + r] = i;
        }
      else
        next[self.by_place->len + i] = i;
    }
  for (guint i = 0; i < self.by_place->len; i++)
    {
      if (find_root (root, i) != i || next[i] == i)
        continue;
      g_ptr_array_set_size (members, 0);
      for (guint k = i;; k = next[k])
        {
          g_ptr_array_add (members, self.by_place->pdata[k]);
          if (next[k] == k)
            break;
        }
      place_bundle (self.candidates, (Track **)members->pdata, members->len);
    }
  for (guint i = 0; i < self.candidates->len; i++)
    {
      const Candidate *c = &g_array_index (self.candidates, Candidate, i);
      const Track *track = &g_array_index (self.tracks, Track, c->track);
      RoutePoint *p = corner (wire[c->wire].way, c->piece.k), *q = p + 1;

      if (track->fixed)
        continue;
      if (upright)
        p->x = q->x = track->at;
      else
        p->y = q->y = track->at;
    }
  g_array_unref (self.tracks);
  g_array_unref (self.candidates);
  g_ptr_array_unref (self.by_place);
}

void
route_tracks (RouteIndex *index, RouteWire *wire, guint n)
{
  tracks_of (index, wire, n, 0);
  tracks_of (index, wire, n, 1);
}
