/* Computes the sizes of cards and notes, the positions of ports, and free positions. */
#include "ui/scene/studio-geometry.h"
#include "ui/scene/studio-routes.h"

#include <math.h>
#include <stdlib.h>

StudioDetail
studio_geometry_detail (double zoom)
{
  return zoom >= STUDIO_ZOOM_DETAIL  ? STUDIO_DETAIL_ALL
         : zoom >= STUDIO_ZOOM_NAMES ? STUDIO_DETAIL_NAMES
                                     : STUDIO_DETAIL_BLOCKS;
}

/* The size of names, in pixels at zoom 1. */
#define USUAL_TEXT (40 / 3.0)
#define LEAST_TEXT 12.0
/* Two lines of larger text would exceed the lower edge of the card. */
#define MOST_SCALE 1.7

double
studio_geometry_text_scale (double zoom, double larger)
{
  static const double steps[] = { 1, 1.15, 1.3, 1.5, MOST_SCALE };
  double wanted = MAX (LEAST_TEXT / (USUAL_TEXT * zoom), larger / MAX (zoom, 1));

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    if (steps[i] >= wanted - 1e-9)
      return steps[i];
  return MOST_SCALE;
}

double
studio_geometry_readable_zoom (double larger)
{
  return CLAMP (larger, 1, 2) * LEAST_TEXT / (USUAL_TEXT * MOST_SCALE);
}

gboolean
studio_geometry_is_named (const StudioItem *item, double zoom)
{
  return item->is_module || item->is_frame || studio_geometry_detail (zoom) != STUDIO_DETAIL_BLOCKS;
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

StudioRect
studio_geometry_card (const StudioItem *item)
{
  return (StudioRect){ item->x, item->y, item->width, item->height };
}

/* Pins are at least as wide as the card above them, or as a card next to it. */
static double
pins_width (const StudioItem *item)
{
  return MAX (item->flow == STUDIO_FLOW_DOWN ? STUDIO_CARD_WIDTH : item->width, item->hanging_width);
}

StudioRect
studio_geometry_with_pins (const StudioItem *item)
{
  if (item->hanging > 0 && item->flow == STUDIO_FLOW_DOWN)
    return (StudioRect){ item->x, item->y, item->width + STUDIO_FAULT_GAP + pins_width (item),
                         MAX (item->height, item->hanging) };
  return (StudioRect){ item->x, item->y, item->hanging > 0 ? pins_width (item) : item->width,
                       item->height + item->hanging };
}

StudioRect
studio_geometry_pins (const StudioItem *item)
{
  if (item->hanging <= 0)
    return (StudioRect){ item->x, item->y + item->height, 0, 0 };
  if (item->flow == STUDIO_FLOW_DOWN)
    return (StudioRect){ item->x + item->width + STUDIO_FAULT_GAP, item->y, pins_width (item), item->hanging };
  return (StudioRect){ item->x, item->y + item->height, pins_width (item), item->hanging };
}

double
studio_geometry_pin_height (double height)
{
  /* Text keeps its size when the canvas is zoomed out, so it needs more space in canvas units. */
  const double words = 1.4;

  return STUDIO_FAULT_GAP + round (words * CLAMP (height, 24, 600));
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

/* A single wire close to the cards may run in the margin around them; several wires, or a distant one, may not. */
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

StudioRect
studio_geometry_bounds_with_pins (const StudioScene *scene)
{
  StudioRect r = studio_geometry_bounds (scene);

  for (guint i = 0; i < scene->n_items; i++)
    if (scene->item[i].hanging > 0)
      r = studio_rect_union (r, studio_geometry_with_pins (&scene->item[i]));
  return r;
}

/* The distance of port k of n from the corner of a side of this length: ports are close together in the middle, and
 * closer if the side is short. */
static double
port_on_side (double side, guint n, guint k)
{
  double step = MIN (STUDIO_PORT_STEP, (side - STUDIO_CARD_MARGIN) / MAX (n, 1));

  return side / 2 + (k - (n - 1.0) / 2) * step;
}

void
studio_geometry_port (const StudioItem *item, gboolean is_output, guint port, double *x, double *y)
{
  guint n = is_output ? item->n_outputs : item->n_inputs;
  gboolean down = item->flow == STUDIO_FLOW_DOWN;

  if (!is_output && port >= n)
    {
      /* Ports of offered weights are on an edge without ports, so that the inputs need not move. */
      *x = item->x + (down ? item->width : STUDIO_PORT_STEP * (port - n + 1.5));
      *y = item->y + (down ? port_on_side (item->height, item->n_offered - n, port - n) : item->height);
      return;
    }
  if (down)
    {
      *x = item->x + port_on_side (item->width, n, port);
      *y = item->y + (is_output ? item->height : 0);
      return;
    }
  *x = item->x + (is_output ? item->width : 0);
  /* At the height of the text, so that wires between cards with and without figures are horizontal. */
  *y = item->y + port_on_side (item->height - item->figure_height, n, port);
}

gboolean
studio_geometry_search (double *x, double *y, guint rings, StudioPlaceTest test, gconstpointer data)
{
  const double x0 = *x, y0 = *y;

  for (int ring = 0; ring <= (int)rings; ring++)
    {
      int nearest = G_MAXINT;

      for (int dy = ring; dy >= -ring; dy--)
        for (int dx = ring; dx >= -ring; dx -= abs (dy) == ring || ring == 0 ? 1 : 2 * ring)
          if (dx * dx + dy * dy < nearest && test (x0 + dx * STUDIO_SNAP, y0 + dy * STUDIO_SNAP, data))
            {
              nearest = dx * dx + dy * dy;
              *x = x0 + dx * STUDIO_SNAP;
              *y = y0 + dy * STUDIO_SNAP;
            }
      if (nearest < G_MAXINT)
        return TRUE;
    }
  return FALSE;
}

typedef struct
{
  const StudioScene *scene;
  const StudioRoute *route;
} Occupied;

static gboolean
is_free (double x, double y, gconstpointer data)
{
  const Occupied *by = data;
  const StudioScene *scene = by->scene;
  const StudioRoute *route = by->route;
  /* A new card is not wired yet, and its fault takes two lines below it. */
  StudioRect place = { x - 6, y - 6, STUDIO_CARD_WIDTH + 12, STUDIO_CARD_HEIGHT + STUDIO_FAULT_GAP + 44 + 12 };

  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect card = studio_geometry_with_pins (&scene->item[i]), fault = studio_geometry_fault (&scene->item[i]);

      if (studio_rect_intersects (&card, &place) || (fault.height > 0 && studio_rect_intersects (&fault, &place)))
        return FALSE;
    }
  /* A card on another's wire would look as if it were wired. */
  place.height = STUDIO_CARD_HEIGHT + 12;
  for (guint l = 0; l < scene->n_links; l++)
    if (studio_rect_intersects (&route[l].bounds, &place) && studio_route_intersects (&route[l], &place))
      return FALSE;
  return TRUE;
}

void
studio_geometry_free_place (const StudioScene *scene, double *x, double *y)
{
  enum
  {
    RINGS = 200
  };
  const Occupied by = { scene, studio_scene_routes (scene) };

  *x = studio_geometry_snap (*x);
  *y = studio_geometry_snap (*y);
  studio_geometry_search (x, y, RINGS, is_free, &by);
}
