/* Replaces module instances by their contents: arguments are substituted, and copies of a repeat are put in a row. The
 * computation does not change. */
#include "ui/document/document-edit.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/scene/studio-geometry.h"

/* maximum number of new cards */
#define MAX_COPIES 64

typedef struct
{
  StudioDocument *document;
  StudioScene *scene, *inner; /* of the shown scope, and of the module */
  LoomElement *scope, *instance, *module;
  const StudioItem *item; /* the instance */
  guint n_copies;
  GHashTable **ids;      /* per copy: id in the module → id in the scope */
  GHashTable *taken;     /* used ids */
  GHashTable *arguments; /* name → text */
  char **feeds;          /* by input: the source of its wire, or NULL */
  GPtrArray *members;    /* boxed serials */
  double dx, dy, step;   /* from a position in the module to that in the scope, and from copy to copy */
} Ungrouping;

/* ---- arguments --------------------------------------------------------------- */

static gboolean
no_names (const char *name, LoomNumber *value, gpointer data)
{
  return FALSE;
}

/* A value as part of a longer formula. */
static void
append_value (GString *s, const char *value)
{
  if (loom_expr_is (value))
    g_string_append_printf (s, "(%.*s)", (int)strlen (value) - 2, value + 1);
  else if (value[0] == '-')
    g_string_append_printf (s, "(%s)", value);
  else
    g_string_append (s, value);
}

/* A formula with known arguments substituted, as a number if no names are left (transfer full). */
static char *
fill_in (const char *text, GHashTable *arguments)
{
  const char *const letters = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_";
  g_autoptr (GString) s = NULL;
  g_autofree char *only = NULL;
  const char *value;
  LoomNumber number;

  if (!loom_expr_is (text))
    return g_strdup (text);
  only = g_strstrip (g_strndup (text + 1, strlen (text) - 2));
  if ((value = g_hash_table_lookup (arguments, only)) != NULL)
    return g_strdup (value);
  s = g_string_new ("{");
  for (const char *at = text + 1; at[0] != '\0' && at[1] != '\0';)
    {
      gsize n = strspn (at, letters);
      g_autofree char *word = g_strndup (at, n);

      value = n > 0 && !g_ascii_isdigit (at[0]) ? g_hash_table_lookup (arguments, word) : NULL;
      if (value != NULL)
        append_value (s, value);
      else
        g_string_append_len (s, at, (gssize)MAX (n, 1));
      at += MAX (n, 1);
    }
  g_string_append_c (s, '}');
  if (!loom_expr_eval (s->str, no_names, NULL, &number, NULL))
    return g_string_free (g_steal_pointer (&s), FALSE);
  /* 8.0 would not be valid as an integer. */
  if (!number.is_int && number.d == floor (number.d) && fabs (number.d) < 9007199254740992.0)
    number = (LoomNumber){ .is_int = TRUE, .i = (gint64)number.d };
  return loom_number_to_string (number);
}

static void
collect_arguments (Ungrouping *u)
{
  for (guint i = 0; i < loom_element_n_children (u->module); i++)
    {
      const LoomElement *arg = loom_element_child (u->module, i);
      const char *name = loom_element_tag (arg) == LOOM_TAG_ARG ? loom_element_get (arg, "name") : NULL;
      const char *given = name != NULL ? loom_element_get (u->instance, name) : NULL;
      const char *def = name != NULL ? loom_element_get (arg, "default") : NULL;

      if (given != NULL)
        g_hash_table_insert (u->arguments, g_strdup (name), g_strdup (given));
      else if (def != NULL)
        g_hash_table_insert (u->arguments, g_strdup (name), fill_in (def, u->arguments));
    }
}

/* ---- sources of wires ------------------------------------------------------------ */

static const LoomElement *
wire_to (const LoomElement *module, const char *id)
{
  for (guint i = 0; i < loom_element_n_children (module); i++)
    {
      const LoomElement *e = loom_element_child (module, i);
      const char *to = loom_element_tag (e) == LOOM_TAG_WIRE ? loom_element_get (e, "to") : NULL;
      g_autofree char *end = NULL, *port = NULL;

      if (to != NULL && loom_end_split (to, &end, &port) && strcmp (end, id) == 0)
        return e;
    }
  return NULL;
}

static char *outer_source (Ungrouping *u, guint copy, const char *from);

/* The source of a copy's output, as a wire's end in the scope; NULL if it has none. */
static char *
output_source (Ungrouping *u, guint copy, const char *id)
{
  const LoomElement *wire = wire_to (u->module, id);

  return wire != NULL ? outer_source (u, copy, loom_element_get (wire, "from")) : NULL;
}

static char *
input_source (Ungrouping *u, guint copy, guint input)
{
  if (copy > 0 && input == 0)
    return u->item->n_outputs > 0 ? output_source (u, copy - 1, u->item->output[0].name) : NULL;
  return g_strdup (u->feeds[input]);
}

static char *
outer_source (Ungrouping *u, guint copy, const char *from)
{
  g_autofree char *id = NULL, *port = NULL;
  const LoomElement *node;
  const char *now;

  if (from == NULL || !loom_end_split (from, &id, &port) || (node = loom_scope_find_node (u->module, id)) == NULL)
    return NULL;
  if (loom_op_has_role (node, LOOM_ROLE_MODULE_INPUT))
    {
      guint input = studio_item_find_port (u->item, FALSE, id);

      return input != STUDIO_NO_ITEM && input < u->item->n_inputs ? input_source (u, copy, input) : NULL;
    }
  now = g_hash_table_lookup (u->ids[copy], id);
  if (now == NULL)
    return NULL;
  return port != NULL ? g_strdup_printf ("%s.%s", now, port) : g_strdup (now);
}

/* "fc.weight" or "0.fc.weight": a path into the instance, in the form of wires. NULL if it leads nowhere. */
static char *
map_way (Ungrouping *u, const char *way)
{
  guint copy = 0;
  gsize n;
  g_autofree char *id = NULL;
  const char *now;

  if (loom_element_get (u->instance, "repeat") != NULL && g_ascii_isdigit (way[0]))
    {
      copy = (guint)MIN (g_ascii_strtoull (way, NULL, 10), u->n_copies - 1);
      way += strcspn (way, ".");
      way += way[0] == '.';
    }
  n = strcspn (way, ".");
  id = g_strndup (way, n);
  now = g_hash_table_lookup (u->ids[copy], id);
  return now != NULL ? g_strdup_printf ("%s%s", now, way + n) : NULL;
}

/* ---- paths ------------------------------------------------------------------- */

static gboolean
path_step (const LoomElement *node, const char *const *parts, GString *s, guint *used, gpointer data)
{
  Ungrouping *u = data;
  guint n = 1, copy = u->n_copies - 1;
  g_autofree char *source = NULL;
  const char *id, *now;

  if (node != u->instance)
    return FALSE;
  if (parts[n] != NULL && loom_node_is_copy (node, parts[n]))
    {
      const guint64 said = g_ascii_strtoull (parts[n], NULL, 10);

      copy = (guint)MIN (said, copy);
      n++;
    }
  id = parts[n];
  now = id != NULL ? g_hash_table_lookup (u->ids[copy], id) : NULL;
  if (now != NULL)
    {
      g_string_append (s, now);
      *used = n + 1;
      return TRUE;
    }
  /* An output of the module, or its only one. */
  if (id == NULL && u->item->n_outputs > 0)
    id = u->item->output[0].name;
  source = id != NULL ? output_source (u, copy, id) : NULL;
  if (source == NULL)
    return FALSE;
  g_string_append (s, source);
  *used = parts[n] != NULL ? n + 1 : n;
  return TRUE;
}

/* The ids of a module's node in the scope: in this copy, or in all copies if copy is n_copies. */
static void
append_ids (const Ungrouping *u, const char *id, guint copy, GString *ids)
{
  for (guint c = 0; c < u->n_copies; c++)
    {
      const char *now = copy == u->n_copies || copy == c ? g_hash_table_lookup (u->ids[c], id) : NULL;

      if (now != NULL)
        g_string_append_printf (ids, "%s%s", ids->len > 0 ? " " : "", now);
    }
}

/* The spotlight is on all contents. */
static char *
map_name (const LoomElement *node, gpointer data)
{
  const Ungrouping *u = data;
  GString *ids;

  if (node != u->instance)
    return NULL;
  ids = g_string_new (NULL);
  for (guint i = 0; i < u->inner->n_items; i++)
    append_ids (u, u->inner->item[i].id, u->n_copies, ids);
  return g_string_free (ids, FALSE);
}

static void
shift (const Ungrouping *u, LoomElement *e, const char *attribute, double by)
{
  const char *value = loom_element_get (e, attribute);
  g_autofree char *now = value != NULL ? studio_document_coordinate (g_ascii_strtod (value, NULL) + by) : NULL;

  if (now != NULL)
    studio_document_put (u->document, e, attribute, now);
}

/* A slide of the module's inside then shows the enclosing scope, in which the same cards now are. */
static gboolean
map_slide (LoomElement *slide, const StudioPathScope *shown, gpointer data)
{
  const Ungrouping *u = data;
  const char *light = loom_element_get (slide, "spotlight"), *path = loom_element_get (slide, "scope");
  g_auto (GStrv) id = g_strsplit (light != NULL ? light : "", " ", -1);
  const guint copy = MIN (shown->copy, u->n_copies - 1);
  g_autofree char *around = NULL;
  g_autoptr (GString) ids = g_string_new (NULL);

  if (shown->instance == NULL || shown->instance != u->instance)
    return FALSE;
  around = g_strndup (path, shown->n_around);
  for (guint i = 0; id[i] != NULL; i++)
    append_ids (u, id[i], copy, ids);
  studio_document_put (u->document, slide, "scope", around[0] != '\0' ? around : NULL);
  studio_document_put (u->document, slide, "spotlight", ids->len > 0 ? ids->str : NULL);
  shift (u, slide, "x", u->dx + copy * u->step);
  shift (u, slide, "y", u->dy);
  return TRUE;
}

/* ---- putting in -------------------------------------------------------------- */

static gboolean
is_port (const LoomElement *node)
{
  return loom_op_has_role (node, LOOM_ROLE_MODULE_INPUT) || loom_op_has_role (node, LOOM_ROLE_MODULE_OUTPUT);
}

static void
choose_ids (Ungrouping *u)
{
  for (guint copy = 0; copy < u->n_copies; copy++)
    for (guint i = 0; i < loom_element_n_children (u->module); i++)
      {
        const LoomElement *e = loom_element_child (u->module, i), *there;
        const char *id = loom_element_tag (e) == LOOM_TAG_NODE ? loom_element_get (e, "id") : NULL;
        char *now;

        if (id == NULL || is_port (e))
          continue;
        now = g_strdup (id);
        for (guint k = 2; ((there = loom_scope_find_node (u->scope, now)) != NULL && there != u->instance)
                          || g_hash_table_contains (u->taken, now);
             k++)
          {
            g_free (now);
            now = g_strdup_printf ("%s_%u", id, k);
          }
        g_hash_table_add (u->taken, g_strdup (now));
        g_hash_table_insert (u->ids[copy], g_strdup (id), now);
      }
}

static StudioRect
inner_bounds (const Ungrouping *u)
{
  StudioRect bounds = { 0 };
  gboolean any = FALSE;

  for (guint i = 0; i < u->inner->n_items; i++)
    {
      StudioRect card = studio_geometry_card (&u->inner->item[i]);

      if (is_port (loom_scope_find_node (u->module, u->inner->item[i].id)))
        continue;
      bounds = any ? studio_rect_union (bounds, card) : card;
      any = TRUE;
    }
  return bounds;
}

static LoomElement *
copy_member (Ungrouping *u, const LoomElement *e, const char *id)
{
  LoomElement *copy = loom_element_copy (e);

  for (guint a = 0; a < loom_element_n_attributes (e); a++)
    {
      const char *name, *value;
      g_autofree char *filled = NULL;

      loom_element_attribute (e, a, &name, &value);
      filled = fill_in (value, u->arguments);
      if (strcmp (filled, value) != 0)
        loom_element_set_detached (copy, name, filled);
    }
  for (const LoomReserved *r = loom_reserved (); r->spec.name != NULL; r++)
    if (r->is_inherited && loom_element_get (e, r->spec.name) == NULL
        && loom_element_get (u->instance, r->spec.name) != NULL)
      loom_element_set_detached (copy, r->spec.name, loom_element_get (u->instance, r->spec.name));
  loom_element_set_detached (copy, "id", id);
  return copy;
}

static void
insert_copy (Ungrouping *u, guint copy, double dx, double dy)
{
  StudioDocument *self = u->document;

  for (guint i = 0; i < u->inner->n_items; i++)
    {
      const StudioItem *item = &u->inner->item[i];
      const char *id = g_hash_table_lookup (u->ids[copy], item->id);
      guint64 serial;

      if (id == NULL)
        continue;
      serial = loom_element_serial (
          studio_document_insert (self, u->scope, copy_member (u, loom_scope_find_node (u->module, item->id), id)));
      g_ptr_array_add (u->members, g_memdup2 (&serial, sizeof serial));
      studio_document_place (self, id, item->x + dx, item->y + dy);
    }
}

static void
insert_wires (Ungrouping *u, guint copy)
{
  for (guint i = 0; i < loom_element_n_children (u->module); i++)
    {
      const LoomElement *e = loom_element_child (u->module, i);
      g_autofree char *id = NULL, *port = NULL, *from = NULL, *to = NULL;
      const char *now;

      if (loom_element_tag (e) != LOOM_TAG_WIRE || !loom_end_split (loom_element_get (e, "to"), &id, &port)
          || (now = g_hash_table_lookup (u->ids[copy], id)) == NULL
          || (from = outer_source (u, copy, loom_element_get (e, "from"))) == NULL)
        continue;
      to = port != NULL ? g_strdup_printf ("%s.%s", now, port) : g_strdup (now);
      studio_document_insert (u->document, u->scope, loom_element_new (LOOM_TAG_WIRE, "from", from, "to", to, NULL));
    }
}

static void
insert_annotations (Ungrouping *u, double dx, double dy)
{
  const LoomElement *layout = loom_element_find (u->module, LOOM_TAG_LAYOUT);
  guint n = layout != NULL ? loom_element_n_children (layout) : 0;

  for (guint i = 0; i < n; i++)
    {
      const LoomElement *e = loom_element_child (layout, i);
      const char *ex = loom_element_get (e, "x"), *ey = loom_element_get (e, "y");
      g_autofree char *x = NULL, *y = NULL;
      LoomElement *copy;

      if ((loom_element_tag (e) != LOOM_TAG_FRAME && loom_element_tag (e) != LOOM_TAG_NOTE) || ex == NULL || ey == NULL)
        continue;
      x = studio_document_coordinate (g_ascii_strtod (ex, NULL) + dx);
      y = studio_document_coordinate (g_ascii_strtod (ey, NULL) + dy);
      copy = loom_element_copy (e);
      loom_element_set_detached (copy, "x", x);
      loom_element_set_detached (copy, "y", y);
      studio_document_insert (u->document, loom_element_find (u->scope, LOOM_TAG_LAYOUT), copy);
    }
}

/* Wires that left the module begin at its contents; a wire without a source is removed. */
static void
turn_leaving_wires (Ungrouping *u)
{
  guint at = studio_scene_find (u->scene, loom_element_serial (u->instance));

  for (guint l = 0; l < u->scene->n_links; l++)
    {
      const StudioLink *link = &u->scene->link[l];
      LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (u->document), link->serial);
      g_autofree char *from = NULL;

      if (link->from != at)
        continue;
      from = output_source (u, u->n_copies - 1, u->item->output[link->output].name);
      if (from == NULL)
        from = map_way (u, u->item->output[link->output].name);
      studio_document_forget_route (u->document, wire);
      if (from != NULL)
        studio_document_put (u->document, wire, "from", from);
      else
        studio_document_remove_wire (u->document, wire);
    }
}

static void
remove_instance (Ungrouping *u)
{
  StudioDocument *self = u->document;
  guint at = studio_scene_find (u->scene, loom_element_serial (u->instance));
  LoomElement *place = loom_scope_find_place (u->scope, u->item->id);

  for (guint l = 0; l < u->scene->n_links; l++)
    if (u->scene->link[l].to == at)
      {
        LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (self), u->scene->link[l].serial);

        studio_document_forget_route (self, wire);
        studio_document_remove_element (self, wire);
      }
  if (place != NULL)
    studio_document_remove_element (self, place);
  studio_document_remove_element (self, u->instance);
}

/* TRUE if any attribute names the module: of a node, or an argument that is a module. */
static gboolean
is_named (const LoomElement *e, const char *name)
{
  for (guint a = 0; a < loom_element_n_attributes (e); a++)
    {
      const char *key, *value;

      loom_element_attribute (e, a, &key, &value);
      if (strcmp (value, name) == 0 && !(loom_element_tag (e) == LOOM_TAG_MODULE && strcmp (key, "name") == 0)
          && strcmp (key, "id") != 0)
        return TRUE;
    }
  for (guint i = 0; i < loom_element_n_children (e); i++)
    if (is_named (loom_element_child (e, i), name))
      return TRUE;
  return FALSE;
}

static void
put_in (Ungrouping *u)
{
  StudioDocument *self = u->document;
  StudioRect bounds = inner_bounds (u);

  u->dx = studio_geometry_snap (u->item->x + u->item->width / 2 - bounds.x - bounds.width / 2);
  u->dy = studio_geometry_snap (u->item->y + u->item->height / 2 - bounds.y - bounds.height / 2);
  u->step = bounds.width + 64;
  studio_document_map_paths (
      self, &(StudioPathChange){ .scope = u->scope, .step = path_step, .names = map_name, .slide = map_slide }, u);
  turn_leaving_wires (u);
  remove_instance (u);
  for (guint copy = 0; copy < u->n_copies; copy++)
    insert_copy (u, copy, u->dx + copy * u->step, u->dy);
  for (guint copy = 0; copy < u->n_copies; copy++)
    insert_wires (u, copy);
  insert_annotations (u, u->dx, u->dy);
  if (!is_named (loom_graph_root (studio_document_get_graph (self)), loom_element_get (u->module, "name")))
    studio_document_remove_element (self, u->module);
}

/* ---- the command --------------------------------------------------------------- */

/* The number of copies; 0 with an error if they cannot be separated. */
static guint
count_copies (const LoomElement *instance, const char *id, GError **error)
{
  const char *repeat = loom_element_get (instance, "repeat");
  guint64 n = 1;

  if (repeat != NULL && !g_ascii_string_to_unsigned (repeat, 10, 1, G_MAXUINT, &n, NULL))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   _ ("%s cannot be ungrouped because its number of repeats is a formula."), id);
      return 0;
    }
  if (n > MAX_COPIES)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   _ ("%s cannot be ungrouped because it repeats %s times; the limit is %d copies."), id, repeat,
                   MAX_COPIES);
      return 0;
    }
  if (n > 1 && g_strcmp0 (loom_element_get (instance, "share"), "true") == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   _ ("%s cannot be ungrouped because its copies share their weights."), id);
      return 0;
    }
  if (g_strcmp0 (loom_element_get (instance, "mute"), "true") == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   _ ("%s cannot be ungrouped while it is muted. Unmute it first."), id);
      return 0;
    }
  return (guint)n;
}

/* FALSE with an error if this instance cannot be dissolved; then nothing has changed. */
static gboolean
ungroup (StudioDocument *self, guint64 serial, GPtrArray *members, GError **error)
{
  Ungrouping u = { .document = self, .members = members };
  guint i;

  studio_document_refresh_scene (self);
  u.scene = studio_document_get_scene (self);
  i = studio_scene_find (u.scene, serial);
  u.item = &u.scene->item[i];
  u.scope = studio_document_get_scope (self);
  u.instance = loom_graph_by_serial (studio_document_get_graph (self), serial);
  u.module = loom_graph_find_module (studio_document_get_graph (self), u.item->kind);
  u.n_copies = count_copies (u.instance, u.item->id, error);
  if (u.n_copies == 0)
    return FALSE;
  u.inner = studio_scene_new (studio_document_get_graph (self), u.module, "", NULL, NULL, NULL, NULL);
  u.taken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  u.arguments = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  u.ids = g_new0 (GHashTable *, u.n_copies);
  for (guint c = 0; c < u.n_copies; c++)
    u.ids[c] = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  u.feeds = g_new0 (char *, u.item->n_inputs + 1);
  for (guint p = 0; p < u.item->n_inputs; p++)
    if (u.item->input[p].n_links > 0)
      u.feeds[p] = g_strdup (loom_element_get (
          loom_graph_by_serial (studio_document_get_graph (self), u.scene->link[u.item->input[p].link].serial),
          "from"));
  collect_arguments (&u);
  choose_ids (&u);
  put_in (&u);
  for (guint p = 0; p < u.item->n_inputs; p++)
    g_free (u.feeds[p]);
  g_free (u.feeds);
  for (guint c = 0; c < u.n_copies; c++)
    g_hash_table_unref (u.ids[c]);
  g_free (u.ids);
  g_hash_table_unref (u.taken);
  g_hash_table_unref (u.arguments);
  studio_scene_free (u.inner);
  return TRUE;
}

gboolean
studio_document_ungroup_selection (StudioDocument *self, GError **error)
{
  StudioScene *scene = studio_document_get_scene (self);
  g_autoptr (GArray) wanted = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (GPtrArray) members = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GArray) serials = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autofree char *step = NULL;
  gboolean ok = TRUE;

  for (guint i = 0; i < scene->n_items; i++)
    /* A loop's body cannot be dissolved, because it represents all iterations. */
    if (scene->item[i].is_module && scene->item[i].op == NULL
        && studio_document_is_selected (self, scene->item[i].serial)
        && loom_graph_find_module (studio_document_get_graph (self), scene->item[i].kind) != NULL)
      {
        g_array_append_val (wanted, scene->item[i].serial);
        g_free (step);
        step = g_strdup_printf (_ ("Ungroup %s"), scene->item[i].id);
      }
  if (wanted->len == 0)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                           _ ("Select a module first. Its layers then take its place."));
      return FALSE;
    }
  if (wanted->len > 1)
    {
      g_free (step);
      step = g_strdup_printf (ngettext ("Ungroup %u module", "Ungroup %u modules", wanted->len), wanted->len);
    }
  studio_document_begin (self, step);
  for (guint i = 0; i < wanted->len && ok; i++)
    ok = ungroup (self, g_array_index (wanted, guint64, i), members, error);
  if (!ok)
    {
      studio_document_cancel (self);
      return FALSE;
    }
  studio_document_end (self);
  for (guint i = 0; i < members->len; i++)
    g_array_append_val (serials, *(guint64 *)members->pdata[i]);
  studio_document_select (self, (const guint64 *)(gpointer)serials->data, serials->len);
  return TRUE;
}
