/* Decides on which side of another segment a segment belongs: by where their routes part, so that they cross only if
 * they must. */
#include "ui/scene/routes-private.h"

#include <math.h>

#define SAME_END 6.0 /* ends this close are in one channel */

#define corner(array, k) (&g_array_index (array, RoutePoint, k))

static double
along (const RoutePiece *piece, guint at)
{
  const RoutePoint *p = corner (piece->way, at);

  return piece->k % 2 == 1 ? p->y : p->x;
}

/* The corner at the end of a segment towards which coordinates grow (sign 1) or shrink, and the step to the next
 * corner. */
static guint
end_of (const RoutePiece *piece, int sign, int *step)
{
  *step = (along (piece, piece->k + 1) - along (piece, piece->k)) * sign >= 0 ? 1 : -1;
  return *step > 0 ? piece->k + 1 : piece->k;
}

/* The side to which a route turns at this corner: -1 up or left, 1 down or right, 0 at its end. */
static int
turn_at (const RoutePiece *piece, guint at, int step)
{
  int next = (int)at + step;
  const RoutePoint *p = corner (piece->way, at), *q;
  double by;

  if (next < 0 || next >= (int)piece->way->len)
    return 0;
  q = corner (piece->way, next);
  by = piece->k % 2 == 1 ? q->x - p->x : q->y - p->y;
  return by < 0 ? -1 : by > 0;
}

/* The side of t on which s must be so that the two do not cross beyond this end: -1 above or left, 1 below or right, 0
 * if it does not matter. sure: on the other side they would overlap. */
static int
side_at (const RoutePiece *s, const RoutePiece *t, int sign, guint depth, gboolean *sure)
{
  int step_s, step_t, turn_s, turn_t, order;
  guint at_s = end_of (s, sign, &step_s), at_t = end_of (t, sign, &step_t);
  double further = (along (s, at_s) - along (t, at_t)) * sign;
  RoutePiece next_s, next_t;
  gboolean ignored;

  turn_s = turn_at (s, at_s, step_s);
  turn_t = turn_at (t, at_t, step_t);
  *sure = fabs (further) <= SAME_END && turn_s * turn_t < 0;
  if (further < -SAME_END)
    return turn_s;
  if (further > SAME_END)
    return -turn_t;
  if (turn_s != turn_t)
    return turn_s < turn_t ? -1 : 1;
  if (turn_s == 0 || depth == 0)
    return 0;
  next_s = (RoutePiece){ s->way, step_s > 0 ? at_s : at_s - 1 };
  next_t = (RoutePiece){ t->way, step_t > 0 ? at_t : at_t - 1 };
  order = side_at (&next_s, &next_t, turn_s, depth - 1, &ignored);
  return -sign * turn_s * order;
}

/* The votes of both ends for s after t, minus those for before; a sure one outvotes all others. */
int
route_side (const RoutePiece *s, const RoutePiece *t)
{
  gboolean sure_far, sure_near;
  int far = side_at (s, t, 1, 8, &sure_far), near = side_at (s, t, -1, 8, &sure_near);

  if (sure_far || sure_near)
    return (sure_far ? far : 0) * ROUTE_SURE + (sure_near ? near : 0) * ROUTE_SURE;
  /* If the two ends disagree, a crossing is unavoidable. */
  return far != 0 ? far : near;
}
