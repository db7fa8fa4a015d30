/* Converts routes to curves: round corners, curves through waypoints, and queries of a curve. */
#include "ui/scene/routes-private.h"

#include <math.h>

#define NARROW 14.0   /* the radius of a corner near a card */
#define ARC    0.5523 /* the distance of control points of a cubic that approximates a quarter circle, in radii */

#define corner(array, k) (&g_array_index (array, RoutePoint, k))

static void
add_straight (GArray *pieces, RoutePoint a, RoutePoint b)
{
  StudioCurve c = { { a.x, a.x + (b.x - a.x) / 3, a.x + (b.x - a.x) * 2 / 3, b.x },
                    { a.y, a.y + (b.y - a.y) / 3, a.y + (b.y - a.y) * 2 / 3, b.y } };

  if (hypot (b.x - a.x, b.y - a.y) > 1e-3)
    g_array_append_val (pieces, c);
}

static RoutePoint
towards (const RoutePoint *from, const RoutePoint *to, double by)
{
  double d = hypot (to->x - from->x, to->y - from->y);

  return (RoutePoint){ from->x + (to->x - from->x) * by / d, from->y + (to->y - from->y) * by / d };
}

/* A rounded corner cuts off the area inside it. If a card is there, the radius is small. */
static double
free_radius (RouteIndex *index, const RoutePoint *p, const RoutePoint *q, const RoutePoint *r, double radius)
{
  RoutePoint a = towards (q, p, radius), b = towards (q, r, radius);
  StudioRect within = studio_rect_between (a.x, a.y, b.x, b.y);
  guint n;

  if (radius <= NARROW)
    return radius;
  route_index_find (index, &within, &n);
  return n == 0 ? radius : NARROW;
}

void
route_round (RouteIndex *index, const GArray *corners, double radius, GArray *pieces)
{
  RoutePoint at = *corner (corners, 0);

  for (guint k = 1; k + 1 < corners->len; k++)
    {
      const RoutePoint *p = corner (corners, k - 1), *q = p + 1, *r = p + 2;
      double before = hypot (q->x - p->x, q->y - p->y), after = hypot (r->x - q->x, r->y - q->y), by;
      RoutePoint a, b;
      StudioCurve arc;

      by = MIN (radius, MIN (k > 1 ? before / 2 : before, k + 2 < corners->len ? after / 2 : after));
      if (by < 0.5)
        {
          add_straight (pieces, at, *q);
          at = *q;
          continue;
        }
      by = free_radius (index, p, q, r, by);
      a = towards (q, p, by);
      b = towards (q, r, by);
      add_straight (pieces, at, a);
      arc = (StudioCurve){ { a.x, a.x + (q->x - a.x) * ARC, b.x + (q->x - b.x) * ARC, b.x },
                           { a.y, a.y + (q->y - a.y) * ARC, b.y + (q->y - b.y) * ARC, b.y } };
      g_array_append_val (pieces, arc);
      at = b;
    }
  add_straight (pieces, at, *corner (corners, corners->len - 1));
}

/* ---- queries of a curve --------------------------------------------------- */

/* A curve with control points on the line, but beyond its ends, would go there and back. */
static gboolean
is_between (double v, double a, double b)
{
  return v >= MIN (a, b) - 1e-6 && v <= MAX (a, b) + 1e-6;
}

gboolean
studio_curve_is_straight (const StudioCurve *c)
{
  double dx = c->x[3] - c->x[0], dy = c->y[3] - c->y[0];

  for (int i = 1; i < 3; i++)
    if (fabs ((c->x[i] - c->x[0]) * dy - (c->y[i] - c->y[0]) * dx) > 1e-6 || !is_between (c->x[i], c->x[0], c->x[3])
        || !is_between (c->y[i], c->y[0], c->y[3]))
      return FALSE;
  return TRUE;
}

double
studio_route_distance (const StudioRoute *route, double x, double y)
{
  double best = G_MAXDOUBLE;

  for (guint i = 0; i < route->n_pieces; i++)
    best = MIN (best, studio_curve_distance (&route->piece[i], x, y));
  return best;
}

static double
curve_length (const StudioCurve *c)
{
  double length = 0, px = c->x[0], py = c->y[0];

  if (studio_curve_is_straight (c))
    return hypot (c->x[3] - px, c->y[3] - py);
  for (guint i = 1; i <= 8; i++)
    {
      double x, y;

      studio_curve_at (c, i / 8.0, &x, &y);
      length += hypot (x - px, y - py);
      px = x;
      py = y;
    }
  return length;
}

void
studio_route_at (const StudioRoute *route, double share, double *x, double *y)
{
  double total = 0, left;

  for (guint i = 0; i < route->n_pieces; i++)
    total += curve_length (&route->piece[i]);
  left = total * CLAMP (share, 0, 1);
  for (guint i = 0; i < route->n_pieces; i++)
    {
      double length = curve_length (&route->piece[i]);

      if (left <= length || i + 1 == route->n_pieces)
        {
          studio_curve_at (&route->piece[i], length > 0 ? MIN (left / length, 1) : 0, x, y);
          return;
        }
      left -= length;
    }
  *x = *y = 0;
}

static gboolean
curve_meets (const StudioCurve *c, const StudioRect *rect)
{
  enum
  {
    STEPS = 24
  };
  StudioRect bounds = studio_curve_bounds (c);
  double ax = c->x[0], ay = c->y[0];
  int steps = studio_curve_is_straight (c) && (bounds.width == 0 || bounds.height == 0) ? 1 : STEPS;

  /* A horizontal segment would have no height to intersect anything. */
  bounds.width += 1e-3;
  bounds.height += 1e-3;
  if (!studio_rect_intersects (&bounds, rect))
    return FALSE;
  for (int i = 1; i <= steps; i++)
    {
      StudioRect piece;
      double bx, by;

      studio_curve_at (c, i / (double)steps, &bx, &by);
      piece = studio_rect_between (ax, ay, bx, by);
      piece.width += 1e-3;
      piece.height += 1e-3;
      if (studio_rect_intersects (&piece, rect))
        return TRUE;
      ax = bx;
      ay = by;
    }
  return FALSE;
}

gboolean
studio_route_intersects (const StudioRoute *route, const StudioRect *rect)
{
  for (guint i = 0; i < route->n_pieces; i++)
    if (curve_meets (&route->piece[i], rect))
      return TRUE;
  return FALSE;
}
