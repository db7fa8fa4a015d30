/* Finds a position for one new card after or before another without changing the rest of the layout, so that the user
 * finds the other cards where they were. */
#include "ui/layout/layout-private.h"

#include <stdlib.h>

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
  double x;
  guint item;
} Standing;

static int
further_left (gconstpointer a, gconstpointer b)
{
  const Standing *p = a, *q = b;

  return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->item > q->item) - (p->item < q->item);
}

/* Whether a rectangle moves a card on. What stands further left does not stand in its way, it is its neighbour. */
static gboolean
pushes (const StudioRect *by, const StudioRect *card)
{
  return card->x + card->width / 2 >= by->x && is_in_the_way (by, card);
}

/* How far a card, which stands at `there`, moves on from a rectangle and from the cards before it that have moved. */
static double
moved_by (const StudioScene *scene, const StudioRect *by, const Standing *before, guint n_before, StudioRect there,
          const double *dx)
{
  const double x = there.x;
  gboolean again = TRUE;

  while (again)
    {
      again = FALSE;
      if (pushes (by, &there))
        {
          there.x += layout_snap_up (by->x + by->width + LAYOUT_CHANNEL - there.x);
          again = TRUE;
        }
      for (guint k = 0; k < n_before; k++)
        {
          const StudioRect other = rect_of (scene, dx, before[k].item);

          if (dx[before[k].item] <= 0 || !is_in_the_way (&other, &there))
            continue;
          there.x += layout_snap_up (other.x + other.width + LAYOUT_CHANNEL - there.x);
          again = TRUE;
        }
    }
  return there.x - x;
}

/* Moves whatever is in the way of this rectangle to the right, and what is then in its way, and so on. From left to
 * right, so that cards keep their order and each moves no further than it must. */
static void
push (const StudioScene *scene, const StudioRect *by, guint fixed, double *dx)
{
  g_autofree Standing *standing = g_new (Standing, scene->n_items + 1);
  guint n = 0;

  for (guint i = 0; i < scene->n_items; i++)
    if (i != fixed)
      standing[n++] = (Standing){ rect_of (scene, dx, i).x, i };
  qsort (standing, n, sizeof *standing, further_left);
  for (guint k = 0; k < n; k++)
    dx[standing[k].item] += moved_by (scene, by, standing, k, rect_of (scene, dx, standing[k].item), dx);
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

/* Moves cards of the item's own row on, if its pins become wider than itself. */
static void
widen (const StudioScene *places, guint item, double *dx)
{
  const StudioRect whole = studio_geometry_with_pins (&places->item[item]);
  const double width = places->item[item].width;
  const StudioRect beyond = { whole.x + width, whole.y, whole.width - width, places->item[item].height };

  if (beyond.width > 0)
    push (places, &beyond, item, dx);
  for (guint i = 0; i < places->n_items; i++)
    places->item[i].x += dx[i];
}

void
studio_layout_make_space (const StudioScene *scene, guint item, double more, double width, double *dx, double *dy)
{
  /* The mirrored graph runs right, so below is to the right. */
  StudioScene *places = studio_scene_copy_places (scene, FALSE), *mirrored = NULL, *along = places;
  StudioRect room;
  double *by = scene->flow == STUDIO_FLOW_RIGHT ? dy : dx;

  for (guint i = 0; i < scene->n_items; i++)
    dx[i] = dy[i] = 0;
  places->item[item].hanging += more;
  places->item[item].hanging_width = MAX (places->item[item].hanging_width, width);
  if (scene->flow == STUDIO_FLOW_RIGHT)
    {
      widen (places, item, dx);
      along = mirrored = studio_scene_copy_places (places, TRUE);
    }
  room = rect_of (along, by, item);
  /* Pins next to a card are higher than the card, but there is space below the card itself. */
  if (scene->flow == STUDIO_FLOW_DOWN)
    room = (StudioRect){ room.x + scene->item[item].width, room.y, room.width - scene->item[item].width,
                         places->item[item].hanging };
  push (along, &room, item, by);
  studio_scene_free_places (mirrored);
  studio_scene_free_places (places);
}
