/* A chip is placed below the shape label of a wire of its port; if that is on a card, it is tried above the label, and
 * along the wires of the port. A port without wires has its chip below the card. */
#include "ui/stepper/chip-places.h"

#define GAP 3.0

static gboolean
is_free (const StudioScene *scene, const StudioShapeLabel *labels, const ChipPlace *place, guint n, const StudioRect *r)
{
  const StudioRect wide = { r->x - GAP, r->y - GAP + 1, r->width + 2 * GAP, r->height + 2 * GAP - 2 };

  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioRect card = studio_geometry_with_pins (&scene->item[i]);

      if (studio_rect_intersects (&wide, &card))
        return FALSE;
    }
  for (guint i = 0; i < scene->n_links; i++)
    if (labels[i].rect.width > 0 && studio_rect_intersects (r, &labels[i].rect))
      return FALSE;
  for (guint i = 0; i < n; i++)
    if (place[i].rect.width > 0 && studio_rect_intersects (r, &place[i].rect))
      return FALSE;
  return TRUE;
}

static gboolean
try_at (const StudioScene *scene, const StudioShapeLabel *labels, ChipPlace *place, guint n, double x, double y)
{
  StudioRect r = place[n].rect;

  r.x = x - r.width / 2;
  r.y = y;
  if (!is_free (scene, labels, place, n, &r))
    return FALSE;
  place[n].rect = r;
  return TRUE;
}

static gboolean
try_link (const StudioScene *scene, const StudioShapeLabel *labels, ChipPlace *place, guint n, guint link)
{
  static const double shares[] = { 0.5, 0.35, 0.65, 0.2, 0.8 };
  const StudioRect label = labels[link].rect;
  const double height = place[n].rect.height;

  if (label.width > 0
      && (try_at (scene, labels, place, n, label.x + label.width / 2, label.y + label.height + GAP)
          || try_at (scene, labels, place, n, label.x + label.width / 2, label.y - height - GAP)))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (shares); i++)
    {
      double x, y;

      studio_route_at (&studio_scene_routes (scene)[link], shares[i], &x, &y);
      for (int side = 1; side <= 4; side++)
        if (try_at (scene, labels, place, n, x, y + side * GAP * 2)
            || try_at (scene, labels, place, n, x, y - height - side * GAP * 2))
          return TRUE;
    }
  return FALSE;
}

void
chip_places (const StudioScene *scene, const StudioShapeLabel *labels, ChipPlace *place)
{
  guint n = 0;

  for (guint i = 0; i < scene->n_items; i++)
    for (guint o = 0; o < scene->item[i].n_outputs; o++, n++)
      {
        const StudioItem *item = &scene->item[i];
        gboolean found = FALSE;

        if (place[n].rect.width <= 0)
          continue;
        for (guint link = item->output[o].link; link != STUDIO_NO_ITEM && !found; link = scene->link[link].next_out)
          found = try_link (scene, labels, place, n, link);
        /* Below, above, and at both sides of the card. */
        for (int k = 1; k <= 12 && !found; k++)
          found = try_at (scene, labels, place, n, item->x + item->width / 2,
                          item->y + item->height + item->hanging + k * GAP * 2)
                  || try_at (scene, labels, place, n, item->x + item->width / 2,
                             item->y - place[n].rect.height - k * GAP * 2)
                  || try_at (scene, labels, place, n, item->x + item->width + place[n].rect.width / 2 + k * GAP * 2,
                             item->y + item->height / 2 + GAP * 2);
        if (!found)
          place[n].rect.width = 0;
      }
}
