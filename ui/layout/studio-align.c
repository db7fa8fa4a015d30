/* Alignment of cards by command and while dragging.
 *
 * Both axes work the same, so an axis is a pair of offsets into StudioRect. */
#include "ui/layout/studio-align.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_GAP 28.0 /* between cards that would otherwise overlap */
#define OVERHANG  12.0 /* of a guide beyond the edges that it joins */

static double *
near_edge (StudioRect *r, gboolean upright)
{
  return upright ? &r->y : &r->x;
}

static double
start (const StudioRect *r, gboolean upright)
{
  return upright ? r->y : r->x;
}

static double
extent (const StudioRect *r, gboolean upright)
{
  return upright ? r->height : r->width;
}

/* ---- on command ------------------------------------------------------------- */

static int
compare_along (gconstpointer a, gconstpointer b, gpointer upright)
{
  const StudioRect *p = *(StudioRect *const *)a, *q = *(StudioRect *const *)b;
  gboolean u = GPOINTER_TO_INT (upright);
  double d = start (p, u) + extent (p, u) / 2 - start (q, u) - extent (q, u) / 2;

  return d < 0 ? -1 : d > 0 ? 1 : p < q ? -1 : p > q;
}

static StudioRect **
in_order (StudioRect *rect, guint n, gboolean upright)
{
  StudioRect **order = g_new (StudioRect *, n);

  for (guint i = 0; i < n; i++)
    order[i] = &rect[i];
  g_qsort_with_data (order, n, sizeof (StudioRect *), compare_along, GINT_TO_POINTER (upright));
  return order;
}

/* Moves each rectangle that overlaps the one before, in order. */
static void
push_apart (StudioRect *rect, guint n, gboolean upright)
{
  g_autofree StudioRect **order = in_order (rect, n, upright);

  for (guint i = 1; i < n; i++)
    for (guint k = 0; k < i; k++)
      {
        double end = start (order[k], upright) + extent (order[k], upright);

        if (studio_rect_intersects (order[i], order[k]))
          *near_edge (order[i], upright) = end + LEAST_GAP;
      }
}

/* to: 0 near edges, 0.5 middles, 1 far edges. */
static void
align (StudioRect *rect, guint n, gboolean upright, double to)
{
  double low = INFINITY, high = -INFINITY;

  for (guint i = 0; i < n; i++)
    {
      low = MIN (low, start (&rect[i], upright));
      high = MAX (high, start (&rect[i], upright) + extent (&rect[i], upright));
    }
  for (guint i = 0; i < n; i++)
    *near_edge (&rect[i], upright) = floor (low + (high - low - extent (&rect[i], upright)) * to + 0.5);
  push_apart (rect, n, !upright);
}

static void
distribute (StudioRect *rect, guint n, gboolean upright)
{
  g_autofree StudioRect **order = NULL;
  double gap, at;

  if (n < 3)
    return;
  order = in_order (rect, n, upright);
  gap = start (order[n - 1], upright) - start (order[0], upright);
  for (guint i = 0; i + 1 < n; i++)
    gap -= extent (order[i], upright);
  gap /= n - 1;
  at = start (order[0], upright);
  for (guint i = 0; i < n; i++)
    {
      /* In whole units; the last rectangle stays. */
      if (i + 1 < n || gap < 0)
        *near_edge (order[i], upright) = floor (at + 0.5);
      at += extent (order[i], upright) + (gap < 0 ? LEAST_GAP : gap);
    }
}

void
studio_align (StudioRect *rect, guint n, StudioAlign how)
{
  g_return_if_fail (rect != NULL || n == 0);

  if (n < 2)
    return;
  switch (how)
    {
    case STUDIO_ALIGN_LEFT:
      align (rect, n, FALSE, 0);
      break;
    case STUDIO_ALIGN_CENTRE:
      align (rect, n, FALSE, 0.5);
      break;
    case STUDIO_ALIGN_RIGHT:
      align (rect, n, FALSE, 1);
      break;
    case STUDIO_ALIGN_TOP:
      align (rect, n, TRUE, 0);
      break;
    case STUDIO_ALIGN_MIDDLE:
      align (rect, n, TRUE, 0.5);
      break;
    case STUDIO_ALIGN_BOTTOM:
      align (rect, n, TRUE, 1);
      break;
    case STUDIO_DISTRIBUTE_HORIZONTALLY:
      distribute (rect, n, FALSE);
      break;
    case STUDIO_DISTRIBUTE_VERTICALLY:
      distribute (rect, n, TRUE);
      break;
    }
}

/* ---- while dragging ----------------------------------------------------------- */

/* The best line of one axis so far: the distance that the rectangle moves, and what it is aligned with. */
typedef struct
{
  double by, rank; /* rank: distance, minus a bonus for more important lines */
  double at;
  StudioRect other;
  gboolean has_guide;
} Line;

static void
offer (Line *line, double at, double by, double reach, double preference, double away, const StudioRect *other)
{
  /* Of cards on one line the nearest is shown. */
  double rank = fabs (by) - preference + away * 1e-5;

  if (fabs (by) > reach || rank >= line->rank)
    return;
  line->rank = rank;
  line->by = by;
  line->at = at;
  line->has_guide = other != NULL;
  if (other != NULL)
    line->other = *other;
}

static void
offer_edges (Line *line, const StudioRect *rect, const StudioRect *other, gboolean upright, double reach)
{
  double a = start (rect, upright), b = start (other, upright);
  double w = extent (rect, upright), v = extent (other, upright);
  double away = fabs (start (rect, !upright) - start (other, !upright));

  /* Corners first, because cards of equal size share all lines. */
  offer (line, b, b - a, reach, 1, away, other);
  offer (line, b + v, b + v - a - w, reach, 0.5, away, other);
  /* Cards of different heights have their ports at the top, so aligned middles mean nothing. */
  if (!upright)
    offer (line, b + v / 2, b + v / 2 - a - w / 2, reach, 0, away, other);
}

/* The position at which a wire is horizontal, or vertical in a graph that runs down. */
static void
offer_ports (Line *line, const StudioScene *scene, guint item, const gboolean *moving, const StudioRect *rect,
             double reach)
{
  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioLink *link = &scene->link[l];
      gboolean starts = link->from == item;
      guint there = starts ? link->to : link->from;
      double x, y, own_x, own_y;
      StudioRect card;

      if ((!starts && link->to != item) || there == item || (moving != NULL && moving[there]))
        continue;
      studio_geometry_port (&scene->item[there], !starts, starts ? link->input : link->output, &x, &y);
      studio_geometry_port (&scene->item[item], starts, starts ? link->output : link->input, &own_x, &own_y);
      own_x += rect->x - scene->item[item].x;
      own_y += rect->y - scene->item[item].y;
      card = studio_geometry_card (&scene->item[there]);
      if (scene->flow == STUDIO_FLOW_DOWN)
        offer (line, x, x - own_x, reach, 2, 0, &card);
      else
        offer (line, y, y - own_y, reach, 2, 0, &card);
    }
}

static void
add_guide (StudioSnapped *snapped, const Line *line, const StudioRect *rect, gboolean upright)
{
  /* The guide of an axis is perpendicular to it. */
  double a = start (rect, !upright), b = start (&line->other, !upright);

  if (!line->has_guide)
    return;
  snapped->guide[snapped->n_guides++]
      = (StudioGuide){ .is_upright = !upright,
                       .at = line->at,
                       .from = MIN (a, b) - OVERHANG,
                       .to = MAX (a + extent (rect, !upright), b + extent (&line->other, !upright)) + OVERHANG };
}

static double
on_grid (double v)
{
  return STUDIO_GRID * floor (v / STUDIO_GRID + 0.5);
}

StudioSnapped
studio_align_snap (const StudioScene *scene, guint item, const gboolean *moving, const StudioRect *rect, double from_x,
                   double from_y, double reach, const StudioRect *sight)
{
  Line across = { .rank = INFINITY }, down = { .rank = INFINITY };
  StudioSnapped snapped = { 0 };
  StudioRect lies;

  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect card = studio_geometry_card (&scene->item[i]);

      if (i == item || (moving != NULL && moving[i]) || !studio_rect_intersects (&card, sight))
        continue;
      offer_edges (&across, rect, &card, FALSE, reach);
      offer_edges (&down, rect, &card, TRUE, reach);
    }
  if (item != STUDIO_NO_ITEM)
    offer_ports (scene->flow == STUDIO_FLOW_DOWN ? &across : &down, scene, item, moving, rect, reach);
  offer (&across, from_x, from_x - rect->x, reach, -1, 0, NULL);
  offer (&down, from_y, from_y - rect->y, reach, -1, 0, NULL);
  snapped.x = isinf (across.rank) ? on_grid (rect->x) : rect->x + across.by;
  snapped.y = isinf (down.rank) ? on_grid (rect->y) : rect->y + down.by;
  lies = (StudioRect){ snapped.x, snapped.y, rect->width, rect->height };
  add_guide (&snapped, &across, &lies, FALSE);
  add_guide (&snapped, &down, &lies, TRUE);
  return snapped;
}
