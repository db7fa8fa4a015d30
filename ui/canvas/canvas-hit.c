#include "ui/canvas/canvas-hit.h"

#include <math.h>

#include "ui/scene/studio-flow.h"
#include "ui/scene/studio-routes.h"

static gboolean
rect_contains (StudioRect r, double x, double y)
{
  return x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height;
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

      if (n == 0 || x < item->x - reach || x > item->x + item->width + reach || y < item->y - reach
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

/* The nearest waypoint of a wire. */
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

/* Whether a point is in the corner with the arrow; right and top are those of the corner. */
static gboolean
is_corner (double right, double top, const StudioView *view, double x, double y)
{
  const double side = STUDIO_FRAME_ARROW;

  return view->zoom >= STUDIO_ZOOM_DETAIL && x >= right - side - 4 && x < right - 4 && y >= top && y < top + side;
}

static gboolean
is_arrow (const StudioItem *item, const StudioView *view, double x, double y)
{
  return (item->folded || item->is_frame)
         && is_corner (item->x + item->width, item->y + (item->folded ? 4 : 0), view, x, y);
}

StudioHit
studio_geometry_hit (const StudioScene *scene, const StudioView *view, double sx, double sy)
{
  double x, y;

  /* If cards are too small to show ports, a press acts on the card. */
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
        return (StudioHit){ STUDIO_HIT_CARD, i, is_arrow (&scene->item[i], view, x, y) ? 0 : STUDIO_NO_ITEM };
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
        return (StudioHit){ STUDIO_HIT_ANNOTATION, i,
                            !m->is_note && is_corner (m->x + m->width, m->y, view, x, y) ? 0 : STUDIO_NO_ITEM };
    }
  return best;
}

/* Distance along the direction plus twice the distance across it: a card straight ahead is preferred to a nearer one
 * aside.
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
  gboolean ahead = direction == studio_flow_ahead (scene->flow);
  guint best = STUDIO_NO_ITEM;
  double least = G_MAXDOUBLE;

  if (item >= scene->n_items)
    return STUDIO_NO_ITEM;
  if (ahead || direction == studio_flow_back (scene->flow))
    for (guint i = 0; i < scene->n_links; i++)
      {
        const StudioLink *l = &scene->link[i];
        guint here = ahead ? l->from : l->to, there = ahead ? l->to : l->from;
        const StudioItem *a = &scene->item[item], *b = &scene->item[there];
        double d;

        if (here != item)
          continue;
        /* The first port's wire first: it carries the main stream. */
        d = (ahead ? l->output : l->input) * 1e4 + fabs (scene->flow == STUDIO_FLOW_DOWN ? b->x - a->x : b->y - a->y);
        if (d < least)
          {
            least = d;
            best = there;
          }
      }
  return best != STUDIO_NO_ITEM ? best : nearest_in_direction (scene, item, direction);
}
