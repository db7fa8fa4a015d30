#include "ui/scene/studio-map.h"

#include <math.h>

#define MARGIN       6.0
#define LEAST_SIDE   48.0
#define LEAST_ROOM   440.0 /* below this width, the canvas is too small for a map */
#define LEAST_ROOM_Y 300.0
#define MOST_SHARE   (1 / 3.0)

StudioRect
studio_map_bounds (const StudioScene *scene)
{
  StudioRect all = { 0, 0, 0, 0 };
  gboolean any = FALSE;

  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      StudioRect card = studio_geometry_extent (item);

      if (item->hanging > 0)
        card = studio_rect_union (card, studio_geometry_with_pins (item));
      all = any ? studio_rect_union (all, card) : card;
      any = TRUE;
    }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      const StudioAnnotation *a = &scene->annotation[i];
      const StudioRect rect = { a->x, a->y, a->width, a->height };

      all = any ? studio_rect_union (all, rect) : rect;
      any = TRUE;
    }
  return all;
}

static gboolean
has_space (const StudioView *view)
{
  return view->width >= LEAST_ROOM && view->height >= LEAST_ROOM_Y;
}

static double
most_width (const StudioView *view, double larger)
{
  return MIN (STUDIO_MAP_WIDTH * MIN (larger, 1.6), MAX (view->width * MOST_SHARE, LEAST_SIDE));
}

double
studio_map_room (const StudioView *view, double larger)
{
  return has_space (view) ? ceil (most_width (view, larger)) : 0;
}

void
studio_map_init (StudioMap *map, const StudioRect *bounds, double larger, const StudioView *view)
{
  /* On a small canvas the map must not cover too much of the graph. */
  double most_w = most_width (view, larger);
  double most_h = MIN (STUDIO_MAP_HEIGHT * MIN (larger, 1.6), MAX (view->height * MOST_SHARE, LEAST_SIDE));
  double w = MAX (bounds->width, 1), h = MAX (bounds->height, 1);

  map->bounds = *bounds;
  map->scale = MIN ((most_w - 2 * MARGIN) / w, (most_h - 2 * MARGIN) / h);
  map->width = MAX (ceil (w * map->scale + 2 * MARGIN), LEAST_SIDE);
  map->height = MAX (ceil (h * map->scale + 2 * MARGIN), LEAST_SIDE);
  map->x = (map->width - w * map->scale) / 2;
  map->y = (map->height - h * map->scale) / 2;
}

void
studio_map_to_map (const StudioMap *map, double x, double y, double *mx, double *my)
{
  *mx = map->x + (x - map->bounds.x) * map->scale;
  *my = map->y + (y - map->bounds.y) * map->scale;
}

void
studio_map_to_canvas (const StudioMap *map, double mx, double my, double *x, double *y)
{
  *x = map->bounds.x + (mx - map->x) / map->scale;
  *y = map->bounds.y + (my - map->y) / map->scale;
}

StudioRect
studio_map_rect (const StudioMap *map, const StudioRect *rect)
{
  StudioRect r = { 0, 0, rect->width * map->scale, rect->height * map->scale };

  studio_map_to_map (map, rect->x, rect->y, &r.x, &r.y);
  return r;
}

StudioRect
studio_map_visible (const StudioMap *map, const StudioView *view)
{
  StudioRect seen = studio_view_visible (view), r = studio_map_rect (map, &seen);
  double x1 = CLAMP (r.x + r.width, 2, map->width), y1 = CLAMP (r.y + r.height, 2, map->height);

  r.x = CLAMP (r.x, 0, map->width - 2);
  r.y = CLAMP (r.y, 0, map->height - 2);
  r.width = MAX (x1 - r.x, 2);
  r.height = MAX (y1 - r.y, 2);
  return r;
}

gboolean
studio_map_is_needed (const StudioRect *bounds, const StudioView *view)
{
  StudioRect seen = studio_view_visible (view);

  if (bounds->width <= 0 || !has_space (view))
    return FALSE;
  return bounds->x < seen.x || bounds->y < seen.y || bounds->x + bounds->width > seen.x + seen.width
         || bounds->y + bounds->height > seen.y + seen.height;
}

gboolean
studio_map_covers_pin (const StudioMap *map, const StudioScene *scene, const StudioView *view, double edge)
{
  StudioRect place = { 0, 0, map->width / view->zoom, map->height / view->zoom };

  studio_view_to_canvas (view, view->width - edge - map->width, view->height - edge - map->height, &place.x, &place.y);
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioRect pins = studio_geometry_pins (&scene->item[i]);

      if (pins.width > 0 && studio_rect_intersects (&pins, &place))
        return TRUE;
    }
  return FALSE;
}

void
studio_map_press (const StudioMap *map, const StudioView *view, double mx, double my, StudioMapDrag *drag)
{
  StudioRect seen = studio_map_visible (map, view), all = studio_view_visible (view);
  double x, y;

  studio_map_to_canvas (map, mx, my, &x, &y);
  *drag = (StudioMapDrag){ 0, 0 };
  if (mx < seen.x || my < seen.y || mx > seen.x + seen.width || my > seen.y + seen.height)
    return;
  drag->dx = all.x + all.width / 2 - x;
  drag->dy = all.y + all.height / 2 - y;
}

void
studio_map_move (const StudioMap *map, const StudioMapDrag *drag, double mx, double my, StudioView *view)
{
  double x, y;

  studio_map_to_canvas (map, mx, my, &x, &y);
  x = CLAMP (x + drag->dx, map->bounds.x, map->bounds.x + map->bounds.width);
  y = CLAMP (y + drag->dy, map->bounds.y, map->bounds.y + map->bounds.height);
  view->x = x - view->width / view->zoom / 2;
  view->y = y - view->height / view->zoom / 2;
}
