/* Canvas arithmetic: views, cards, curves, hit testing, and the arrow keys' neighbours. */
#include "ui/scene/studio-geometry.h"
#include "ui/scene/studio-routes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
studio_view_to_screen (const StudioView *view, double x, double y, double *sx, double *sy)
{
  *sx = (x - view->x) * view->zoom;
  *sy = (y - view->y) * view->zoom;
}

void
studio_view_to_canvas (const StudioView *view, double sx, double sy, double *x, double *y)
{
  *x = view->x + sx / view->zoom;
  *y = view->y + sy / view->zoom;
}

StudioRect
studio_view_visible (const StudioView *view)
{
  return (StudioRect){ view->x, view->y, view->width / view->zoom, view->height / view->zoom };
}

void
studio_view_zoom_at (StudioView *view, double zoom, double sx, double sy)
{
  double x, y;

  studio_view_to_canvas (view, sx, sy, &x, &y);
  view->zoom = CLAMP (zoom, STUDIO_ZOOM_MIN, STUDIO_ZOOM_MAX);
  view->x = x - sx / view->zoom;
  view->y = y - sy / view->zoom;
}

/* Up to this height of the canvas, in pixels, nothing is shown larger than life. */
#define LIFE_SIZE_HEIGHT 1000.0

void
studio_view_fit (StudioView *view, const StudioRect *bounds)
{
  const double margin = 24;
  double room_w = MAX (view->width - 2 * margin, 1), room_h = MAX (view->height - 2 * margin, 1);
  /* On a very large canvas a small graph need not be a stamp in the middle. */
  double zoom = CLAMP (view->height / LIFE_SIZE_HEIGHT, 1, 2);

  if (bounds->width > 0 && bounds->height > 0)
    zoom = MIN (zoom, MIN (room_w / bounds->width, room_h / bounds->height));
  view->zoom = CLAMP (zoom, STUDIO_ZOOM_MIN, STUDIO_ZOOM_MAX);
  view->x = bounds->x + bounds->width / 2 - view->width / 2 / view->zoom;
  view->y = bounds->y + bounds->height / 2 - view->height / 2 / view->zoom;
}

gboolean
studio_view_reveal (StudioView *view, const StudioRect *rect)
{
  const double margin = 24 / view->zoom;
  StudioRect seen = studio_view_visible (view);
  double x = view->x, y = view->y;

  if (rect->x + rect->width + margin > x + seen.width)
    x = rect->x + rect->width + margin - seen.width;
  if (rect->x - margin < x)
    x = rect->x - margin;
  if (rect->y + rect->height + margin > y + seen.height)
    y = rect->y + rect->height + margin - seen.height;
  if (rect->y - margin < y)
    y = rect->y - margin;
  if (x == view->x && y == view->y)
    return FALSE;
  view->x = x;
  view->y = y;
  return TRUE;
}

StudioDetail
studio_geometry_detail (double zoom)
{
  return zoom >= STUDIO_ZOOM_DETAIL  ? STUDIO_DETAIL_ALL
         : zoom >= STUDIO_ZOOM_NAMES ? STUDIO_DETAIL_NAMES
                                     : STUDIO_DETAIL_BLOCKS;
}

double
studio_geometry_text_scale (double zoom, double larger)
{
  /* Two lines of more than the last would leave the card at its lower edge. */
  static const double steps[] = { 1, 1.25, 1.5, 1.7 };
  const double usual = 40 / 3.0, least = 10;
  double wanted = MAX (least / (usual * zoom), larger / MAX (zoom, 1));

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    if (steps[i] >= wanted - 1e-9)
      return steps[i];
  return steps[G_N_ELEMENTS (steps) - 1];
}

gboolean
studio_geometry_is_named (const StudioItem *item, double zoom)
{
  return item->is_module || studio_geometry_detail (zoom) != STUDIO_DETAIL_BLOCKS;
}

double
studio_geometry_snap (double v)
{
  return STUDIO_SNAP * floor (v / STUDIO_SNAP + 0.5);
}

gboolean
studio_rect_intersects (const StudioRect *a, const StudioRect *b)
{
  return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

StudioRect
studio_rect_between (double x0, double y0, double x1, double y1)
{
  return (StudioRect){ MIN (x0, x1), MIN (y0, y1), fabs (x1 - x0), fabs (y1 - y0) };
}

StudioRect
studio_rect_union (StudioRect a, StudioRect b)
{
  double x = MIN (a.x, b.x), y = MIN (a.y, b.y);

  return (StudioRect){ x, y, MAX (a.x + a.width, b.x + b.width) - x, MAX (a.y + a.height, b.y + b.height) - y };
}

static gboolean
rect_contains (StudioRect r, double x, double y)
{
  return x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height;
}

StudioRect
studio_geometry_card (const StudioItem *item)
{
  return (StudioRect){ item->x, item->y, item->width, item->height };
}

StudioRect
studio_geometry_figure (const StudioItem *item)
{
  const double side = 12, below = 8;

  if (item->figure_height <= 0)
    return (StudioRect){ item->x, item->y + item->height, 0, 0 };
  return (StudioRect){ item->x + side, item->y + item->height - item->figure_height, item->width - 2 * side,
                       item->figure_height - below };
}

StudioRect
studio_geometry_extent (const StudioItem *item)
{
  StudioRect r = studio_geometry_card (item), fault = studio_geometry_fault (item);

  if (fault.height > 0)
    r = studio_rect_union (r, fault);
  r.x -= STUDIO_CARD_MARGIN;
  r.y -= STUDIO_CARD_MARGIN;
  r.width += 2 * STUDIO_CARD_MARGIN;
  r.height += 2 * STUDIO_CARD_MARGIN;
  return r;
}

void
studio_geometry_note_size (const char *text, double *width, double *height)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  double n = 0;

  for (guint i = 0; lines[i] != NULL; i++)
    n += MAX (1, ceil (g_utf8_strlen (lines[i], -1) / 26.0));
  *width = STUDIO_NOTE_WIDTH;
  *height = 16 + 17 * CLAMP (n, 1, 40);
}

gboolean
studio_geometry_is_within (const StudioAnnotation *frame, double x, double y, double width, double height)
{
  return x >= frame->x && y >= frame->y && x + width <= frame->x + frame->width
         && y + height <= frame->y + frame->height;
}

/* A wire beside the cards may lie in the margin that is left around them; several, or one that goes further, may not.
 */
#define IN_MARGIN 16.0

static StudioRect
with_wires (const StudioScene *scene, StudioRect r)
{
  const StudioRoute *route = studio_scene_routes (scene);

  for (guint l = 0; l < scene->n_links; l++)
    {
      StudioRect b = { route[l].bounds.x + IN_MARGIN, route[l].bounds.y + IN_MARGIN,
                       route[l].bounds.width - 2 * IN_MARGIN, route[l].bounds.height - 2 * IN_MARGIN };

      if (b.width > 0 && b.height > 0)
        r = studio_rect_union (r, b);
    }
  return r;
}

StudioRect
studio_geometry_bounds (const StudioScene *scene)
{
  StudioRect r = { 0, 0, 0, 0 };

  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect e = studio_geometry_extent (&scene->item[i]);

      r = i == 0 ? e : studio_rect_union (r, e);
    }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      const StudioAnnotation *m = &scene->annotation[i];
      StudioRect e = { m->x, m->y, m->width, m->height };

      r = i == 0 && scene->n_items == 0 ? e : studio_rect_union (r, e);
    }
  return with_wires (scene, r);
}

void
studio_geometry_port (const StudioItem *item, gboolean is_output, guint port, double *x, double *y)
{
  guint n = is_output ? item->n_outputs : item->n_inputs;

  if (!is_output && port >= n)
    {
      /* Weights that are offered stand at the lower edge, so that the inputs need not move for them. */
      *x = item->x + STUDIO_PORT_STEP * (port - n + 1.5);
      *y = item->y + item->height;
      return;
    }
  *x = item->x + (is_output ? item->width : 0);
  /* In the middle of the words, so that a row of cards with and without figures has level wires. */
  *y = item->y + (item->height - item->figure_height) / 2 + (port - (n - 1.0) / 2) * STUDIO_PORT_STEP;
}

StudioCurve
studio_geometry_curve (double x0, double y0, double x1, double y1)
{
  /* A wire that goes back swings out further, so that it stays readable beside the cards. */
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
  /* The hull of the control points holds the curve. */
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

/* Which side of the line from a to b the point is on. */
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

static StudioHit
hit_ports (const StudioScene *scene, const StudioView *view, gboolean is_output, gboolean offered, double sx, double sy)
{
  StudioHit best = { STUDIO_HIT_NOTHING, STUDIO_NO_ITEM, STUDIO_NO_ITEM };
  double x, y, reach = STUDIO_PORT_STEP / 2 / view->zoom, nearest = G_MAXDOUBLE;

  studio_view_to_canvas (view, sx, sy, &x, &y);
  for (guint i = scene->n_items; i-- > 0;)
    {
      const StudioItem *item = &scene->item[i];
      guint n = is_output ? item->n_outputs : offered ? item->n_offered : item->n_inputs;
      double edge = item->x + (is_output ? item->width : 0), right = n > item->n_inputs ? item->width : 0;

      if (n == 0 || x < edge - reach || x > edge + reach + (is_output ? 0 : right) || y < item->y - reach
          || y > item->y + item->height + reach)
        continue;
      for (guint p = 0; p < n; p++)
        {
          double px, py, d;

          studio_geometry_port (item, is_output, p, &px, &py);
          if (fabs (x - px) > reach || fabs (y - py) > reach)
            continue;
          d = hypot (x - px, y - py);
          if (d < nearest)
            {
              nearest = d;
              best = (StudioHit){ is_output ? STUDIO_HIT_OUTPUT : STUDIO_HIT_INPUT, i, p };
            }
        }
    }
  return best;
}

StudioHit
studio_geometry_hit_port (const StudioScene *scene, const StudioView *view, gboolean is_output, double sx, double sy)
{
  return hit_ports (scene, view, is_output, TRUE, sx, sy);
}

/* The nearest point that a wire is led through. */
static StudioHit
hit_point (const StudioScene *scene, double x, double y, double nearest)
{
  StudioHit best = { STUDIO_HIT_NOTHING, STUDIO_NO_ITEM, STUDIO_NO_ITEM };

  for (guint l = 0; l < scene->n_links; l++)
    for (guint k = 0; k < scene->link[l].n_points; k++)
      {
        double d = hypot (x - scene->link[l].point[k].x, y - scene->link[l].point[k].y);

        if (d <= nearest)
          {
            nearest = d;
            best = (StudioHit){ STUDIO_HIT_LINK, l, k };
          }
      }
  return best;
}

StudioHit
studio_geometry_hit (const StudioScene *scene, const StudioView *view, double sx, double sy)
{
  double x, y;

  /* Where cards are too small to show ports, a press means the card. */
  if (view->zoom >= STUDIO_ZOOM_DETAIL)
    {
      StudioHit out = hit_ports (scene, view, TRUE, FALSE, sx, sy);
      StudioHit in = hit_ports (scene, view, FALSE, FALSE, sx, sy);

      if (out.kind != STUDIO_HIT_NOTHING)
        return out;
      if (in.kind != STUDIO_HIT_NOTHING)
        return in;
    }
  studio_view_to_canvas (view, sx, sy, &x, &y);
  for (guint i = scene->n_items; i-- > 0;)
    {
      if (view->zoom >= STUDIO_ZOOM_DETAIL && rect_contains (studio_geometry_fix_button (&scene->item[i]), x, y))
        return (StudioHit){ STUDIO_HIT_FIX, i, STUDIO_NO_ITEM };
      if (rect_contains (studio_geometry_card (&scene->item[i]), x, y))
        return (StudioHit){ STUDIO_HIT_CARD, i, STUDIO_NO_ITEM };
    }

  double nearest = 6 / view->zoom;
  StudioHit best = hit_point (scene, x, y, STUDIO_POINT_REACH / view->zoom);
  const StudioRoute *route = studio_scene_routes (scene);
  if (best.kind != STUDIO_HIT_NOTHING)
    return best;
  for (guint i = 0; i < scene->n_links; i++)
    {
      StudioRect r = route[i].bounds;
      double d;

      if (x < r.x - nearest || x > r.x + r.width + nearest || y < r.y - nearest || y > r.y + r.height + nearest)
        continue;
      d = studio_route_distance (&route[i], x, y);
      if (d <= nearest)
        {
          nearest = d;
          best = (StudioHit){ STUDIO_HIT_LINK, i, STUDIO_NO_ITEM };
        }
    }
  if (best.kind != STUDIO_HIT_NOTHING)
    return best;
  for (guint i = scene->n_annotations; i-- > 0;)
    {
      const StudioAnnotation *m = &scene->annotation[i];
      double edge = 5 / view->zoom;
      StudioRect outer = { m->x - edge / 2, m->y - edge / 2, m->width + edge, m->height + edge };
      StudioRect inner
          = { m->x + edge, m->y + STUDIO_FRAME_TITLE, m->width - 2 * edge, m->height - STUDIO_FRAME_TITLE - edge };

      if (rect_contains (outer, x, y) && (m->is_note || !rect_contains (inner, x, y)))
        return (StudioHit){ STUDIO_HIT_ANNOTATION, i, STUDIO_NO_ITEM };
    }
  return best;
}

/* Distance along the direction plus twice the distance across it: a card straight ahead wins over a nearer one aside.
 */
static guint
nearest_in_direction (const StudioScene *scene, guint from, StudioDirection direction)
{
  const StudioItem *a = &scene->item[from];
  guint best = STUDIO_NO_ITEM;
  double least = G_MAXDOUBLE;

  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *b = &scene->item[i];
      double dx = b->x + b->width / 2 - a->x - a->width / 2, dy = b->y + b->height / 2 - a->y - a->height / 2;
      double along = direction == STUDIO_LEFT    ? -dx
                     : direction == STUDIO_RIGHT ? dx
                     : direction == STUDIO_UP    ? -dy
                                                 : dy;
      double across = direction == STUDIO_LEFT || direction == STUDIO_RIGHT ? fabs (dy) : fabs (dx);
      double cost = along + 2 * across;

      if (i != from && along > 1 && cost < least)
        {
          least = cost;
          best = i;
        }
    }
  return best;
}

guint
studio_geometry_neighbour (const StudioScene *scene, guint item, StudioDirection direction)
{
  guint best = STUDIO_NO_ITEM;
  double least = G_MAXDOUBLE;

  if (item >= scene->n_items)
    return STUDIO_NO_ITEM;
  if (direction == STUDIO_LEFT || direction == STUDIO_RIGHT)
    for (guint i = 0; i < scene->n_links; i++)
      {
        const StudioLink *l = &scene->link[i];
        guint here = direction == STUDIO_RIGHT ? l->from : l->to, there = direction == STUDIO_RIGHT ? l->to : l->from;
        double d;

        if (here != item)
          continue;
        /* The first port's wire first: it carries the main stream. */
        d = (direction == STUDIO_RIGHT ? l->output : l->input) * 1e4
            + fabs (scene->item[there].y - scene->item[item].y);
        if (d < least)
          {
            least = d;
            best = there;
          }
      }
  return best != STUDIO_NO_ITEM ? best : nearest_in_direction (scene, item, direction);
}

static gboolean
is_free (const StudioScene *scene, const StudioRoute *route, double x, double y)
{
  /* A new card is not wired yet, and its fault takes two lines below it. */
  StudioRect place = { x - 6, y - 6, STUDIO_CARD_WIDTH + 12, STUDIO_CARD_HEIGHT + STUDIO_FAULT_GAP + 44 + 12 };

  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect card = studio_geometry_card (&scene->item[i]), fault = studio_geometry_fault (&scene->item[i]);

      if (studio_rect_intersects (&card, &place) || (fault.height > 0 && studio_rect_intersects (&fault, &place)))
        return FALSE;
    }
  /* A card on a wire that it has no part in looks as if it were wired. */
  place.height = STUDIO_CARD_HEIGHT + 12;
  for (guint l = 0; l < scene->n_links; l++)
    if (studio_rect_intersects (&route[l].bounds, &place) && studio_route_meets (&route[l], &place))
      return FALSE;
  return TRUE;
}

/* Squares around the wish, one snap larger each time: of the first that holds a free place the nearest is taken, and
 * of equals the one to the right or below, which is where graphs grow. */
void
studio_geometry_free_place (const StudioScene *scene, double *x, double *y)
{
  enum
  {
    RINGS = 200
  };
  double x0 = studio_geometry_snap (*x), y0 = studio_geometry_snap (*y);
  const StudioRoute *route = studio_scene_routes (scene);

  *x = x0;
  *y = y0;
  if (is_free (scene, route, x0, y0))
    return;
  for (int ring = 1; ring <= RINGS; ring++)
    {
      int nearest = G_MAXINT;

      for (int dy = ring; dy >= -ring; dy--)
        for (int dx = ring; dx >= -ring; dx -= abs (dy) == ring ? 1 : 2 * ring)
          if (dx * dx + dy * dy < nearest && is_free (scene, route, x0 + dx * STUDIO_SNAP, y0 + dy * STUDIO_SNAP))
            {
              nearest = dx * dx + dy * dy;
              *x = x0 + dx * STUDIO_SNAP;
              *y = y0 + dy * STUDIO_SNAP;
            }
      if (nearest < G_MAXINT)
        return;
    }
}
