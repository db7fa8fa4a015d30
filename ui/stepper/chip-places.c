/* A chip is placed below the shape label of a wire of its port; if that is on a card, it is tried above the label,
 * along the wires of the port, and around the card. A port without wires has its chip below the card. */
#include "ui/stepper/chip-places.h"

#define GAP 3.0

typedef struct
{
  const StudioScene *scene;
  const StudioShapeLabel *labels;
  ChipPlace *place;
  guint n, n_places;        /* the chip to be placed, and the number of all */
  gboolean *is_placed;      /* of each: it may not be covered */
  const StudioRect *within; /* NULL: anywhere */
} Search;

static gboolean
is_free (const Search *s, const StudioRect *r)
{
  const StudioRect wide = { r->x - GAP, r->y - GAP + 1, r->width + 2 * GAP, r->height + 2 * GAP - 2 };

  for (guint i = 0; i < s->scene->n_items; i++)
    {
      const StudioRect card = studio_geometry_with_pins (&s->scene->item[i]);

      if (studio_rect_intersects (&wide, &card))
        return FALSE;
    }
  for (guint i = 0; i < s->scene->n_links; i++)
    if (s->labels[i].rect.width > 0 && studio_rect_intersects (r, &s->labels[i].rect))
      return FALSE;
  for (guint i = 0; i < s->n_places; i++)
    if (i != s->n && s->is_placed[i] && s->place[i].rect.width > 0 && studio_rect_intersects (r, &s->place[i].rect))
      return FALSE;
  return TRUE;
}

/* A place that the edge of the view would cut is moved inside. */
static gboolean
try_at (const Search *s, double x, double y)
{
  StudioRect r = s->place[s->n].rect;

  r.x = x - r.width / 2;
  r.y = y;
  if (s->within != NULL)
    {
      if (!studio_rect_intersects (&r, s->within))
        return FALSE;
      r.x = CLAMP (r.x, s->within->x, s->within->x + s->within->width - r.width);
      r.y = CLAMP (r.y, s->within->y, s->within->y + s->within->height - r.height);
    }
  if (!is_free (s, &r))
    return FALSE;
  s->place[s->n].rect = r;
  return TRUE;
}

/* In the middle above x, or shifted by up to its width. */
static gboolean
try_around (const Search *s, double x, double y)
{
  static const double shifts[] = { 0, -0.25, 0.25, -0.5, 0.5, -0.75, 0.75, -1, 1 };

  for (guint i = 0; i < G_N_ELEMENTS (shifts); i++)
    if (try_at (s, x + shifts[i] * s->place[s->n].rect.width, y))
      return TRUE;
  return FALSE;
}

static gboolean
try_link (const Search *s, guint link)
{
  static const double shares[] = { 0.5, 0.35, 0.65, 0.2, 0.8 };
  const StudioRect label = s->labels[link].rect;
  const double height = s->place[s->n].rect.height;

  if (label.width > 0
      && (try_at (s, label.x + label.width / 2, label.y + label.height + GAP)
          || try_at (s, label.x + label.width / 2, label.y - height - GAP)))
    return TRUE;
  for (int side = 1; side <= 4; side++)
    for (guint i = 0; i < G_N_ELEMENTS (shares); i++)
      {
        double x, y;

        studio_route_at (&studio_scene_routes (s->scene)[link], shares[i], &x, &y);
        if (try_at (s, x, y + side * GAP * 2) || try_at (s, x, y - height - side * GAP * 2))
          return TRUE;
      }
  return FALSE;
}

/* Below, above, and at the sides of the card. */
static gboolean
try_card (const Search *s, const StudioItem *item)
{
  const StudioRect *chip = &s->place[s->n].rect;
  const double middle = item->x + item->width / 2, right = item->x + item->width + chip->width / 2;
  const double left = item->x - chip->width / 2, y = item->y + item->height / 2;

  for (int k = 1; k <= 12; k++)
    if (try_around (s, middle, item->y + item->height + item->hanging + k * GAP * 2)
        || try_around (s, middle, item->y - chip->height - k * GAP * 2) || try_at (s, right + k * GAP * 2, y + GAP * 2)
        || try_at (s, right + k * GAP * 2, y - chip->height - GAP * 2) || try_at (s, left - k * GAP * 2, y + GAP * 2)
        || try_at (s, left - k * GAP * 2, y - chip->height - GAP * 2))
      return TRUE;
  return FALSE;
}

static gboolean
try_links (const Search *s, const StudioPort *port)
{
  for (guint link = port->link; link != STUDIO_NO_ITEM; link = s->scene->link[link].next_out)
    if (try_link (s, link))
      return TRUE;
  return FALSE;
}

static gboolean
find_place (const Search *s, const StudioItem *item, const StudioPort *port)
{
  if (s->place[s->n].rank == CHIP_TARGET)
    return try_card (s, item) || try_links (s, port);
  return try_links (s, port) || try_card (s, item);
}

ChipRank
chip_rank (const LoomNet *net, const StudioPort *port, gboolean has_gradient)
{
  const LoomOp *op = port->source.node < loom_net_n_nodes (net) ? loom_net_node (net, port->source.node)->op : NULL;

  if (has_gradient)
    return CHIP_GRADIENT;
  return op != NULL && op->role == LOOM_ROLE_DATASET && !loom_dtype_is_float (port->type.dtype) ? CHIP_TARGET
                                                                                                : CHIP_VALUE;
}

static guint
count_outputs (const StudioScene *scene)
{
  guint n = 0;

  for (guint i = 0; i < scene->n_items; i++)
    n += scene->item[i].n_outputs;
  return n;
}

void
chip_places (const StudioScene *scene, const StudioShapeLabel *labels, ChipPlace *place)
{
  Search s = { .scene = scene, .labels = labels, .place = place, .n_places = count_outputs (scene) };
  g_autofree gboolean *is_placed = g_new0 (gboolean, s.n_places + 1);

  s.is_placed = is_placed;
  for (ChipRank rank = 0; rank < N_CHIP_RANKS; rank++)
    {
      s.n = 0;
      for (guint i = 0; i < scene->n_items; i++)
        for (guint o = 0; o < scene->item[i].n_outputs; o++, s.n++)
          if (place[s.n].rank == rank && place[s.n].rect.width > 0)
            {
              is_placed[s.n] = find_place (&s, &scene->item[i], &scene->item[i].output[o]);
              if (!is_placed[s.n])
                place[s.n].rect.width = 0;
            }
    }
}

void
chip_places_within (const StudioScene *scene, const StudioShapeLabel *labels, ChipPlace *place, const StudioRect *view)
{
  Search s = { .scene = scene, .labels = labels, .place = place, .n_places = count_outputs (scene), .within = view };
  g_autofree gboolean *is_placed = g_new0 (gboolean, s.n_places + 1);

  s.is_placed = is_placed;
  for (guint i = 0; i < s.n_places; i++)
    is_placed[i] = TRUE;
  for (guint i = 0; i < scene->n_items; i++)
    for (guint o = 0; o < scene->item[i].n_outputs; o++, s.n++)
      {
        const StudioRect card = studio_geometry_card (&scene->item[i]), *r = &place[s.n].rect;

        if (r->width > 0 && r->width <= view->width && r->height <= view->height && studio_rect_intersects (&card, view)
            && (r->x < view->x || r->y < view->y || r->x + r->width > view->x + view->width
                || r->y + r->height > view->y + view->height))
          find_place (&s, &scene->item[i], &scene->item[i].output[o]);
      }
}
