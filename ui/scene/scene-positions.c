#include "ui/scene/scene-positions.h"

#include <math.h>
#include <string.h>

#include "ui/scene/scene-change.h"
#include "ui/scene/studio-flow.h"
#include "ui/scene/studio-geometry.h"
#include "ui/scene/studio-routes.h"

static const LoomElement *
frame_of (const LoomElement *scope, const StudioItem *item)
{
  const LoomElement *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);

  for (guint i = 0; i < loom_element_n_children (layout); i++)
    if (loom_element_serial (loom_element_child (layout, i)) == item->serial)
      return loom_element_child (layout, i);
  return NULL;
}

/* A coordinate. Nearly all are whole numbers, and strtod() is slow. */
static double
coordinate (const char *text)
{
  const char *digits = text + (text[0] == '-');
  double value = 0;
  gsize n = 0;

  for (; g_ascii_isdigit (digits[n]) && n < 9; n++)
    value = value * 10 + (digits[n] - '0');
  if (n == 0 || digits[n] != '\0')
    return g_ascii_strtod (text, NULL);
  return text[0] == '-' ? -value : value;
}

/* The place of an item. Places are mostly in the order of their nodes: the next one is tried first. */
static const LoomElement *
place_of (const LoomElement *scope, const LoomElement *layout, const StudioItem *item, guint *next)
{
  const LoomElement *place = NULL;

  if (item->is_frame)
    return frame_of (scope, item);
  if (layout != NULL && *next < loom_element_n_children (layout))
    place = loom_element_child (layout, *next);
  if (place == NULL || loom_element_tag (place) != LOOM_TAG_PLACE
      || g_strcmp0 (loom_element_get (place, "node"), item->id) != 0)
    place = loom_scope_find_place (scope, item->id);
  if (place != NULL)
    *next = loom_element_index (place) + 1;
  return place;
}

static void
set_folded (StudioScene *scene, guint i, gboolean folded)
{
  StudioItem *item = &scene->item[i];

  if (item->folded == folded)
    return;
  item->folded = folded;
  item->figure_height = !folded && (item->figure != NULL || item->sample_key != NULL) ? STUDIO_CARD_FIGURE : 0;
  studio_item_resize (item);
  scene_change_touch (scene, i);
}

/* Sets the position of an item from what was read of its place, also if a drag has moved it since. */
static void
put_item (StudioScene *scene, guint i)
{
  StudioItem *item = &scene->item[i];

  /* In a row until there is a layout. */
  item->x = item->is_placed ? item->filed.x : i * (STUDIO_CARD_WIDTH + STUDIO_GRID);
  item->y = item->is_placed ? item->filed.y : 0;
}

/* TRUE if the next element of the layout is the place that was read for the item, as it was then. */
static gboolean
has_same_place (const StudioItem *item, const LoomElement *layout, guint next, guint64 version)
{
  const LoomElement *place
      = item->place != 0 && next < loom_element_n_children (layout) ? loom_element_child (layout, next) : NULL;

  return place != NULL && loom_element_serial (place) == item->place && loom_element_changed (place) <= version;
}

/* version: of the graph of which the scene was; places that are older are as they were read. */
static void
add_places (StudioScene *scene, const LoomElement *scope, guint64 version)
{
  const LoomElement *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);
  guint next = 0;

  for (guint i = 0; i < scene->n_items + scene->n_hidden; i++)
    {
      StudioItem *item = &scene->item[i];
      const LoomElement *place;
      const char *x, *y;

      if (layout != NULL && has_same_place (item, layout, next, version))
        {
          next++;
          put_item (scene, i);
          continue;
        }
      place = place_of (scope, layout, item, &next);
      item->place = place != NULL && !item->is_frame ? loom_element_serial (place) : 0;
      x = place != NULL ? loom_element_get (place, "x") : NULL;
      y = place != NULL ? loom_element_get (place, "y") : NULL;
      set_folded (scene, i, item->place != 0 && g_strcmp0 (loom_element_get (place, "collapsed"), "true") == 0);
      item->is_placed = FALSE;
      if (x != NULL && y != NULL)
        {
          item->filed = (StudioPoint){ coordinate (x), coordinate (y) };
          item->is_placed = isfinite (item->filed.x) && isfinite (item->filed.y) && fabs (item->filed.x) < 1e7
                            && fabs (item->filed.y) < 1e7;
        }
      put_item (scene, i);
    }
}

static double
pin_side (const LoomElement *pin, const char *attribute)
{
  const char *text = loom_element_get (pin, attribute);

  return text != NULL ? g_ascii_strtod (text, NULL) : STUDIO_CARD_WIDTH;
}

static gboolean
is_module_output (const StudioItem *item)
{
  return item->op != NULL && item->op->role == LOOM_ROLE_MODULE_OUTPUT;
}

/* Pins are below their card, in a column; those at the side of the window (ui/pins/pin.h) are not. A gradient is of the
 * card of its port. The scene of a module without an instance has none. */
static void
add_hanging (StudioScene *scene, const LoomGraph *graph, const LoomElement *scope)
{
  const LoomElement *root = loom_graph_root (graph), *view = loom_element_find (root, LOOM_TAG_VIEW);

  if (scope != root && scene->path[0] == '\0')
    return;
  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      const LoomElement *e = loom_element_child (view, i);
      const char *tensor = loom_element_get (e, "tensor"), *prefix_end;
      double height, width;
      guint card;

      if (loom_element_tag (e) != LOOM_TAG_PIN || tensor == NULL || loom_element_get (e, "look:docked") != NULL)
        continue;
      prefix_end = strchr (tensor, ':');
      height = pin_side (e, "height");
      width = pin_side (e, "width");
      card = studio_scene_card_of (scene, prefix_end != NULL ? prefix_end + 1 : tensor);
      /* A module's output is watched at its source. */
      if (card != STUDIO_NO_ITEM && is_module_output (&scene->item[card]) && scene->item[card].n_inputs > 0
          && scene->item[card].input[0].n_links > 0)
        card = scene->link[scene->item[card].input[0].link].from;
      if (card == STUDIO_NO_ITEM || !isfinite (height) || !isfinite (width) || scene->item[card].is_frame)
        continue;
      scene->item[card].hanging += studio_geometry_pin_height (height);
      scene->item[card].hanging_width = MAX (scene->item[card].hanging_width, CLAMP (width, STUDIO_CARD_WIDTH, 1200));
    }
}

/* Waypoints name their wire by its ends, as the wire itself does. */
static void
add_routes (StudioScene *scene, const LoomGraph *graph, const LoomElement *scope)
{
  const LoomElement *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);
  g_autoptr (GHashTable) by_ends = NULL;

  if (layout == NULL || loom_element_find (layout, LOOM_TAG_ROUTE) == NULL)
    return;
  for (guint i = 0; i < loom_element_n_children (layout); i++)
    {
      const LoomElement *e = loom_element_child (layout, i);
      const gboolean is_route = loom_element_tag (e) == LOOM_TAG_ROUTE && loom_element_get (e, "points") != NULL;
      const char *from = is_route ? loom_element_get (e, "from") : NULL;
      const char *to = is_route ? loom_element_get (e, "to") : NULL;

      if (from == NULL || to == NULL)
        continue;
      if (by_ends == NULL)
        by_ends = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      g_hash_table_insert (by_ends, g_strdup_printf ("%s→%s", from, to), (gpointer)loom_element_get (e, "points"));
    }
  for (guint l = 0; by_ends != NULL && l < scene->n_links; l++)
    {
      const LoomElement *wire = loom_graph_by_serial ((LoomGraph *)graph, scene->link[l].serial);
      g_autofree char *ends = g_strdup_printf ("%s→%s", loom_element_get (wire, "from"), loom_element_get (wire, "to"));
      const char *points = g_hash_table_lookup (by_ends, ends);

      if (points != NULL)
        scene->link[l].point = studio_points_parse (points, &scene->link[l].n_points);
    }
}

static double
number (const LoomElement *e, const char *name, double least)
{
  const char *text = loom_element_get (e, name);
  double value = text != NULL ? g_ascii_strtod (text, NULL) : 0;

  return isfinite (value) && fabs (value) < 1e7 ? MAX (value, least) : least;
}

/* A frame that is shown as a card, and its contents, are no annotations. */
static gboolean
is_annotation (const StudioScene *scene, const LoomElement *e)
{
  LoomTag tag = loom_element_tag (e);

  return (tag == LOOM_TAG_NOTE || tag == LOOM_TAG_FRAME) && loom_element_get (e, "hidden") == NULL
         && studio_scene_find (scene, loom_element_serial (e)) == STUDIO_NO_ITEM;
}

static void
add_annotations (StudioScene *scene, const LoomElement *scope)
{
  const LoomElement *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);
  const guint n = layout != NULL ? loom_element_n_children (layout) : 0;

  if (n == 0
      || (loom_element_find (layout, LOOM_TAG_FRAME) == NULL && loom_element_find (layout, LOOM_TAG_NOTE) == NULL))
    return;
  for (guint i = 0; i < n; i++)
    scene->n_annotations += is_annotation (scene, loom_element_child (layout, i));
  scene->annotation = g_new0 (StudioAnnotation, scene->n_annotations);
  for (guint pass = 0, k = 0; pass < 2; pass++)
    for (guint i = 0; i < n; i++)
      {
        const LoomElement *e = loom_element_child (layout, i);
        const char *text;
        StudioAnnotation *annotation;

        if (loom_element_tag (e) != (pass == 0 ? LOOM_TAG_FRAME : LOOM_TAG_NOTE) || !is_annotation (scene, e))
          continue;
        annotation = &scene->annotation[k++];
        annotation->serial = loom_element_serial (e);
        annotation->is_note = pass == 1;
        text = loom_element_get (e, annotation->is_note ? "text" : "title");
        annotation->text = g_strdup (text != NULL ? text : "");
        annotation->color = g_strdup (loom_element_get (e, "color"));
        annotation->x = number (e, "x", -1e7);
        annotation->y = number (e, "y", -1e7);
        if (annotation->is_note)
          studio_geometry_note_size (annotation->text, &annotation->width, &annotation->height);
        else
          {
            annotation->width = number (e, "width", 48);
            annotation->height = number (e, "height", 48);
          }
      }
}

static void
clear_annotations (StudioScene *scene)
{
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      g_free (scene->annotation[i].text);
      g_free (scene->annotation[i].color);
    }
  g_clear_pointer (&scene->annotation, g_free);
  scene->n_annotations = 0;
}

void
studio_scene_reread_positions (StudioScene *scene, const LoomGraph *graph, const LoomElement *scope)
{
  for (guint l = 0; l < scene->n_links; l++)
    {
      g_clear_pointer (&scene->link[l].point, g_free);
      scene->link[l].n_points = 0;
    }
  clear_annotations (scene);
  add_places (scene, scope, scene->version);
  add_annotations (scene, scope);
  add_routes (scene, graph, scope);
  studio_geometry_place_faults (scene);
  /* Places every shape label again, as in a new scene. */
  studio_scene_set_routes (scene, studio_scene_steal_routes (scene));
}

void
scene_positions_read (StudioScene *scene, const LoomGraph *graph, const LoomElement *scope, guint64 version)
{
  clear_annotations (scene);
  add_places (scene, scope, version);
  add_hanging (scene, graph, scope);
  add_annotations (scene, scope);
  add_routes (scene, graph, scope);
}
