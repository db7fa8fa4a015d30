/* Turns a layout into edits of a graph, for Studio's undo and for `gradloom arrange`. */
#include "ui/layout/studio-layout.h"

#include <math.h>
#include <string.h>

#include "ui/scene/studio-flow.h"

gboolean
studio_layout_parse_direction (const char *name, StudioLayoutDirection *direction)
{
  StudioFlow flow;

  if (strcmp (name, "auto") == 0)
    *direction = STUDIO_LAYOUT_AUTOMATIC;
  else if (studio_flow_parse (name, &flow))
    *direction = flow == STUDIO_FLOW_DOWN ? STUDIO_LAYOUT_DOWN : STUDIO_LAYOUT_RIGHT;
  else
    return FALSE;
  return TRUE;
}

char *
studio_layout_coordinate (double v)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  /* Two decimals are enough, and whole numbers have none. */
  g_ascii_formatd (buffer, sizeof buffer, "%.10g", floor (v * 100 + 0.5) / 100);
  return g_strdup (strcmp (buffer, "-0") == 0 ? "0" : buffer);
}

static void
put (GPtrArray *edits, const LoomElement *e, const char *attribute, double v)
{
  g_autofree char *text = studio_layout_coordinate (v);

  if (g_strcmp0 (loom_element_get (e, attribute), text) != 0)
    g_ptr_array_add (edits, loom_edit_set (e, attribute, text));
}

static LoomElement *
new_place (const StudioItem *item, double x, double y)
{
  g_autofree char *sx = studio_layout_coordinate (x), *sy = studio_layout_coordinate (y);

  return loom_element_new (LOOM_TAG_PLACE, "node", item->id, "x", sx, "y", sy, NULL);
}

/* Waypoints of wires inside the frame move with it. */
static void
move_route (GPtrArray *edits, const LoomElement *route, const char *const *ids, double dx, double dy)
{
  const char *const ends[] = { loom_element_get (route, "from"), loom_element_get (route, "to") };
  g_autofree StudioPoint *point = NULL;
  g_autofree char *text = NULL;
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      g_autofree char *id = NULL, *port = NULL;

      if (ends[i] == NULL || !loom_end_split (ends[i], &id, &port) || !g_strv_contains (ids, id))
        return;
    }
  point = studio_points_parse (loom_element_get (route, "points"), &n);
  for (guint k = 0; k < n; k++)
    {
      point[k].x += dx;
      point[k].y += dy;
    }
  text = studio_points_format (point, n);
  g_ptr_array_add (edits, loom_edit_set (route, "points", text));
}

static double
value (const LoomElement *e, const char *attribute)
{
  const char *text = loom_element_get (e, attribute);

  return text != NULL ? g_ascii_strtod (text, NULL) : 0;
}

void
studio_layout_move_frame (GPtrArray *edits, const LoomElement *scope, const LoomElement *frame, double x, double y)
{
  const LoomElement *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);
  const double dx = x - value (frame, "x"), dy = y - value (frame, "y");
  const char *list = loom_element_get (frame, "collapsed");
  g_auto (GStrv) ids = g_strsplit (list != NULL ? list : "", " ", -1);
  const StudioAnnotation border = {
    .x = value (frame, "x"), .y = value (frame, "y"), .width = value (frame, "width"), .height = value (frame, "height")
  };

  if (dx == 0 && dy == 0)
    return;
  put (edits, frame, "x", x);
  put (edits, frame, "y", y);
  for (guint i = 0; i < loom_element_n_children (layout); i++)
    {
      const LoomElement *e = loom_element_child (layout, i);
      const LoomTag tag = loom_element_tag (e);
      const char *node = tag == LOOM_TAG_PLACE ? loom_element_get (e, "node") : NULL;
      const gboolean closed = loom_element_get (e, "collapsed") != NULL;
      const gboolean inside = node != NULL ? g_strv_contains ((const char *const *)ids, node)
                                           : loom_element_get (e, "hidden") != NULL
                                                 && studio_geometry_is_within (&border, value (e, "x"), value (e, "y"),
                                                                               closed ? 0 : value (e, "width"),
                                                                               closed ? 0 : value (e, "height"));

      if (tag == LOOM_TAG_ROUTE)
        move_route (edits, e, (const char *const *)ids, dx, dy);
      else if (inside)
        {
          put (edits, e, "x", value (e, "x") + dx);
          put (edits, e, "y", value (e, "y") + dy);
        }
    }
}

static void
free_edit (gpointer edit)
{
  g_clear_pointer (&edit, loom_edit_free);
}

static gboolean
has_moved (const StudioScene *scene, const StudioLayout *layout, const char *end)
{
  g_autofree char *id = NULL, *port = NULL;
  guint i = end != NULL && loom_end_split (end, &id, &port) ? studio_scene_find_id (scene, id) : STUDIO_NO_ITEM;

  return i != STUDIO_NO_ITEM && (layout->x[i] != scene->item[i].x || layout->y[i] != scene->item[i].y);
}

/* Waypoints set by the user are relative to the old positions of cards. */
static void
drop_routes (GPtrArray *edits, const LoomElement *element, const StudioScene *scene, const StudioLayout *layout)
{
  for (guint i = loom_element_n_children (element); i-- > 0;)
    {
      const LoomElement *e = loom_element_child (element, i);

      if (loom_element_tag (e) == LOOM_TAG_ROUTE
          && (has_moved (scene, layout, loom_element_get (e, "from"))
              || has_moved (scene, layout, loom_element_get (e, "to"))))
        g_ptr_array_add (edits, loom_edit_remove (e));
    }
}

/* The direction to write to <layout>; NULL: none. */
static const char *
direction_of (const StudioLayout *layout)
{
  return layout->stated ? studio_flow_name (layout->flow) : NULL;
}

GPtrArray *
studio_layout_edits (const LoomGraph *graph, const LoomElement *scope, const StudioScene *scene,
                     const StudioLayout *layout)
{
  GPtrArray *edits = g_ptr_array_new_with_free_func (free_edit);
  LoomElement *element = loom_element_find (scope, LOOM_TAG_LAYOUT);
  guint at = element != NULL ? loom_element_place_for (element, LOOM_TAG_PLACE) : 0;

  if (element == NULL && scene->n_items > 0)
    {
      LoomElement *fresh = loom_element_new (LOOM_TAG_LAYOUT, NULL);

      if (direction_of (layout) != NULL)
        loom_element_set_detached (fresh, "direction", direction_of (layout));

      for (guint i = 0; i < scene->n_items; i++)
        loom_element_append_detached (fresh, new_place (&scene->item[i], layout->x[i], layout->y[i]));
      g_ptr_array_add (edits, loom_edit_insert (scope, loom_element_place_for (scope, LOOM_TAG_LAYOUT), fresh));
      return edits;
    }
  if (element == NULL)
    return edits;
  if (g_strcmp0 (loom_element_get (element, "direction"), direction_of (layout)) != 0)
    g_ptr_array_add (edits, loom_edit_set (element, "direction", direction_of (layout)));
  for (guint i = 0; i < scene->n_items; i++)
    {
      const LoomElement *place = loom_scope_find_place (scope, scene->item[i].id);

      if (scene->item[i].is_frame)
        {
          studio_layout_move_frame (edits, scope, loom_graph_by_serial ((LoomGraph *)graph, scene->item[i].serial),
                                    layout->x[i], layout->y[i]);
          continue;
        }
      if (place == NULL)
        {
          g_ptr_array_add (edits,
                           loom_edit_insert (element, at++, new_place (&scene->item[i], layout->x[i], layout->y[i])));
          continue;
        }
      put (edits, place, "x", layout->x[i]);
      put (edits, place, "y", layout->y[i]);
    }
  for (guint a = 0; a < scene->n_annotations; a++)
    {
      const LoomElement *e = loom_graph_by_serial (graph, scene->annotation[a].serial);

      put (edits, e, "x", layout->annotation[a].x);
      put (edits, e, "y", layout->annotation[a].y);
      if (scene->annotation[a].is_note)
        continue;
      put (edits, e, "width", layout->annotation[a].width);
      put (edits, e, "height", layout->annotation[a].height);
    }
  drop_routes (edits, element, scene, layout);
  return edits;
}
