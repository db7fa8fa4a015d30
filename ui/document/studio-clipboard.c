/* Copies a selection as a small graph file, and pastes such a text in one transaction. */
#include "ui/document/studio-clipboard.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/document/document-edit.h"
#include "ui/scene/studio-geometry.h"

/* Appends a module after the modules that it uses. */
static void
collect_module (const LoomGraph *graph, const char *name, GHashTable *seen, GPtrArray *modules)
{
  LoomElement *module = loom_graph_find_module (graph, name);

  if (module == NULL || !g_hash_table_add (seen, g_strdup (name)))
    return;
  for (guint i = 0; i < loom_element_n_children (module); i++)
    {
      const LoomElement *e = loom_element_child (module, i);

      for (guint n = 0; n < loom_node_n_modules (e); n++)
        collect_module (graph, loom_node_nth_module (e, n), seen, modules);
    }
  g_ptr_array_add (modules, module);
}

static char *
copy_selected (StudioDocument *document)
{
  StudioScene *scene = studio_document_get_scene (document);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) modules = g_ptr_array_new ();
  g_autoptr (LoomGraph) copy = loom_graph_new (NULL);
  LoomElement *root = loom_graph_root (copy), *layout = loom_element_new (LOOM_TAG_LAYOUT, NULL);
  guint n = 0;

#define APPEND(element)                                                                                                \
  loom_edit_free (loom_graph_apply (copy, loom_edit_insert (root, loom_element_n_children (root), element)))
  for (guint i = 0; i < scene->n_items; i++)
    if (studio_document_is_selected (document, scene->item[i].serial) && scene->item[i].is_module)
      {
        const LoomElement *e = loom_graph_by_serial (studio_document_get_graph (document), scene->item[i].serial);

        for (guint k = 0; k < loom_node_n_modules (e); k++)
          collect_module (studio_document_get_graph (document), loom_node_nth_module (e, k), seen, modules);
      }
  for (guint i = 0; i < modules->len; i++)
    APPEND (loom_element_copy (modules->pdata[i]));
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      char x[G_ASCII_DTOSTR_BUF_SIZE], y[G_ASCII_DTOSTR_BUF_SIZE];

      if (!studio_document_is_selected (document, item->serial))
        continue;
      n++;
      APPEND (loom_element_copy (loom_graph_by_serial (studio_document_get_graph (document), item->serial)));
      g_ascii_formatd (x, sizeof x, "%.10g", item->x);
      g_ascii_formatd (y, sizeof y, "%.10g", item->y);
      loom_element_append_detached (layout, loom_element_new (LOOM_TAG_PLACE, "node", item->id, "x", x, "y", y, NULL));
    }
  for (guint r = 0; r < scene->n_annotations; r++)
    if (studio_document_is_selected (document, scene->annotation[r].serial))
      {
        n++;
        loom_element_append_detached (layout, loom_element_copy (loom_graph_by_serial (
                                                  studio_document_get_graph (document), scene->annotation[r].serial)));
      }
  if (n == 0)
    {
      loom_element_free (layout);
      return NULL;
    }
  for (guint l = 0; l < scene->n_links; l++)
    if (studio_document_is_selected (document, scene->item[scene->link[l].from].serial)
        && studio_document_is_selected (document, scene->item[scene->link[l].to].serial))
      {
        LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (document), scene->link[l].serial);
        g_autofree char *points = studio_points_format (scene->link[l].point, scene->link[l].n_points);

        APPEND (loom_element_copy (wire));
        if (points[0] != '\0')
          loom_element_append_detached (layout,
                                        loom_element_new (LOOM_TAG_ROUTE, "from", loom_element_get (wire, "from"), "to",
                                                          loom_element_get (wire, "to"), "points", points, NULL));
      }
  APPEND (layout);
#undef APPEND
  return loom_graph_write (copy, NULL);
}

char *
studio_clipboard_copy (StudioDocument *document)
{
  const guint n = studio_document_n_selected (document);
  g_autofree guint64 *before = NULL;
  char *text;

  if (studio_scene_n_frames (studio_document_get_scene (document)) == 0 || !studio_document_selects_frame (document))
    return copy_selected (document);
  /* The nodes of a collapsed frame are copied with the frame, which is expanded meanwhile. */
  before = g_new (guint64, n);
  for (guint i = 0; i < n; i++)
    before[i] = studio_document_get_selected (document, i);
  studio_document_begin (document, _ ("Copy"));
  g_ptr_array_unref (studio_document_open_selected (document));
  text = copy_selected (document);
  studio_document_cancel (document);
  studio_document_select (document, before, n);
  return text;
}

char *
studio_clipboard_copy_module (StudioDocument *document, const char *module)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) modules = g_ptr_array_new ();
  g_autoptr (LoomGraph) copy = loom_graph_new (module);
  LoomElement *root = loom_graph_root (copy);

  collect_module (studio_document_get_graph (document), module, seen, modules);
  if (modules->len == 0)
    return NULL;
  for (guint i = 0; i < modules->len; i++)
    loom_edit_free (loom_graph_apply (
        copy, loom_edit_insert (root, loom_element_n_children (root), loom_element_copy (modules->pdata[i]))));
  loom_edit_free (loom_graph_apply (
      copy, loom_edit_insert (root, loom_element_n_children (root),
                              loom_element_new (LOOM_TAG_NODE, "id", module, "module", module, NULL))));
  return loom_graph_write (copy, NULL);
}

/* TRUE if two trees are equal, except for the name of the root. */
static gboolean
same_tree (const LoomElement *a, const LoomElement *b, gboolean is_top)
{
  if (loom_element_tag (a) != loom_element_tag (b) || loom_element_n_attributes (a) != loom_element_n_attributes (b)
      || loom_element_n_children (a) != loom_element_n_children (b)
      || g_strcmp0 (loom_element_text (a), loom_element_text (b)) != 0)
    return FALSE;
  for (guint i = 0; i < loom_element_n_attributes (a); i++)
    {
      const char *name, *value;

      loom_element_attribute (a, i, &name, &value);
      if (!(is_top && strcmp (name, "name") == 0) && g_strcmp0 (loom_element_get (b, name), value) != 0)
        return FALSE;
    }
  for (guint i = 0; i < loom_element_n_children (a); i++)
    if (!same_tree (loom_element_child (a, i), loom_element_child (b, i), FALSE))
      return FALSE;
  return TRUE;
}

/* In a detached copy, nodes of renamed modules get the new names. */
static void
rename_modules (LoomElement *e, GHashTable *names)
{
  g_autoptr (GString) list = g_string_new (NULL);
  gboolean changed = FALSE;

  for (guint n = 0; n < loom_node_n_modules (e); n++)
    {
      const char *module = loom_node_nth_module (e, n), *now = g_hash_table_lookup (names, module);

      changed |= now != NULL;
      g_string_append_printf (list, "%s%s", n > 0 ? "," : "", now != NULL ? now : module);
    }
  if (changed)
    loom_element_set_detached (e, loom_node_module_attribute (e), list->str);
  for (guint i = 0; i < loom_element_n_children (e); i++)
    rename_modules (loom_element_child (e, i), names);
}

/* Inserts the modules: equal ones are shared, others are renamed if their name exists. */
static void
paste_modules (StudioDocument *document, LoomElement *root, GHashTable *names)
{
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      LoomElement *module = loom_element_child (root, i), *copy, *there;
      const char *name;
      g_autofree char *free_name = NULL;

      if (loom_element_tag (module) != LOOM_TAG_MODULE || (name = loom_element_get (module, "name")) == NULL)
        continue;
      copy = loom_element_copy (module);
      rename_modules (copy, names);
      free_name = g_strdup (name);
      for (guint k = 2; (there = loom_graph_find_module (studio_document_get_graph (document), free_name)) != NULL; k++)
        {
          if (same_tree (copy, there, TRUE))
            break;
          g_free (free_name);
          free_name = g_strdup_printf ("%s_%u", name, k);
        }
      if (strcmp (free_name, name) != 0)
        g_hash_table_insert (names, g_strdup (name), g_strdup (free_name));
      if (there != NULL)
        {
          loom_element_free (copy);
          continue;
        }
      loom_element_set_detached (copy, "name", free_name);
      studio_document_insert (document, loom_graph_root (studio_document_get_graph (document)), copy);
    }
}

/* A module must not contain itself, directly or indirectly. */
static gboolean
module_reaches (const LoomGraph *graph, const char *module, const char *wanted, guint depth)
{
  LoomElement *m = loom_graph_find_module (graph, module);

  if (strcmp (module, wanted) == 0)
    return TRUE;
  for (guint i = 0; m != NULL && depth < 64 && i < loom_element_n_children (m); i++)
    {
      const LoomElement *e = loom_element_child (m, i);

      for (guint n = 0; n < loom_node_n_modules (e); n++)
        if (module_reaches (graph, loom_node_nth_module (e, n), wanted, depth + 1))
          return TRUE;
    }
  return FALSE;
}

/* TRUE if an instance of this module may be in the shown scope. The error has the module's original name. */
static gboolean
may_stand_here (StudioDocument *document, const char *module, const char *called, GError **error)
{
  const LoomElement *scope = studio_document_get_scope (document);

  if (loom_element_tag (scope) != LOOM_TAG_MODULE
      || !module_reaches (studio_document_get_graph (document), module, loom_element_get (scope, "name"), 0))
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_CYCLE,
               _ ("Module %s cannot be pasted here because it would contain itself. Leave the module first."), called);
  return FALSE;
}

char *
studio_clipboard_bring_module (StudioDocument *document, const LoomGraph *graph, const char *module, GError **error)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  const char *now;

  if (loom_graph_find_module (graph, module) == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, _ ("There is no module %s."), module);
      return NULL;
    }
  paste_modules (document, loom_graph_root (graph), names);
  now = g_hash_table_lookup (names, module);
  if (now == NULL)
    now = module;
  return may_stand_here (document, now, module, error) ? g_strdup (now) : NULL;
}

static char *
map_end (const char *end, GHashTable *ids)
{
  g_autofree char *id = NULL, *port = NULL;
  const char *now;

  if (end == NULL || !loom_end_split (end, &id, &port) || (now = g_hash_table_lookup (ids, id)) == NULL)
    return NULL;
  return port != NULL ? g_strdup_printf ("%s.%s", now, port) : g_strdup (now);
}

static double
place_value (const LoomElement *place, const char *attribute)
{
  const char *text = place != NULL ? loom_element_get (place, attribute) : NULL;
  double v = text != NULL ? g_ascii_strtod (text, NULL) : 0;

  return isfinite (v) ? v : 0;
}

/* One grid step to the right and down, and one more for each copy that is already there, so that no copy hides another.
 */
static double
free_offset (const StudioScene *scene, LoomElement *root)
{
  for (double by = STUDIO_GRID;; by += STUDIO_GRID)
    {
      gboolean taken = FALSE;

      for (guint i = 0; i < loom_element_n_children (root) && !taken; i++)
        {
          const LoomElement *e = loom_element_child (root, i), *place;

          if (loom_element_tag (e) != LOOM_TAG_NODE)
            continue;
          place = loom_scope_find_place (root, loom_element_get (e, "id"));
          for (guint k = 0; k < scene->n_items && !taken; k++)
            taken = fabs (scene->item[k].x - place_value (place, "x") - by) < STUDIO_SNAP
                    && fabs (scene->item[k].y - place_value (place, "y") - by) < STUDIO_SNAP;
        }
      if (!taken)
        return by;
    }
}

/* Copies the waypoints of a wire in the clipboard to the new wire. */
static void
paste_points (StudioDocument *document, const LoomElement *root, const LoomElement *from, LoomElement *wire, double dx,
              double dy)
{
  const LoomElement *layout = loom_element_find (root, LOOM_TAG_LAYOUT);

  for (guint i = 0; layout != NULL && i < loom_element_n_children (layout); i++)
    {
      const LoomElement *e = loom_element_child (layout, i);
      const char *text = loom_element_tag (e) == LOOM_TAG_ROUTE ? loom_element_get (e, "points") : NULL;
      g_autofree StudioPoint *point = NULL;
      guint n = 0;

      if (text == NULL || g_strcmp0 (loom_element_get (e, "from"), loom_element_get (from, "from")) != 0
          || g_strcmp0 (loom_element_get (e, "to"), loom_element_get (from, "to")) != 0)
        continue;
      point = studio_points_parse (text, &n);
      for (guint k = 0; k < n; k++)
        point[k] = (StudioPoint){ point[k].x + dx, point[k].y + dy };
      studio_document_put_points (document, wire, point, n);
      return;
    }
}

static gboolean
is_annotation (const LoomElement *e)
{
  return loom_element_tag (e) == LOOM_TAG_FRAME || loom_element_tag (e) == LOOM_TAG_NOTE;
}

/* Counts the frames and notes of the text, and finds their corner. */
static guint
measure_annotations (const LoomElement *root, double *left, double *top)
{
  const LoomElement *layout = loom_element_find (root, LOOM_TAG_LAYOUT);
  guint n = 0;

  for (guint i = 0; layout != NULL && i < loom_element_n_children (layout); i++)
    {
      const LoomElement *e = loom_element_child (layout, i);

      if (!is_annotation (e))
        continue;
      *left = MIN (*left, place_value (e, "x"));
      *top = MIN (*top, place_value (e, "y"));
      n++;
    }
  return n;
}

static void
paste_annotations (StudioDocument *document, const LoomElement *root, double dx, double dy, GArray *serials)
{
  const LoomElement *from = loom_element_find (root, LOOM_TAG_LAYOUT);
  LoomElement *scope = studio_document_get_scope (document), *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);

  for (guint i = 0; from != NULL && i < loom_element_n_children (from); i++)
    {
      const LoomElement *e = loom_element_child (from, i);
      g_autofree char *x = studio_document_coordinate (place_value (e, "x") + dx);
      g_autofree char *y = studio_document_coordinate (place_value (e, "y") + dy);
      LoomElement *copy;
      guint64 serial;

      if (!is_annotation (e))
        continue;
      if (layout == NULL)
        layout = studio_document_insert (document, scope, loom_element_new (LOOM_TAG_LAYOUT, NULL));
      copy = loom_element_copy (e);
      loom_element_set_detached (copy, "x", x);
      loom_element_set_detached (copy, "y", y);
      serial = loom_element_serial (studio_document_insert (document, layout, copy));
      g_array_append_val (serials, serial);
    }
}

gboolean
studio_clipboard_paste (StudioDocument *document, const char *text, double x, double y, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "the clipboard", faults, error);
  g_autoptr (GHashTable) ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GArray) serials = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autofree char *step = NULL;
  LoomElement *root, *scope;
  double left = G_MAXDOUBLE, top = G_MAXDOUBLE, dx, dy;
  guint n = 0, n_annotations;

  if (graph == NULL)
    return FALSE;
  root = loom_graph_root (graph);
  scope = studio_document_get_scope (document);
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *e = loom_element_child (root, i), *place;

      if (loom_element_tag (e) != LOOM_TAG_NODE)
        continue;
      n++;
      place = loom_scope_find_place (root, loom_element_get (e, "id"));
      left = MIN (left, place_value (place, "x"));
      top = MIN (top, place_value (place, "y"));
    }
  n_annotations = measure_annotations (root, &left, &top);
  if (n + n_annotations == 0)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_PARSE, _ ("There are no nodes on the clipboard."));
      return FALSE;
    }
  dx = isnan (x) ? free_offset (studio_document_get_scene (document), root) : studio_geometry_snap (x - left);
  dy = isnan (y) ? isnan (x) ? dx : free_offset (studio_document_get_scene (document), root)
                 : studio_geometry_snap (y - top);

  step = n == 0   ? g_strdup (_ ("Paste notes and frames"))
         : n == 1 ? g_strdup (_ ("Paste a node"))
                  : g_strdup_printf (ngettext ("Paste %u node", "Paste %u nodes", n), n);
  studio_document_begin (document, step);
  paste_modules (document, root, names);
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *e = loom_element_child (root, i);

      for (guint k = 0; k < loom_node_n_modules (e); k++)
        {
          const char *module = loom_node_nth_module (e, k), *now = g_hash_table_lookup (names, module);

          if (may_stand_here (document, now != NULL ? now : module, module, error))
            continue;
          studio_document_cancel (document);
          return FALSE;
        }
    }
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      LoomElement *e = loom_element_child (root, i), *copy, *place;
      const char *id = loom_element_tag (e) == LOOM_TAG_NODE ? loom_element_get (e, "id") : NULL;
      char *now;
      guint64 serial;

      if (id == NULL)
        continue;
      now = loom_scope_free_id (scope, id);
      g_hash_table_insert (ids, g_strdup (id), now);
      copy = loom_element_copy (e);
      loom_element_set_detached (copy, "id", now);
      rename_modules (copy, names);
      serial = loom_element_serial (studio_document_insert (document, scope, copy));
      g_array_append_val (serials, serial);
      place = loom_scope_find_place (root, id);
      studio_document_place (document, now, place_value (place, "x") + dx, place_value (place, "y") + dy);
    }
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *e = loom_element_child (root, i);
      g_autofree char *from = NULL, *to = NULL;

      if (loom_element_tag (e) != LOOM_TAG_WIRE)
        continue;
      from = map_end (loom_element_get (e, "from"), ids);
      to = map_end (loom_element_get (e, "to"), ids);
      if (from != NULL && to != NULL)
        paste_points (
            document, root, e,
            studio_document_insert (document, scope, loom_element_new (LOOM_TAG_WIRE, "from", from, "to", to, NULL)),
            dx, dy);
    }
  paste_annotations (document, root, dx, dy, serials);
  studio_document_end (document);
  studio_document_select (document, (const guint64 *)(gpointer)serials->data, serials->len);
  return TRUE;
}
