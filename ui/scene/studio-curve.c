/* The curves of wires. */
#include "ui/scene/studio-geometry.h"

#include <math.h>

#include "ui/scene/studio-routes.h"

StudioCurve
studio_geometry_curve (double x0, double y0, double x1, double y1)
{
  /* A wire that runs backwards bends further, so that it is readable next to the cards. */
  double reach = x1 >= x0 ? (x1 - x0) / 2 : MIN ((x0 - x1) / 2 + 48, 240);
  reach = MAX (reach, MIN (48, 16 + fabs (y1 - y0) / 2));

  return (StudioCurve){ { x0, x0 + reach, x1 - reach, x1 }, { y0, y0, y1, y1 } };
}

void
studio_curve_at (const StudioCurve *c, double t, double *x, double *y)
{
  double u = 1 - t, a = u * u * u, b = 3 * u * u * t, d = 3 * u * t * t, e = t * t * t;

  *x = a * c->x[0] + b * c->x[1] + d * c->x[2] + e * c->x[3];
  *y = a * c->y[0] + b * c->y[1] + d * c->y[2] + e * c->y[3];
}

StudioRect
studio_curve_bounds (const StudioCurve *c)
{
  /* The hull of the control points contains the curve. */
  double x0 = c->x[0], x1 = c->x[0], y0 = c->y[0], y1 = c->y[0];

  for (int i = 1; i < 4; i++)
    {
      x0 = MIN (x0, c->x[i]);
      x1 = MAX (x1, c->x[i]);
      y0 = MIN (y0, c->y[i]);
      y1 = MAX (y1, c->y[i]);
    }
  return (StudioRect){ x0, y0, x1 - x0, y1 - y0 };
}

static double
segment_distance (double ax, double ay, double bx, double by, double x, double y)
{
  double dx = bx - ax, dy = by - ay, l = dx * dx + dy * dy;
  double t = l > 0 ? CLAMP (((x - ax) * dx + (y - ay) * dy) / l, 0, 1) : 0;

  return hypot (ax + t * dx - x, ay + t * dy - y);
}

double
studio_curve_distance (const StudioCurve *c, double x, double y)
{
  enum
  {
    STEPS = 24
  };
  int steps = studio_curve_is_straight (c) ? 1 : STEPS;
  double best = G_MAXDOUBLE, px = c->x[0], py = c->y[0];

  for (int i = 1; i <= steps; i++)
    {
      double qx, qy;

      studio_curve_at (c, i / (double)steps, &qx, &qy);
      best = MIN (best, segment_distance (px, py, qx, qy, x, y));
      px = qx;
      py = qy;
    }
  return best;
}

/* The side of the line from a to b on which the point is. */
static double
side (double ax, double ay, double bx, double by, double x, double y)
{
  return (bx - ax) * (y - ay) - (by - ay) * (x - ax);
}

static gboolean
curve_crosses (const StudioCurve *curve, double x0, double y0, double x1, double y1)
{
  int steps = studio_curve_is_straight (curve) ? 1 : 32;
  double px = curve->x[0], py = curve->y[0];

  for (int i = 1; i <= steps; i++)
    {
      double qx, qy;

      studio_curve_at (curve, i / (double)steps, &qx, &qy);
      if ((side (x0, y0, x1, y1, px, py) < 0) != (side (x0, y0, x1, y1, qx, qy) < 0)
          && (side (px, py, qx, qy, x0, y0) < 0) != (side (px, py, qx, qy, x1, y1) < 0))
        return TRUE;
      px = qx;
      py = qy;
    }
  return FALSE;
}

gboolean
studio_geometry_crosses (const StudioScene *scene, guint link, double x0, double y0, double x1, double y1)
{
  const StudioRoute *route = &studio_scene_routes (scene)[link];

  for (guint k = 0; k < route->n_pieces; k++)
    if (curve_crosses (&route->piece[k], x0, y0, x1, y1))
      return TRUE;
  return FALSE;
}
