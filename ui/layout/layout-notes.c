/* Places what the layered layout leaves out: notes and empty frames, and a part of the graph that was laid out
 * separately. */
#include "ui/layout/layout-private.h"

#include <math.h>

static StudioRect
item_at (const StudioScene *scene, const StudioLayout *layout, guint i)
{
  StudioItem item = scene->item[i];

  item.x = layout->x[i];
  item.y = layout->y[i];
  return studio_geometry_with_pins (&item);
}

static double
distance (const StudioRect *a, const StudioRect *b)
{
  double dx = MAX (0, MAX (a->x - b->x - b->width, b->x - a->x - a->width));
  double dy = MAX (0, MAX (a->y - b->y - b->height, b->y - a->y - a->height));

  return hypot (dx, dy);
}

/* The rectangles of placed cards and annotations, and the size of the next one to place. */
typedef struct
{
  const StudioScene *scene;
  const StudioLayout *layout;
  const gboolean *stands; /* whether each annotation is placed */
  double width, height;
} Standing;

static gboolean
is_clear (double x, double y, gconstpointer data)
{
  const Standing *by = data;
  const StudioRect place
      = { x - STUDIO_SNAP / 2, y - STUDIO_SNAP / 2, by->width + STUDIO_SNAP, by->height + STUDIO_SNAP };

  for (guint i = 0; i < by->scene->n_items; i++)
    {
      StudioRect card = item_at (by->scene, by->layout, i);

      if (studio_rect_intersects (&card, &place))
        return FALSE;
    }
  for (guint a = 0; a < by->scene->n_annotations; a++)
    if (by->stands[a] && studio_rect_intersects (&by->layout->annotation[a], &place))
      return FALSE;
  return TRUE;
}

/* Notes and empty frames stay next to the card that was nearest, or move to the nearest free position. */
void
layout_place_anchored (const StudioScene *scene, const gboolean *chosen, const guint *anchored, guint n_anchored,
                       StudioLayout *layout)
{
  g_autofree gboolean *stands = g_new (gboolean, scene->n_annotations + 1);

  for (guint a = 0; a < scene->n_annotations; a++)
    stands[a] = TRUE;
  for (guint k = 0; k < n_anchored; k++)
    stands[anchored[k]] = FALSE;
  for (guint k = 0; k < n_anchored; k++)
    {
      StudioRect *place = &layout->annotation[anchored[k]], was = *place;
      double nearest = INFINITY;
      guint anchor = STUDIO_NO_ITEM;

      for (guint i = 0; i < scene->n_items; i++)
        {
          StudioRect card = studio_geometry_card (&scene->item[i]);
          double d = distance (&card, &was);

          if (d < nearest)
            {
              nearest = d;
              anchor = i;
            }
        }
      if (anchor != STUDIO_NO_ITEM && (chosen == NULL || chosen[anchor]))
        {
          place->x += layout->x[anchor] - scene->item[anchor].x;
          place->y += layout->y[anchor] - scene->item[anchor].y;
          studio_geometry_search (&place->x, &place->y, 100, is_clear,
                                  &(Standing){ scene, layout, stands, place->width, place->height });
        }
      stands[anchored[k]] = TRUE;
    }
}

/* For a chosen part: its old corner, or the nearest one at which it covers no other card. */
void
layout_corner_of_part (const StudioScene *scene, const gboolean *chosen, double width, double height, double *x,
                       double *y)
{
  StudioRect whole = { INFINITY, INFINITY, width, height };
  double x0, y0;

  for (guint i = 0; i < scene->n_items; i++)
    if (chosen[i])
      {
        whole.x = MIN (whole.x, scene->item[i].x);
        whole.y = MIN (whole.y, scene->item[i].y);
      }
  x0 = whole.x;
  y0 = whole.y;
  for (int ring = 0; ring <= 200; ring++)
    for (int side = 0; side < (ring == 0 ? 1 : 4); side++)
      {
        static const int way[][2] = { { 0, 1 }, { 1, 0 }, { 0, -1 }, { -1, 0 } };
        gboolean clear = TRUE;

        whole.x = x0 + way[side][0] * ring * STUDIO_GRID;
        whole.y = y0 + way[side][1] * ring * STUDIO_GRID;
        for (guint i = 0; i < scene->n_items && clear; i++)
          {
            StudioRect card = studio_geometry_with_pins (&scene->item[i]);

            card.x -= STUDIO_SNAP;
            card.y -= STUDIO_SNAP;
            card.width += 2 * STUDIO_SNAP;
            card.height += 2 * STUDIO_SNAP;
            clear = chosen[i] || !studio_rect_intersects (&card, &whole);
          }
        if (clear)
          {
            *x = whole.x;
            *y = whole.y;
            return;
          }
      }
  *x = x0;
  *y = y0;
}
