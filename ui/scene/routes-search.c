/* Finds a route around cards: A* over the lines along which a wire just passes a card.
 *
 * A shortest route of horizontal and vertical segments touches the inflated edges of the cards it passes, so only the
 * lines through these edges and through the ports are searched. Only cards in a window around the wire are considered;
 * the window grows if it has no route. */
#include "ui/scene/routes-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BEND 30.0 /* a corner costs as much as this length */
#define BELOW                                                                                                          \
  1.12 /* factor of lengths below both ends: of two equal routes the one above is taken, because targets and pins are  \
          below cards */
#define MARGIN      112.0
#define WIDE_MARGIN 480.0
#define MOST_NODES  (1u << 14) /* crossings to search; a wire that needs more is a plain curve */
#define MANY_CARDS  256u
#define NEAR_END    600.0
#define NEARER_END  300.0 /* of a wire among very many cards */

/* ---- lines ---------------------------------------------------------------- */

typedef struct
{
  double *x, *y;
  guint nx, ny;
  guint8 *walls; /* per crossing: bit 0 is set if the segment to its right is blocked, bit 1 if the one below is */
} Lines;

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double p = *(const double *)a, q = *(const double *)b;

  return p < q ? -1 : p > q;
}

static guint
sort_unique (double *v, guint n)
{
  guint kept = 0;

  qsort (v, n, sizeof *v, compare_doubles);
  for (guint i = 0; i < n; i++)
    if (kept == 0 || v[i] > v[kept - 1] + 1e-6)
      v[kept++] = v[i];
  return kept;
}

/* The index of the first line at or after v. */
static guint
line_at (const double *line, guint n, double v)
{
  guint low = 0, high = n;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (line[middle] < v - 1e-6)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static void
add_line (double *line, guint *n, double at, double low, double high)
{
  if (at >= low && at <= high)
    line[(*n)++] = at;
}

/* The line at or before v, of which the segment to the next one begins; 0: v is before all. */
static guint
segment_at (const double *line, guint n, double v)
{
  guint i = line_at (line, n, v);

  return i > 0 && (i == n || line[i] > v + 1e-6) ? i - 1 : i;
}

/* A card may be between two lines, if those along it are left out. */
static void
block (Lines *lines, const StudioRect *card, double clear)
{
  double left = card->x - clear, right = card->x + card->width + clear;
  double top = card->y - clear, bottom = card->y + card->height + clear;
  guint i0 = segment_at (lines->x, lines->nx, left), j0 = segment_at (lines->y, lines->ny, top);

  for (guint j = j0; j < lines->ny && lines->y[j] < bottom - 1e-6; j++)
    for (guint i = i0; i < lines->nx && lines->x[i] < right - 1e-6; i++)
      {
        if (lines->y[j] > top + 1e-6)
          lines->walls[j * lines->nx + i] |= 1;
        if (lines->x[i] > left + 1e-6)
          lines->walls[j * lines->nx + i] |= 2;
      }
}

/* A wire leaves an output to the right and arrives at an input from the left; at a waypoint any direction is allowed.
 */
static double
start_x (const RouteWire *wire, double clear)
{
  return wire->from != STUDIO_NO_ITEM ? wire->x0 + clear : wire->x0;
}

static double
goal_x (const RouteWire *wire, double clear)
{
  return wire->to != STUDIO_NO_ITEM ? wire->x1 - clear : wire->x1;
}

/* A long wire turns near its ends, so vertical lines next to the cards in between are skipped. */
static gboolean
is_near_end (const RouteWire *wire, const StudioRect *card, double reach)
{
  return (fabs (card->x - wire->x0) < reach && fabs (card->y - wire->y0) < reach)
         || (fabs (card->x - wire->x1) < reach && fabs (card->y - wire->y1) < reach);
}

static int
compare_tops (gconstpointer a, gconstpointer b)
{
  return compare_doubles (&((const StudioRect *)a)->y, &((const StudioRect *)b)->y);
}

/* The edges of the gaps between rows of cards, in which a wire passes all of them. */
static void
add_gaps (double *line, guint *n, RouteIndex *index, const guint *near, guint n_near, const StudioRect *window,
          double clear)
{
  g_autoptr (GArray) cards = g_array_new (FALSE, FALSE, sizeof (StudioRect));
  const double bottom = window->y + window->height;
  double below = -INFINITY;

  for (guint k = 0; k < n_near; k++)
    g_array_append_val (cards, index->card[near[k]]);
  g_array_sort (cards, compare_tops);
  for (guint k = 0; k < n_near; k++)
    {
      const StudioRect *card = &g_array_index (cards, StudioRect, k);

      if (card->y - clear > below)
        {
          add_line (line, n, below, window->y, bottom);
          add_line (line, n, card->y - clear, window->y, bottom);
        }
      below = MAX (below, card->y + card->height + clear);
    }
  add_line (line, n, below, window->y, bottom);
}

/* The lines past n cards. sparse: without those along cards in between, between which a wire runs in gaps of rows. */
static void
fill_lines (Lines *lines, RouteIndex *index, const guint *near, guint n, const RouteWire *wire,
            const StudioRect *window, double clear, gboolean sparse)
{
  double right = window->x + window->width, bottom = window->y + window->height;
  guint nx = 0, ny = 0;

  for (guint k = 0; k < n; k++)
    {
      const StudioRect *card = &index->card[near[k]];
      const gboolean is_near = is_near_end (wire, card, sparse ? NEARER_END : NEAR_END);

      if (is_near || (!sparse && n <= MANY_CARDS))
        {
          add_line (lines->x, &nx, card->x - clear, window->x, right);
          add_line (lines->x, &nx, card->x + card->width + clear, window->x, right);
        }
      if (is_near || !sparse)
        {
          add_line (lines->y, &ny, card->y - clear, window->y, bottom);
          add_line (lines->y, &ny, card->y + card->height + clear, window->y, bottom);
        }
    }
  if (sparse)
    add_gaps (lines->y, &ny, index, near, n, window, clear);
  lines->x[nx++] = start_x (wire, clear);
  lines->x[nx++] = goal_x (wire, clear);
  lines->y[ny++] = wire->y0;
  lines->y[ny++] = wire->y1;
  lines->nx = sort_unique (lines->x, nx);
  lines->ny = sort_unique (lines->y, ny);
}

static gboolean
lines_init (Lines *lines, RouteIndex *index, const RouteWire *wire, const StudioRect *window, double clear)
{
  StudioRect reach = { window->x - clear, window->y - clear, window->width + 2 * clear, window->height + 2 * clear };
  gboolean is_small = route_index_is_small (index, &reach);
  const guint *near;
  guint n;

  memset (lines, 0, sizeof *lines);
  near = route_index_find (index, &reach, &n);
  lines->x = g_new (double, 2 * n + 2);
  lines->y = g_new (double, 4 * n + 4);
  if (is_small)
    {
      fill_lines (lines, index, near, n, wire, window, clear, FALSE);
      is_small = (gsize)lines->nx * lines->ny <= MOST_NODES;
    }
  if (!is_small)
    fill_lines (lines, index, near, n, wire, window, clear, TRUE);
  if ((gsize)lines->nx * lines->ny > MOST_NODES)
    return FALSE;
  lines->walls = g_malloc0 ((gsize)lines->nx * lines->ny);
  for (guint k = 0; k < n; k++)
    block (lines, &index->card[near[k]], clear);
  return TRUE;
}

static void
lines_clear (Lines *lines)
{
  g_free (lines->x);
  g_free (lines->y);
  g_free (lines->walls);
}

/* ---- the search ----------------------------------------------------------- */

typedef struct
{
  double estimate, cost;
  guint state; /* 2 × crossing, + 1 if it was reached vertically */
} Open;

/* A heap. Of equal entries the one with the lower state is first, so that the same cards always have the same route. */
static gboolean
is_before (const Open *a, const Open *b)
{
  return a->estimate < b->estimate || (a->estimate == b->estimate && a->state < b->state);
}

static void
heap_push (GArray *heap, Open open)
{
  guint i = heap->len;
  Open *at;

  g_array_append_val (heap, open);
  at = (Open *)(gpointer)heap->data;
  for (; i > 0 && is_before (&open, &at[(i - 1) / 2]); i = (i - 1) / 2)
    at[i] = at[(i - 1) / 2];
  at[i] = open;
}

static Open
heap_pop (GArray *heap)
{
  Open *at = (Open *)(gpointer)heap->data, top = at[0], last = at[heap->len - 1];
  guint n = heap->len - 1, i = 0;

  for (guint child; (child = 2 * i + 1) < n; i = child)
    {
      if (child + 1 < n && is_before (&at[child + 1], &at[child]))
        child++;
      if (!is_before (&at[child], &last))
        break;
      at[i] = at[child];
    }
  at[i] = last;
  g_array_set_size (heap, n);
  return top;
}

typedef struct
{
  const Lines *lines;
  const RouteWire *wire;
  guint goal; /* crossing */
  double goal_x, goal_y;
  double *cost; /* of each state */
  guint *before;
  GArray *heap;
} Search;

static double
step_cost (const Search *s, guint i, guint j, guint i2, guint j2)
{
  const Lines *l = s->lines;
  double dx = fabs (l->x[i2] - l->x[i]), dy = fabs (l->y[j2] - l->y[j]);

  if (MAX (l->y[j], l->y[j2]) > MAX (s->wire->y0, s->wire->y1) + 1e-6)
    dy *= BELOW;
  /* Of equal routes the one that turns first is shorter, so that wires in the same direction join early. */
  if (j == j2 && l->y[j] == s->wire->y0 && s->wire->y0 != s->wire->y1)
    dx *= 1.001;
  return dx + dy;
}

static void
visit (Search *s, guint from, guint i, guint j, guint i2, guint j2)
{
  const Lines *l = s->lines;
  gboolean upright = i == i2;
  guint node = j2 * l->nx + i2, state = 2 * node + upright;
  double cost = s->cost[from] + step_cost (s, i, j, i2, j2) + ((from & 1) != upright ? BEND : 0);
  double rest;

  if (node == s->goal && upright && s->wire->to != STUDIO_NO_ITEM)
    cost += BEND;
  if (s->cost[state] <= cost)
    return;
  rest = fabs (l->x[i2] - s->goal_x) + fabs (l->y[j2] - s->goal_y);
  s->cost[state] = cost;
  s->before[state] = from;
  heap_push (s->heap, (Open){ cost + rest, cost, state });
}

static void
collect (const Search *s, guint state, GArray *corners)
{
  const Lines *l = s->lines;
  g_autoptr (GArray) back = g_array_new (FALSE, FALSE, sizeof (RoutePoint));
  RoutePoint end = { s->wire->x1, s->wire->y1 };

  g_array_set_size (corners, 0);
  g_array_append_val (back, end);
  for (; state != G_MAXUINT; state = s->before[state])
    {
      RoutePoint p = { l->x[state / 2 % l->nx], l->y[state / 2 / l->nx] };

      g_array_append_val (back, p);
    }
  end = (RoutePoint){ s->wire->x0, s->wire->y0 };
  g_array_append_val (back, end);
  for (guint k = back->len; k-- > 0;)
    {
      RoutePoint p = g_array_index (back, RoutePoint, k);
      RoutePoint *last = corners->len > 0 ? &g_array_index (corners, RoutePoint, corners->len - 1) : NULL;
      RoutePoint *prior = corners->len > 1 ? last - 1 : NULL;

      /* A point on a straight line is no corner. */
      if (prior != NULL && ((prior->x == last->x && last->x == p.x) || (prior->y == last->y && last->y == p.y)))
        *last = p;
      else
        g_array_append_val (corners, p);
    }
  /* Segments alternate and begin with a horizontal one, which may have length 0. */
  if (corners->len > 1 && g_array_index (corners, RoutePoint, 0).x == g_array_index (corners, RoutePoint, 1).x)
    g_array_prepend_val (corners, end);
}

static gboolean
search_window (RouteIndex *index, const RouteWire *wire, const StudioRect *window, double clear, GArray *corners)
{
  Lines lines;
  Search s = { .lines = &lines, .wire = wire };
  gboolean found = FALSE;

  if (lines_init (&lines, index, wire, window, clear))
    {
      guint states = 2 * lines.nx * lines.ny;
      guint start
          = line_at (lines.y, lines.ny, wire->y0) * lines.nx + line_at (lines.x, lines.nx, start_x (wire, clear));

      s.goal_x = goal_x (wire, clear);
      s.goal_y = wire->y1;
      s.goal = line_at (lines.y, lines.ny, s.goal_y) * lines.nx + line_at (lines.x, lines.nx, s.goal_x);
      s.cost = g_new (double, states);
      s.before = g_new (guint, states);
      s.heap = g_array_new (FALSE, FALSE, sizeof (Open));
      for (guint i = 0; i < states; i++)
        s.cost[i] = G_MAXDOUBLE;
      s.cost[2 * start] = 0;
      s.before[2 * start] = G_MAXUINT;
      heap_push (s.heap, (Open){ 0, 0, 2 * start });
      if (wire->from == STUDIO_NO_ITEM)
        {
          s.cost[2 * start + 1] = 0;
          s.before[2 * start + 1] = G_MAXUINT;
          heap_push (s.heap, (Open){ 0, 0, 2 * start + 1 });
        }
      while (s.heap->len > 0 && !found)
        {
          Open open = heap_pop (s.heap);
          guint node = open.state / 2, i = node % lines.nx, j = node / lines.nx;

          if (open.cost > s.cost[open.state])
            continue;
          if (node == s.goal)
            {
              collect (&s, open.state, corners);
              found = TRUE;
              break;
            }
          if (i + 1 < lines.nx && !(lines.walls[node] & 1))
            visit (&s, open.state, i, j, i + 1, j);
          if (i > 0 && !(lines.walls[node - 1] & 1))
            visit (&s, open.state, i, j, i - 1, j);
          if (j + 1 < lines.ny && !(lines.walls[node] & 2))
            visit (&s, open.state, i, j, i, j + 1);
          if (j > 0 && !(lines.walls[node - lines.nx] & 2))
            visit (&s, open.state, i, j, i, j - 1);
        }
      g_array_unref (s.heap);
      g_free (s.cost);
      g_free (s.before);
    }
  lines_clear (&lines);
  return found;
}

gboolean
route_search (RouteIndex *index, const RouteWire *wire, GArray *corners, StudioRect *region)
{
  static const struct
  {
    double margin, clear;
  } tries[]
      = { { MARGIN, ROUTE_CLEAR }, { WIDE_MARGIN, ROUTE_CLEAR }, { WIDE_MARGIN, ROUTE_TIGHT }, { WIDE_MARGIN, 0 } };

  for (guint k = 0; k < G_N_ELEMENTS (tries); k++)
    {
      StudioRect window = studio_rect_between (wire->x0, wire->y0, wire->x1, wire->y1);
      double margin = tries[k].margin;

      /* The window contains the wire's own cards, because the route goes around them. */
      if (wire->from != STUDIO_NO_ITEM)
        window = studio_rect_union (window, index->card[wire->from]);
      if (wire->to != STUDIO_NO_ITEM)
        window = studio_rect_union (window, index->card[wire->to]);
      window
          = (StudioRect){ window.x - margin, window.y - margin, window.width + 2 * margin, window.height + 2 * margin };
      /* Segments may shift into tracks a little outside of the window. */
      *region = (StudioRect){ window.x - ROUTE_SLIDE - ROUTE_CLEAR, window.y - ROUTE_SLIDE - ROUTE_CLEAR,
                              window.width + 2 * (ROUTE_SLIDE + ROUTE_CLEAR),
                              window.height + 2 * (ROUTE_SLIDE + ROUTE_CLEAR) };
      if (search_window (index, wire, &window, tries[k].clear, corners))
        return TRUE;
    }
  return FALSE;
}
