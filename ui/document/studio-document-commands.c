/* Adds, deletes, duplicates and renames nodes of the shown scope, and sets attributes. Each command is one transaction,
 * after which no wire lacks an end. */
#include "ui/document/document-edit.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/document/studio-clipboard.h"
#include "ui/document/studio-document-add.h"
#include "ui/layout/studio-layout.h"

/* ---- helpers ------------------------------------------------------------ */

LoomElement *
studio_document_insert (StudioDocument *self, LoomElement *parent, LoomElement *child)
{
  guint index = loom_element_place_for (parent, loom_element_tag (child));

  studio_document_edit (self, loom_edit_insert (parent, index, child));
  return loom_element_child (parent, index);
}

void
studio_document_remove_element (StudioDocument *self, LoomElement *element)
{
  studio_document_edit (self, loom_edit_remove (element));
}

void
studio_document_put (StudioDocument *self, LoomElement *e, const char *attribute, const char *value)
{
  if (g_strcmp0 (loom_element_get (e, attribute), value) != 0)
    studio_document_edit (self, loom_edit_set (e, attribute, value));
}

char *
studio_document_coordinate (double v)
{
  return studio_layout_coordinate (v);
}

static LoomElement *
ensure_child (StudioDocument *self, LoomElement *parent, LoomTag tag)
{
  LoomElement *e = loom_element_find (parent, tag);

  return e != NULL ? e : studio_document_insert (self, parent, loom_element_new (tag, NULL));
}

LoomElement *
studio_document_ensure (StudioDocument *self, LoomTag tag)
{
  return ensure_child (self, loom_graph_root (studio_document_get_graph (self)), tag);
}

void
studio_document_place (StudioDocument *self, const char *id, double x, double y)
{
  studio_document_place_in (self, studio_document_get_scope (self), id, x, y);
}

void
studio_document_place_in (StudioDocument *self, LoomElement *scope, const char *id, double x, double y)
{
  LoomElement *place = loom_scope_find_place (scope, id);
  g_autofree char *sx = studio_document_coordinate (x), *sy = studio_document_coordinate (y);

  if (studio_document_place_frame (self, scope, id, x, y))
    return;
  if (place == NULL)
    {
      LoomElement *layout = ensure_child (self, scope, LOOM_TAG_LAYOUT);

      studio_document_insert (self, layout, loom_element_new (LOOM_TAG_PLACE, "node", id, "x", sx, "y", sy, NULL));
      return;
    }
  studio_document_put (self, place, "x", sx);
  studio_document_put (self, place, "y", sy);
}

/* ---- adding ------------------------------------------------------------- */

guint64
studio_document_add_node (StudioDocument *self, const char *op, double x, double y)
{
  return studio_document_add (self, op, FALSE, NULL, &(StudioAddPlace){ .x = x, .y = y }, NULL);
}

/* ---- deleting, and joining wires ----------------------------------------- */

static gboolean
is_deleted (StudioDocument *self, const StudioScene *scene, guint item)
{
  return studio_document_is_selected (self, scene->item[item].serial);
}

/* The output that a chain of deleted nodes read through their first inputs. */
static gboolean
source_of (StudioDocument *self, const StudioScene *scene, guint item, guint *from, guint *output)
{
  for (guint steps = 0; steps <= scene->n_items; steps++)
    {
      const StudioItem *it = &scene->item[item];
      guint link = STUDIO_NO_ITEM;

      for (guint p = 0; p < it->n_inputs && link == STUDIO_NO_ITEM; p++)
        if (it->input[p].n_links > 0)
          link = it->input[p].link;
      if (link == STUDIO_NO_ITEM)
        return FALSE;
      *from = scene->link[link].from;
      *output = scene->link[link].output;
      if (!is_deleted (self, scene, *from))
        return TRUE;
      item = *from;
    }
  return FALSE;
}

static void
note_bridges (StudioDocument *self, const StudioScene *scene)
{
  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioLink *link = &scene->link[l];
      guint from, output;

      if (!is_deleted (self, scene, link->from) || is_deleted (self, scene, link->to)
          || !source_of (self, scene, link->from, &from, &output))
        continue;
      studio_document_note_bridge (self, scene->item[from].serial, scene->item[from].output[output].name,
                                   scene->item[link->to].serial, scene->item[link->to].input[link->input].name);
    }
}

static void
delete_selected (StudioDocument *self)
{
  StudioScene *scene = studio_document_get_scene (self);
  LoomElement *scope = studio_document_get_scope (self), *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);
  g_autoptr (GPtrArray) gone = g_ptr_array_new (), routes = g_ptr_array_new ();
  g_autoptr (GHashTable) thin = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *name = NULL;
  guint n_nodes = 0, n_wires = 0, n_annotations = 0;
  const char *only = NULL;

  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioLink *link = &scene->link[l];

      if (studio_document_is_selected (self, link->serial) || is_deleted (self, scene, link->from)
          || is_deleted (self, scene, link->to))
        {
          g_ptr_array_add (gone, loom_graph_by_serial (studio_document_get_graph (self), link->serial));
          n_wires++;
          if (!is_deleted (self, scene, link->to))
            g_hash_table_add (thin, g_strdup (scene->item[link->to].id));
        }
    }
  for (guint i = 0; i < scene->n_items; i++)
    {
      LoomElement *place;

      if (!is_deleted (self, scene, i))
        continue;
      only = scene->item[i].id;
      n_nodes++;
      place = loom_scope_find_place (scope, only);
      if (place != NULL)
        g_ptr_array_add (gone, place);
      g_ptr_array_add (gone, loom_graph_by_serial (studio_document_get_graph (self), scene->item[i].serial));
    }
  for (guint r = 0; r < scene->n_annotations; r++)
    if (studio_document_is_selected (self, scene->annotation[r].serial))
      {
        g_ptr_array_add (gone, loom_graph_by_serial (studio_document_get_graph (self), scene->annotation[r].serial));
        n_annotations++;
      }
  if (gone->len == 0)
    return;

  for (guint i = 0; layout != NULL && i < loom_element_n_children (layout); i++)
    {
      LoomElement *e = loom_element_child (layout, i);

      if (loom_element_tag (e) != LOOM_TAG_ROUTE)
        continue;
      for (guint g = 0; g < gone->len; g++)
        if (loom_element_tag (gone->pdata[g]) == LOOM_TAG_WIRE
            && g_strcmp0 (loom_element_get (e, "from"), loom_element_get (gone->pdata[g], "from")) == 0
            && g_strcmp0 (loom_element_get (e, "to"), loom_element_get (gone->pdata[g], "to")) == 0)
          {
            g_ptr_array_add (routes, e);
            break;
          }
    }

  name = n_nodes == 1   ? g_strdup_printf (_ ("Delete %s"), only)
         : n_nodes > 1  ? g_strdup_printf (ngettext ("Delete %u node", "Delete %u nodes", n_nodes), n_nodes)
         : n_wires == 0 ? g_strdup (n_annotations == 1 ? _ ("Delete note or frame") : _ ("Delete notes and frames"))
         : n_wires == 1 ? g_strdup (_ ("Delete wire"))
                        : g_strdup_printf (ngettext ("Delete %u wire", "Delete %u wires", n_wires), n_wires);
  note_bridges (self, scene);
  studio_document_begin (self, name);
  for (guint i = 0; i < routes->len; i++)
    studio_document_remove_element (self, routes->pdata[i]);
  for (guint i = 0; i < gone->len; i++)
    studio_document_remove_element (self, gone->pdata[i]);
  {
    GHashTableIter iter;
    gpointer id;

    g_hash_table_iter_init (&iter, thin);
    while (g_hash_table_iter_next (&iter, &id, NULL))
      studio_document_close_gaps (self, scope, id);
  }
  studio_document_end (self);
}

/* Deleting a collapsed frame deletes its nodes. */
static gboolean
delete_with_frames (StudioDocument *self)
{
  StudioScene *scene = studio_document_get_scene (self);
  g_autofree char *name = NULL;

  for (guint i = scene->n_items - studio_scene_n_frames (scene); i < scene->n_items; i++)
    if (studio_document_is_selected (self, scene->item[i].serial))
      {
        g_free (name);
        name = g_strdup_printf (_ ("Delete %s"), scene->item[i].title);
      }
  if (name == NULL)
    return FALSE;
  studio_document_begin (self, name);
  g_ptr_array_unref (studio_document_open_selected (self));
  studio_document_delete_selection (self);
  studio_document_end (self);
  return TRUE;
}

void
studio_document_delete_selection (StudioDocument *self)
{
  if (delete_with_frames (self))
    return;
  delete_selected (self);
}

/* ---- changing ----------------------------------------------------------- */

/* The first parameter of a node has a new value, which determines its other parameters: removes those that belong to
 * other values only. If the value is invalid, for example while it is being typed, all stay. */
static void
drop_other_params (StudioDocument *self, LoomElement *node, const LoomOp *op)
{
  g_autoptr (GPtrArray) gone = g_ptr_array_new_with_free_func (g_free);
  const LoomParamSpec *params = loom_op_params (op, node);

  if (loom_op_variant (op, loom_element_get (node, op->params->name)) == NULL)
    return;
  for (guint i = 0; i < loom_element_n_attributes (node); i++)
    {
      const LoomParamSpec *p = params;
      const char *name;

      loom_element_attribute (node, i, &name, NULL);
      while (p->name != NULL && strcmp (p->name, name) != 0)
        p++;
      if (p->name == NULL && loom_op_has_param (op, name))
        g_ptr_array_add (gone, g_strdup (name));
    }
  for (guint i = 0; i < gone->len; i++)
    studio_document_put (self, node, gone->pdata[i], NULL);
}

void
studio_document_set_element_attribute (StudioDocument *self, LoomElement *element, const char *attribute,
                                       const char *value)
{
  g_autofree char *name = NULL, *key = NULL;
  const LoomOp *op = loom_op_of (element);

  if (g_strcmp0 (loom_element_get (element, attribute), value) == 0)
    return;
  name = loom_element_get (element, "id") != NULL
             ? g_strdup_printf (_ ("Set %s of %s"), attribute, loom_element_get (element, "id"))
             : g_strdup_printf (_ ("Set %s"), attribute);
  key = g_strdup_printf ("%" G_GUINT64_FORMAT "/%s", loom_element_serial (element), attribute);
  studio_document_begin (self, name);
  studio_document_edit (self, loom_edit_set (element, attribute, value));
  if (op != NULL && op->variants != NULL && strcmp (attribute, op->params->name) == 0)
    drop_other_params (self, element, op);
  if (studio_document_is_outermost (self))
    studio_document_merge (self, key);
  studio_document_end (self);
}

void
studio_document_set_attribute (StudioDocument *self, guint64 serial, const char *attribute, const char *value)
{
  LoomElement *e = loom_graph_by_serial (studio_document_get_graph (self), serial);

  if (e != NULL)
    studio_document_set_element_attribute (self, e, attribute, value);
}

/* "old" or "old.port" with the new id, also after "grad:"; NULL for any other path. (transfer full) */
static char *
renamed (const char *path, const char *old, const char *id)
{
  const char *colon = strchr (path, ':'), *from = colon != NULL ? colon + 1 : path;
  gsize n = strlen (old);

  if (strncmp (from, old, n) != 0 || (from[n] != '\0' && from[n] != '.'))
    return NULL;
  return g_strdup_printf ("%.*s%s%s", (int)(from - path), path, id, from + n);
}

/* Replaces the first component of an end "old" or "old.rest". */
static void
rename_end (StudioDocument *self, LoomElement *e, const char *attribute, const char *old, const char *id)
{
  const char *value = loom_element_get (e, attribute);
  g_autofree char *text = value != NULL ? renamed (value, old, id) : NULL;

  if (text != NULL)
    studio_document_put (self, e, attribute, text);
}

/* A collapsed frame lists its nodes. */
static void
rename_listed (StudioDocument *self, LoomElement *frame, const char *old, const char *id)
{
  const char *list = loom_element_get (frame, "collapsed");
  g_auto (GStrv) ids = g_strsplit (list != NULL ? list : "", " ", -1);
  g_autofree char *now = NULL;

  for (guint i = 0; ids[i] != NULL; i++)
    if (strcmp (ids[i], old) == 0)
      {
        g_free (ids[i]);
        ids[i] = g_strdup (id);
      }
  now = g_strjoinv (" ", ids);
  if (list != NULL)
    studio_document_put (self, frame, "collapsed", now);
}

/* Renames a node in the elements of one scope that name nodes by id: wires, layout, pins in a module's view. */
static void
rename_in (StudioDocument *self, LoomElement *parent, const char *old, const char *id)
{
  static const char *const ends[] = { "from", "to", "node", "tensor" };

  for (guint i = 0; i < loom_element_n_children (parent); i++)
    {
      LoomElement *e = loom_element_child (parent, i);
      const LoomTag tag = loom_element_tag (e);

      if (tag == LOOM_TAG_LAYOUT
          || (tag == LOOM_TAG_VIEW && parent != loom_graph_root (studio_document_get_graph (self))))
        rename_in (self, e, old, id);
      else if (tag == LOOM_TAG_FRAME)
        rename_listed (self, e, old, id);
      else if (tag == LOOM_TAG_WIRE || tag == LOOM_TAG_ROUTE || tag == LOOM_TAG_PLACE || tag == LOOM_TAG_PIN)
        for (guint a = 0; a < G_N_ELEMENTS (ends); a++)
          rename_end (self, e, ends[a], old, id);
    }
}

typedef struct
{
  const LoomElement *node;
  const char *id;
} Renaming;

static gboolean
rename_step (const LoomElement *node, const char *const *parts, GString *s, guint *used, gpointer data)
{
  const Renaming *renaming = data;

  if (node == renaming->node)
    g_string_append (s, renaming->id);
  return node == renaming->node;
}

static char *
rename_name (const LoomElement *node, gpointer data)
{
  const Renaming *renaming = data;

  return node == renaming->node ? g_strdup (renaming->id) : NULL;
}

/* Replaces a name in an attribute with a list of names, separated by commas. */
static void
rename_in_list (StudioDocument *self, LoomElement *e, const char *attribute, const char *old, const char *id)
{
  const char *text = loom_op_of (e) != NULL ? loom_element_get (e, attribute) : NULL;
  g_auto (GStrv) names = text != NULL ? g_strsplit (text, ",", -1) : NULL;
  g_autofree char *now = NULL;
  gboolean is_listed = FALSE;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (g_str_equal (g_strstrip (names[i]), old))
      {
        g_free (names[i]);
        names[i] = g_strdup (id);
        is_listed = TRUE;
      }
  if (!is_listed)
    return;
  now = g_strjoinv (",", names);
  studio_document_edit (self, loom_edit_set (e, attribute, now));
}

/* A module's port has a new name: updates the wires at its instances. */
static void
rename_instance_ports (StudioDocument *self, LoomElement *scope, const char *module, const char *old, const char *id,
                       gboolean is_output)
{
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);

      if (loom_element_tag (e) == LOOM_TAG_MODULE)
        rename_instance_ports (self, e, module, old, id, is_output);
      else if (loom_element_tag (e) == LOOM_TAG_NODE && loom_node_uses_module (e, module))
        {
          g_autofree char *end = g_strdup_printf ("%s.%s", loom_element_get (e, "id"), old);
          g_autofree char *now = g_strdup_printf ("%s.%s", loom_element_get (e, "id"), id);

          for (guint k = 0; k < loom_element_n_children (scope); k++)
            if (loom_element_tag (loom_element_child (scope, k)) == LOOM_TAG_WIRE)
              rename_end (self, loom_element_child (scope, k), is_output ? "from" : "to", end, now);
          if (!is_output)
            rename_in_list (self, e, "sequence", old, id);
        }
    }
}

/* An input of a loop's body has a new name: updates the outputs that are carried to it. */
static void
rename_carried (StudioDocument *self, LoomElement *module, const char *old, const char *id)
{
  for (guint i = 0; i < loom_element_n_children (module); i++)
    {
      LoomElement *e = loom_element_child (module, i);

      if (loom_op_has_role (e, LOOM_ROLE_MODULE_OUTPUT) && g_strcmp0 (loom_element_get (e, LOOM_CARRY), old) == 0)
        studio_document_edit (self, loom_edit_set (e, LOOM_CARRY, id));
    }
}

gboolean
studio_document_rename (StudioDocument *self, guint64 serial, const char *id, GError **error)
{
  LoomElement *node = studio_document_node (self, serial), *scope = studio_document_get_scope (self);
  g_autofree char *old = node != NULL ? g_strdup (loom_element_get (node, "id")) : NULL, *name = NULL;

  if (old == NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "The node is no longer there.");
      return FALSE;
    }
  if (strcmp (old, id) == 0)
    return TRUE;
  if (!loom_id_is_valid (id))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   "“%s” cannot be a name: use letters without accents, digits, _ and -.", id);
      return FALSE;
    }
  if (loom_scope_find_node (scope, id) != NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "The graph has a node %s already.", id);
      return FALSE;
    }
  name = g_strdup_printf (_ ("Rename %s to %s"), old, id);
  studio_document_begin (self, name);
  studio_document_map_paths (self, &(StudioPathChange){ .scope = scope, .step = rename_step, .names = rename_name },
                             &(Renaming){ .node = node, .id = id });
  rename_in (self, scope, old, id);
  if (loom_element_tag (scope) == LOOM_TAG_MODULE
      && (loom_op_has_role (node, LOOM_ROLE_MODULE_INPUT) || loom_op_has_role (node, LOOM_ROLE_MODULE_OUTPUT)))
    {
      rename_instance_ports (self, loom_graph_root (studio_document_get_graph (self)), loom_element_get (scope, "name"),
                             old, id, loom_op_has_role (node, LOOM_ROLE_MODULE_OUTPUT));
      if (loom_op_has_role (node, LOOM_ROLE_MODULE_INPUT))
        rename_carried (self, scope, old, id);
    }
  studio_document_edit (self, loom_edit_set (node, "id", id));
  studio_document_end (self);
  return TRUE;
}

void
studio_document_duplicate (StudioDocument *self)
{
  g_autofree char *text = studio_clipboard_copy (self);
  g_autoptr (GError) error = NULL;

  if (text == NULL)
    return;
  studio_document_begin (self, _ ("Duplicate"));
  if (!studio_clipboard_paste (self, text, NAN, NAN, &error))
    g_warning ("The copied nodes cannot be pasted: %s", error->message);
  studio_document_end (self);
}
