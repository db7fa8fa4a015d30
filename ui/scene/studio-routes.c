/* The cached routes of a scene's wires. */
#include "ui/scene/routes-private.h"

#include <math.h>
#include <string.h>

#include "ui/scene/studio-flow.h"

#define PIN_GAP     24.0 /* between pins of a card and the next card: space for a wire */
#define ROUND       28.0 /* radius of corners of curved wires */
#define ROUND_RIGHT 6.0
#define MANY_DIRTY  400u                           /* with more changed areas all wires are routed again */
#define LEAST_AHEAD 20.0                           /* a curve to an input nearer than this would turn back on itself */
#define STRAIGHT    3.0                            /* a curve that rises no more than this is a horizontal line */
#define PINS        (G_GUINT64_CONSTANT (1) << 63) /* flag in the serial of an obstacle: the pins of that card */
#define STEEP       2.0 /* a wire steeper than this runs in a channel and gets a track there */

struct _StudioRoutes
{
  gboolean right_angles, valid;
  StudioFlow flow;                    /* cards, ends and routes are stored as if it were to the right */
  guint n_cards, n_items;             /* obstacles: each item's card, then pins at the side of cards */
  guint n_wires, n_searched, n_links; /* n_wires: with the parts of wires that have waypoints */
  guint *first_wire;                  /* of each link */
  StudioRect *card;
  guint64 *card_serial;
  RouteWire *wire;
  GArray *pieces; /* StudioCurve, of all wires */
  StudioRoute *route;
  StudioShapeLabel *shape_label;
  gboolean shape_labels_valid;
  guint8 *shape_label_stale; /* per link: its route or its surroundings have changed since its label was placed */
  gboolean any_stale;
  guint shape_labels_key;
};

StudioRoutes *
studio_routes_new (void)
{
  StudioRoutes *self = g_new0 (StudioRoutes, 1);

  self->pieces = g_array_new (FALSE, FALSE, sizeof (StudioCurve));
  return self;
}

static void
clear_wires (RouteWire *wire, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_clear_pointer (&wire[i].base, g_array_unref);
      g_clear_pointer (&wire[i].way, g_array_unref);
    }
  g_free (wire);
}

void
studio_routes_free (StudioRoutes *self)
{
  if (self == NULL)
    return;
  clear_wires (self->wire, self->n_wires);
  g_free (self->card);
  g_free (self->card_serial);
  g_free (self->first_wire);
  g_free (self->route);
  g_free (self->shape_label);
  g_free (self->shape_label_stale);
  g_array_unref (self->pieces);
  g_free (self);
}

static void
forget_wires (StudioRoutes *self)
{
  clear_wires (g_steal_pointer (&self->wire), self->n_wires);
  self->n_wires = 0;
  self->valid = FALSE;
}

void
studio_routes_set_right_angles (StudioRoutes *self, gboolean on)
{
  if (self->right_angles == on)
    return;
  self->right_angles = on;
  forget_wires (self);
}

gboolean
studio_routes_get_right_angles (const StudioRoutes *self)
{
  return self->right_angles;
}

guint
studio_routes_n_searched (const StudioRoutes *self)
{
  return self->n_searched;
}

/* ---- obstacles, mirrored if the graph runs down ---------------------------- */

/* The rectangle of a card's pins, cut off above the next card, and before one at its side. */
static StudioRect
free_pins (const StudioScene *scene, guint i)
{
  StudioRect pins = studio_geometry_pins (&scene->item[i]);

  for (guint j = 0; pins.width > 0 && j < scene->n_items; j++)
    {
      const StudioRect other = studio_geometry_card (&scene->item[j]);

      if (j != i && other.x < pins.x + pins.width + PIN_GAP && other.x + other.width + PIN_GAP > pins.x
          && other.y < pins.y + pins.height + PIN_GAP && other.y + other.height + PIN_GAP > pins.y)
        {
          if (scene->flow == STUDIO_FLOW_RIGHT && other.y < pins.y
              && other.x >= scene->item[i].x + scene->item[i].width)
            pins.width = MAX (scene->item[i].width, other.x - PIN_GAP - pins.x);
          else
            pins.height = other.y - PIN_GAP - pins.y;
        }
    }
  return pins;
}

/* Wires go around the card and the pins below it. If the graph runs down, pins are at the side of the card and extend
 * further down, where the card's own wires begin; there, and if they are wider than the card, they are obstacles of
 * their own (pins_of). */
static StudioRect
obstacle_of (const StudioScene *scene, guint i)
{
  StudioRect card = studio_geometry_card (&scene->item[i]), pins;

  if (scene->flow == STUDIO_FLOW_DOWN)
    return studio_rect_mirrored (card);
  pins = free_pins (scene, i);
  card.height += MAX (pins.height, 0);
  return card;
}

/* FALSE if the card has no such obstacle. */
static gboolean
pins_of (const StudioScene *scene, guint i, StudioRect *pins)
{
  if (scene->item[i].hanging <= 0)
    return FALSE;
  *pins = free_pins (scene, i);
  if (pins->height <= 0 || (scene->flow == STUDIO_FLOW_RIGHT && pins->width <= scene->item[i].width))
    return FALSE;
  if (scene->flow == STUDIO_FLOW_DOWN)
    *pins = studio_rect_mirrored (*pins);
  return TRUE;
}

static StudioPoint
point_of (const StudioScene *scene, double x, double y)
{
  return scene->flow == STUDIO_FLOW_DOWN ? (StudioPoint){ y, x } : (StudioPoint){ x, y };
}

static StudioPoint
end_of (const StudioScene *scene, guint item, gboolean is_output, guint port)
{
  double x, y;

  studio_geometry_port (&scene->item[item], is_output, port, &x, &y);
  return point_of (scene, x, y);
}

/* ---- one wire ------------------------------------------------------------- */

/* The parts of a link: from the output to the first waypoint, between waypoints, and on to the input. */
static void
add_parts (const StudioScene *scene, guint link, GArray *wires)
{
  const StudioLink *l = &scene->link[link];
  RouteWire wire = { .net = (guint64)l->from << 32 | l->output, .link = link };
  StudioPoint a = end_of (scene, l->from, TRUE, l->output), end = end_of (scene, l->to, FALSE, l->input);

  for (guint k = 0; k <= l->n_points; k++)
    {
      StudioPoint b = k == l->n_points ? end : point_of (scene, l->point[k].x, l->point[k].y);

      wire.key = l->serial << 16 | k;
      wire.from = k == 0 ? l->from : STUDIO_NO_ITEM;
      wire.to = k == l->n_points ? l->to : STUDIO_NO_ITEM;
      wire.x0 = a.x;
      wire.y0 = a.y;
      wire.x1 = b.x;
      wire.y1 = b.y;
      g_array_append_val (wires, wire);
      a = b;
    }
}

/* TRUE if the plain curve is clear of cards other than those at its ends. */
static gboolean
is_free_curve (RouteIndex *index, const StudioCurve *curve, const RouteWire *wire, StudioRect *region)
{
  StudioRoute plain = { .n_pieces = 1, .piece = curve };
  const guint *near;
  guint n;

  *region = studio_curve_bounds (curve);
  *region = (StudioRect){ region->x - ROUTE_CLEAR, region->y - ROUTE_CLEAR, region->width + 2 * ROUTE_CLEAR,
                          region->height + 2 * ROUTE_CLEAR };
  if (!route_index_is_small (index, region))
    return FALSE;
  near = route_index_find (index, region, &n);
  for (guint i = 0; i < n; i++)
    {
      StudioRect card = index->card[near[i]];
      double clear = near[i] == wire->from || near[i] == wire->to ? -1 : ROUTE_CLEAR;

      card = (StudioRect){ card.x - clear, card.y - clear, card.width + 2 * clear, card.height + 2 * clear };
      if (studio_route_intersects (&plain, &card))
        return FALSE;
    }
  return TRUE;
}

static void
search_route (StudioRoutes *self, RouteIndex *index, RouteWire *wire)
{
  StudioCurve curve = studio_geometry_curve (wire->x0, wire->y0, wire->x1, wire->y1);
  double ahead = wire->x1 - wire->x0, rise = fabs (wire->y1 - wire->y0);
  gboolean is_level = rise <= STRAIGHT && ahead > 0;
  gboolean is_plain = is_level || (!self->right_angles && ahead >= LEAST_AHEAD && rise <= STEEP * ahead);

  self->n_searched++;
  wire->routed = FALSE;
  g_clear_pointer (&wire->base, g_array_unref);
  if (is_plain && is_free_curve (index, &curve, wire, &wire->region))
    {
      /* Another wire must not overlap it. */
      if (is_level)
        {
          RoutePoint ends[2] = { { wire->x0, wire->y0 }, { wire->x1, wire->y1 } };

          wire->base = g_array_new (FALSE, FALSE, sizeof (RoutePoint));
          g_array_append_vals (wire->base, ends, 2);
        }
      return;
    }
  wire->base = g_array_new (FALSE, FALSE, sizeof (RoutePoint));
  wire->routed = route_search (index, wire, wire->base, &wire->region);
  if (wire->routed)
    route_centre (index, wire->base);
  else
    g_clear_pointer (&wire->base, g_array_unref);
}

/* ---- all wires ------------------------------------------------------------ */

static gboolean
same_rect (const StudioRect *a, const StudioRect *b)
{
  return a->x == b->x && a->y == b->y && a->width == b->width && a->height == b->height;
}

/* Areas where cards were added, removed or moved: their old and new rectangles. */
static GArray *
take_cards (StudioRoutes *self, const StudioScene *scene)
{
  GArray *dirty = g_array_new (FALSE, FALSE, sizeof (StudioRect));
  StudioRect *card = g_new (StudioRect, 2 * scene->n_items + 1);
  guint64 *serial = g_new (guint64, 2 * scene->n_items + 1);
  g_autoptr (GHashTable) old = NULL;
  guint n = scene->n_items;
  gboolean aligned;

  for (guint i = 0; i < scene->n_items; i++)
    {
      card[i] = obstacle_of (scene, i);
      serial[i] = scene->item[i].serial;
    }
  for (guint i = 0; i < scene->n_items; i++)
    if (pins_of (scene, i, &card[n]))
      serial[n++] = scene->item[i].serial | PINS;
  aligned = self->n_cards == n && (n == 0 || memcmp (self->card_serial, serial, n * sizeof *serial) == 0);
  if (!aligned)
    {
      old = g_hash_table_new (g_int64_hash, g_int64_equal);
      for (guint i = 0; i < self->n_cards; i++)
        g_hash_table_insert (old, &self->card_serial[i], &self->card[i]);
    }
  for (guint i = 0; i < n; i++)
    {
      const StudioRect *was = aligned ? &self->card[i] : g_hash_table_lookup (old, &serial[i]);

      if (was == NULL || !same_rect (was, &card[i]))
        {
          g_array_append_val (dirty, card[i]);
          if (was != NULL)
            g_array_append_val (dirty, *was);
        }
      if (old != NULL)
        g_hash_table_remove (old, &serial[i]);
    }
  if (old != NULL)
    {
      GHashTableIter iter;
      gpointer gone;

      g_hash_table_iter_init (&iter, old);
      while (g_hash_table_iter_next (&iter, NULL, &gone))
        g_array_append_val (dirty, *(StudioRect *)gone);
    }
  g_clear_pointer (&old, g_hash_table_unref);
  g_free (self->card);
  g_free (self->card_serial);
  self->card = card;
  self->card_serial = serial;
  self->n_cards = n;
  self->n_items = scene->n_items;
  return dirty;
}

static gboolean
is_touched (const RouteWire *wire, const GArray *dirty)
{
  for (guint i = 0; i < dirty->len; i++)
    if (studio_rect_intersects (&wire->region, &g_array_index (dirty, StudioRect, i)))
      return TRUE;
  return FALSE;
}

/* Reuses the route that was found for this wire before, if it is still valid. */
static gboolean
keep (StudioRoutes *self, GHashTable *by_key, guint i, RouteWire *wire, const GArray *dirty)
{
  RouteWire *was = NULL;

  if (dirty->len > MANY_DIRTY)
    return FALSE;
  if (by_key == NULL)
    was = &self->wire[i];
  else
    was = g_hash_table_lookup (by_key, &wire->key);
  if (was == NULL || was->x0 != wire->x0 || was->y0 != wire->y0 || was->x1 != wire->x1 || was->y1 != wire->y1
      || is_touched (was, dirty))
    return FALSE;
  wire->routed = was->routed;
  wire->region = was->region;
  wire->base = g_steal_pointer (&was->base);
  return TRUE;
}

static gboolean
has_points (const StudioRoutes *self, const StudioScene *scene, guint link)
{
  const StudioLink *l = &scene->link[link];
  const RouteWire *wire = &self->wire[self->first_wire[link]];

  if (self->first_wire[link + 1] - self->first_wire[link] != l->n_points + 1)
    return FALSE;
  for (guint k = 0; k < l->n_points; k++)
    {
      StudioPoint p = point_of (scene, l->point[k].x, l->point[k].y);

      if (wire[k].x1 != p.x || wire[k].y1 != p.y)
        return FALSE;
    }
  return TRUE;
}

static gboolean
is_current (const StudioRoutes *self, const StudioScene *scene)
{
  if (!self->valid || self->flow != scene->flow || self->n_items != scene->n_items || self->n_links != scene->n_links)
    return FALSE;
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioPoint corner = point_of (scene, scene->item[i].x, scene->item[i].y);

      if (self->card[i].x != corner.x || self->card[i].y != corner.y)
        return FALSE;
    }
  for (guint l = 0; l < scene->n_links; l++)
    if (!has_points (self, scene, l))
      return FALSE;
  return TRUE;
}

/* Returns TRUE if any wire has changed. */
static gboolean
take_wires (StudioRoutes *self, RouteIndex *index, const StudioScene *scene, const GArray *dirty)
{
  GArray *wires = g_array_sized_new (FALSE, TRUE, sizeof (RouteWire), scene->n_links + 1);
  g_autoptr (GHashTable) by_key = NULL;
  RouteWire *wire;
  gboolean aligned, differs;

  self->first_wire = g_renew (guint, self->first_wire, scene->n_links + 1);
  for (guint l = 0; l < scene->n_links; l++)
    {
      self->first_wire[l] = wires->len;
      add_parts (scene, l, wires);
    }
  self->first_wire[scene->n_links] = wires->len;
  self->n_links = scene->n_links;
  aligned = self->n_wires == wires->len;
  wire = (RouteWire *)(gpointer)wires->data;
  for (guint i = 0; aligned && i < wires->len; i++)
    aligned = self->wire[i].key == wire[i].key;
  differs = !aligned;
  for (guint i = 0; !differs && i < wires->len; i++)
    differs = self->wire[i].net != wire[i].net || self->wire[i].link != wire[i].link
              || self->wire[i].from != wire[i].from || self->wire[i].to != wire[i].to;
  if (!aligned)
    {
      by_key = g_hash_table_new (g_int64_hash, g_int64_equal);
      for (guint i = 0; i < self->n_wires; i++)
        g_hash_table_insert (by_key, &self->wire[i].key, &self->wire[i]);
    }
  for (guint i = 0; i < wires->len; i++)
    if (!keep (self, by_key, i, &wire[i], dirty))
      {
        search_route (self, index, &wire[i]);
        differs = TRUE;
      }
    else if (aligned)
      wire[i].way = g_steal_pointer (&self->wire[i].way);
  clear_wires (self->wire, self->n_wires);
  self->n_wires = wires->len;
  self->wire = (RouteWire *)(gpointer)g_array_free (wires, FALSE);
  return differs;
}

/* While cards are dragged, distant labels stay where they are. */
static void
note_stale (StudioRoutes *self, const StudioScene *scene, const StudioRoute *was, const GArray *dirty)
{
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (StudioRect));

  /* The bubble below a card moves with it. */
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect card = studio_geometry_card (&scene->item[i]), fault = studio_geometry_fault (&scene->item[i]);
      StudioRect as_kept = obstacle_of (scene, i);

      for (guint k = 0; k < dirty->len; k++)
        if (same_rect (&as_kept, &g_array_index (dirty, StudioRect, k)))
          {
            g_array_append_val (taken, card);
            if (fault.height > 0)
              g_array_append_val (taken, fault);
            break;
          }
    }
  for (guint l = 0; l < self->n_links; l++)
    {
      const StudioRoute *now = &self->route[l];
      const StudioRect *r = &self->shape_label[l].rect;
      gboolean stale = was[l].n_pieces != now->n_pieces
                       || memcmp (was[l].piece, now->piece, now->n_pieces * sizeof (StudioCurve)) != 0;

      for (guint i = 0; i < taken->len && r->width > 0 && !stale; i++)
        {
          StudioRect card = g_array_index (taken, StudioRect, i);

          card = (StudioRect){ card.x - ROUTE_CLEAR, card.y - ROUTE_CLEAR, card.width + 2 * ROUTE_CLEAR,
                               card.height + 2 * ROUTE_CLEAR };
          stale = studio_rect_intersects (&card, r);
        }
      self->shape_label_stale[l] |= stale;
      self->any_stale |= stale;
    }
}

static void
shape_all (StudioRoutes *self, RouteIndex *index)
{
  g_autofree guint *first = g_new (guint, self->n_wires + 1);

  g_array_set_size (self->pieces, 0);
  self->route = g_renew (StudioRoute, self->route, self->n_links + 1);
  for (guint i = 0; i < self->n_wires; i++)
    {
      const RouteWire *wire = &self->wire[i];

      first[i] = self->pieces->len;
      if (wire->routed)
        route_round (index, wire->way, self->right_angles ? ROUND_RIGHT : ROUND, self->pieces);
      else
        {
          StudioCurve curve = studio_geometry_curve (wire->x0, wire->y0, wire->x1, wire->y1);

          g_array_append_val (self->pieces, curve);
        }
    }
  first[self->n_wires] = self->pieces->len;
  for (guint k = 0; self->flow == STUDIO_FLOW_DOWN && k < self->pieces->len; k++)
    g_array_index (self->pieces, StudioCurve, k) = studio_curve_mirrored (g_array_index (self->pieces, StudioCurve, k));
  for (guint l = 0; l < self->n_links; l++)
    {
      StudioRoute *route = &self->route[l];
      guint start = self->first_wire[l], end = self->first_wire[l + 1];

      *route = (StudioRoute){ .n_pieces = first[end] - first[start],
                              .piece = &g_array_index (self->pieces, StudioCurve, first[start]),
                              .routed = self->wire[start].routed || end > start + 1 };
      for (guint k = 0; k < route->n_pieces; k++)
        {
          StudioRect r = studio_curve_bounds (&route->piece[k]);

          route->bounds = k == 0 ? r : studio_rect_union (route->bounds, r);
        }
    }
}

const StudioRoute *
studio_scene_routes (const StudioScene *scene)
{
  StudioRoutes *self = scene->routes;
  g_autoptr (GArray) dirty = NULL, pieces = NULL;
  g_autofree StudioRoute *was = NULL;
  RouteIndex index;
  guint n_was;

  if (is_current (self, scene))
    return self->route;
  if (self->flow != scene->flow)
    {
      self->flow = scene->flow;
      self->shape_labels_valid = FALSE;
      forget_wires (self);
    }
  n_was = self->n_links;
  dirty = take_cards (self, scene);
  route_index_init (&index, self->card, self->n_cards);
  if (!take_wires (self, &index, scene, dirty) && dirty->len == 0 && self->route != NULL)
    {
      /* The next version of the graph, with the same cards and wires at the same positions. */
      route_index_clear (&index);
      self->valid = TRUE;
      return self->route;
    }
  was = g_steal_pointer (&self->route);
  pieces = g_steal_pointer (&self->pieces);
  self->pieces = g_array_sized_new (FALSE, FALSE, sizeof (StudioCurve), pieces->len);
  for (guint i = 0; i < self->n_wires; i++)
    {
      RouteWire *wire = &self->wire[i];

      g_clear_pointer (&wire->way, g_array_unref);
      if (wire->base != NULL)
        wire->way = g_array_copy (wire->base);
    }
  route_tracks (&index, self->wire, self->n_wires);
  shape_all (self, &index);
  if (self->shape_labels_valid && n_was == self->n_links && dirty->len <= MANY_DIRTY)
    note_stale (self, scene, was, dirty);
  else
    self->shape_labels_valid = FALSE;
  route_index_clear (&index);
  self->valid = TRUE;
  return self->route;
}

const StudioShapeLabel *
studio_scene_shape_labels (const StudioScene *scene, guint key, StudioShapeLabelSize size, gpointer data)
{
  StudioRoutes *self = scene->routes;
  const StudioRoute *route = studio_scene_routes (scene);

  if (!self->shape_labels_valid || self->shape_labels_key != key)
    {
      self->shape_label = g_renew (StudioShapeLabel, self->shape_label, self->n_links + 1);
      self->shape_label_stale = g_renew (guint8, self->shape_label_stale, self->n_links + 1);
      route_place_shape_labels (scene, route, NULL, size, data, self->shape_label);
      self->shape_labels_key = key;
      self->shape_labels_valid = TRUE;
    }
  else if (self->any_stale)
    route_place_shape_labels (scene, route, self->shape_label_stale, size, data, self->shape_label);
  memset (self->shape_label_stale, 0, self->n_links);
  self->any_stale = FALSE;
  return self->shape_label;
}

StudioRoutes *
studio_scene_steal_routes (StudioScene *scene)
{
  StudioRoutes *routes = scene->routes;

  scene->routes = studio_routes_new ();
  scene->routes->right_angles = routes->right_angles;
  return routes;
}

void
studio_scene_set_routes (StudioScene *scene, StudioRoutes *routes)
{
  studio_routes_free (scene->routes);
  scene->routes = routes;
  /* Cards and wires may have changed: they are compared at the next query. */
  routes->valid = FALSE;
  routes->shape_labels_valid = FALSE;
}
