/* Finds a position for one new card after or before another without changing the rest of the layout, so that the user
 * finds the other cards where they were. */
#include "ui/layout/layout-private.h"

#include <math.h>

#include "ui/scene/studio-flow.h"

/* TRUE if a card is in the space that another one keeps free around it: a channel on either side, and a grid step above
 * and below. */
static gboolean
is_in_the_way (const StudioRect *card, const StudioRect *other)
{
  return card->x < other->x + other->width + LAYOUT_CHANNEL && other->x < card->x + card->width + LAYOUT_CHANNEL
         && card->y < other->y + other->height + STUDIO_SNAP && other->y < card->y + card->height + STUDIO_SNAP;
}

static StudioRect
rect_of (const StudioScene *scene, const double *dx, guint i)
{
  StudioRect r = studio_geometry_with_pins (&scene->item[i]);

  r.x += dx[i];
  return r;
}

typedef struct
{
  StudioRect rect;
  guint item;
} Pusher;

/* Moves cards that overlap this rectangle to the right, then cards that overlap those, and so on. */
static void
push (const StudioScene *scene, const StudioRect *by, guint fixed, double *dx)
{
  g_autoptr (GArray) pushing = g_array_new (FALSE, FALSE, sizeof (Pusher));
  Pusher first = { *by, fixed };

  g_array_append_val (pushing, first);
  for (guint k = 0; k < pushing->len && k < 4 * scene->n_items + 4; k++)
    {
      Pusher here = g_array_index (pushing, Pusher, k);

      for (guint i = 0; i < scene->n_items; i++)
        {
          Pusher there = { rect_of (scene, dx, i), i };

          /* Only to the right: a card further left is a neighbour and does not move. */
          if (i == fixed || i == here.item || there.rect.x + there.rect.width / 2 < here.rect.x
              || !is_in_the_way (&here.rect, &there.rect))
            continue;
          dx[i] += layout_snap_up (here.rect.x + here.rect.width + LAYOUT_CHANNEL - there.rect.x);
          there.rect = rect_of (scene, dx, i);
          g_array_append_val (pushing, there);
        }
    }
}

static void
place_new (const StudioScene *scene, guint anchor, gboolean before, double width, double height, double across,
           double *x, double *y, double *dx)
{
  const StudioItem *item = &scene->item[anchor];
  StudioRect place;

  for (guint i = 0; i < scene->n_items; i++)
    dx[i] = 0;
  place = (StudioRect){ before ? item->x - LAYOUT_CHANNEL - width : item->x + item->width + LAYOUT_CHANNEL, across,
                        width, height };
  if (before)
    {
      gboolean is_free = TRUE;

      for (guint i = 0; i < scene->n_items && is_free; i++)
        {
          StudioRect there = rect_of (scene, dx, i);

          is_free = i == anchor || !is_in_the_way (&place, &there);
        }
      if (!is_free)
        {
          /* The new card takes the position of this card, which moves on. */
          place.x = item->x;
          push (scene, &place, STUDIO_NO_ITEM, dx);
        }
    }
  else
    push (scene, &place, anchor, dx);
  *x = place.x;
  *y = place.y;
}

void
studio_layout_place_new (const StudioScene *scene, guint anchor, gboolean before, double width, double height,
                         double across, double *x, double *y, double *by)
{
  StudioScene *mirrored;

  if (scene->flow == STUDIO_FLOW_RIGHT)
    {
      place_new (scene, anchor, before, width, height, across, x, y, by);
      return;
    }
  mirrored = studio_scene_copy_places (scene, TRUE);
  place_new (mirrored, anchor, before, height, width, across, y, x, by);
  studio_scene_free_places (mirrored);
}

void
studio_layout_make_space (const StudioScene *scene, guint item, double more, double *by)
{
  /* The mirrored graph runs right, so below is to the right. */
  StudioScene *places = studio_scene_copy_places (scene, FALSE), *mirrored = NULL, *along = places;
  StudioRect room;

  for (guint i = 0; i < scene->n_items; i++)
    by[i] = 0;
  places->item[item].hanging += more;
  if (scene->flow == STUDIO_FLOW_RIGHT)
    along = mirrored = studio_scene_copy_places (places, TRUE);
  room = rect_of (along, by, item);
  /* Pins next to a card are higher than the card, but there is space below the card itself. */
  if (scene->flow == STUDIO_FLOW_DOWN)
    room = (StudioRect){ room.x + scene->item[item].width, room.y, room.width - scene->item[item].width,
                         places->item[item].hanging };
  push (along, &room, item, by);
  studio_scene_free_places (mirrored);
  studio_scene_free_places (places);
}
