/* Changes nodes and keeps their wires: mutes them, changes their operator, or makes modules the bodies of loops. */
#include "ui/document/document-edit.h"
#include "ui/document/studio-loops.h"

#include <glib/gi18n.h>
#include <string.h>


void
studio_document_set_attributes (StudioDocument *self, const guint64 *serials, guint n, const char *attribute,
                                const char *value)
{
  g_autofree char *name = g_strdup_printf (ngettext ("Set %s of %u node", "Set %s of %u nodes", n), attribute, n);
  g_autofree char *key = g_strdup_printf ("several %s %" G_GUINT64_FORMAT, attribute, n > 0 ? serials[0] : 0);

  studio_document_begin (self, name);
  for (guint i = 0; i < n; i++)
    studio_document_set_attribute (self, serials[i], attribute, value);
  studio_document_merge (self, key);
  studio_document_end (self);
}

/* ---- muting ------------------------------------------------------------------------ */

gboolean
studio_document_mute_selection (StudioDocument *self)
{
  g_autoptr (GPtrArray) nodes = studio_document_selected_nodes (self);
  const guint n = nodes->len;
  gboolean all = TRUE;
  g_autofree char *name = NULL;

  for (guint i = 0; i < n; i++)
    all = all && g_strcmp0 (loom_element_get (nodes->pdata[i], "mute"), "true") == 0;
  if (n == 0)
    return FALSE;
  name = n == 1 ? g_strdup_printf (all ? _ ("Unmute %s") : _ ("Mute %s"), loom_element_get (nodes->pdata[0], "id"))
         : all  ? g_strdup_printf (ngettext ("Unmute %u node", "Unmute %u nodes", n), n)
                : g_strdup_printf (ngettext ("Mute %u node", "Mute %u nodes", n), n);
  studio_document_begin (self, name);
  for (guint i = 0; i < n; i++)
    studio_document_put (self, nodes->pdata[i], "mute", all ? NULL : "true");
  studio_document_end (self);
  return TRUE;
}

/* ---- loops ------------------------------------------------------------------- */

static gboolean
is_loop_attribute (const LoomOp *op, const char *name)
{
  return g_str_equal (name, "op") || g_str_equal (name, "module") || loom_op_has_param (op, name);
}

/* Makes the node run its module in such a loop, or if op is NULL, instantiate it. The attributes follow the id, as in
 * files. */
static void
set_loop (StudioDocument *self, LoomElement *node, const LoomOp *op)
{
  const LoomOp *before = loom_op_of (node);
  g_autofree char *module = g_strdup (loom_node_module (node));
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func (g_free);
  const char *name, *value;

  for (guint i = loom_element_n_attributes (node); i-- > 0;)
    {
      loom_element_attribute (node, i, &name, &value);
      if (g_str_equal (name, "id"))
        continue;
      if (!is_loop_attribute (before != NULL ? before : op, name))
        {
          g_ptr_array_insert (kept, 0, g_strdup (value));
          g_ptr_array_insert (kept, 0, g_strdup (name));
        }
      studio_document_put (self, node, name, NULL);
    }
  if (op != NULL)
    studio_document_put (self, node, "op", op->name);
  studio_document_put (self, node, op != NULL ? loom_op_loop (op)->attribute : "module", module);
  for (guint i = 0; i < kept->len; i += 2)
    studio_document_put (self, node, kept->pdata[i], kept->pdata[i + 1]);
}

gboolean
studio_document_run_selection (StudioDocument *self, LoomLoopKind kind)
{
  static const char *const words[] = { [LOOM_LOOP_SCAN] = N_ ("Run %s over a sequence"),
                                       [LOOM_LOOP_SWITCH] = N_ ("Turn %s into a choice"),
                                       [LOOM_LOOP_TREE] = N_ ("Run %s along trees") };
  g_autoptr (GPtrArray) nodes = studio_document_selected_nodes (self);
  g_autofree char *name = NULL;
  gboolean all = TRUE;

  for (guint i = nodes->len; i-- > 0;)
    if (loom_node_module (nodes->pdata[i]) == NULL)
      g_ptr_array_remove_index (nodes, i);
    else
      all = all && loom_op_has_role (nodes->pdata[i], LOOM_ROLE_LOOP);
  if (nodes->len == 0)
    return FALSE;
  name = g_strdup_printf (all ? _ ("Run %s once") : _ (words[kind]), loom_element_get (nodes->pdata[0], "id"));
  studio_document_begin (self, name);
  for (guint i = 0; i < nodes->len; i++)
    set_loop (self, nodes->pdata[i], all ? NULL : loom_loop_of_kind (kind)->op);
  studio_document_end (self);
  return TRUE;
}

/* ---- another operator -------------------------------------------------------- */

static gboolean
is_variadic (const LoomOp *op)
{
  return op->inputs != NULL && op->inputs[0].name != NULL && (op->inputs[0].flags & LOOM_PORT_VARIADIC);
}

static guint
count_plain_inputs (const LoomOp *op)
{
  guint n = 0;

  for (const LoomPortSpec *p = op->inputs; p != NULL && p->name != NULL; p++)
    n += !(p->flags & LOOM_PORT_WEIGHT);
  return n;
}

static guint
count_wired_inputs (const StudioItem *item)
{
  guint n = 0;

  for (guint p = 0; p < item->n_inputs; p++)
    n += item->input[p].n_links > 0 && !item->input[p].weight;
  return n;
}

static gboolean
has_wired_output (const StudioItem *item)
{
  for (guint p = 0; p < item->n_outputs; p++)
    if (item->output[p].n_links > 0)
      return TRUE;
  return FALSE;
}

gboolean
studio_document_can_swap (StudioDocument *self, guint64 serial, const LoomOp *op)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint i = studio_scene_find (scene, serial);
  const StudioItem *item = i != STUDIO_NO_ITEM ? &scene->item[i] : NULL;
  guint wired;

  if (item == NULL || item->is_module || op == item->op || op->category == LOOM_CATEGORY_HIDDEN
      || (item->op != NULL && item->op->role != LOOM_ROLE_NONE) || op->dynamic_inputs != NULL)
    return FALSE;
  wired = count_wired_inputs (item);
  if (has_wired_output (item) && op->dynamic_outputs == NULL && (op->outputs == NULL || op->outputs[0].name == NULL))
    return FALSE;
  return is_variadic (op) || (count_plain_inputs (op) >= wired && (wired > 0 || count_plain_inputs (op) == 0));
}

/* The new input for the wire of an input of this name: one of the same name, else the first free one. NULL: none.
 * (transfer full) */
static char *
place_for (const LoomOp *op, const char *old, GHashTable *taken)
{
  const LoomPortSpec *found = NULL;

  if (is_variadic (op))
    return g_strdup_printf ("%u", g_hash_table_size (taken));
  for (const LoomPortSpec *p = op->inputs; p != NULL && p->name != NULL; p++)
    if (strcmp (p->name, old) == 0 && !g_hash_table_contains (taken, p->name))
      return g_strdup (p->name);
  for (const LoomPortSpec *p = op->inputs; p != NULL && p->name != NULL && found == NULL; p++)
    if (!(p->flags & LOOM_PORT_WEIGHT) && !g_hash_table_contains (taken, p->name))
      found = p;
  return found != NULL ? g_strdup (found->name) : NULL;
}

static void
turn_inputs (StudioDocument *self, const StudioScene *scene, guint at, const LoomOp *op)
{
  const StudioItem *item = &scene->item[at];
  g_autoptr (GHashTable) taken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint p = 0; p < item->n_inputs; p++)
    {
      LoomElement *wire;
      g_autofree char *place = NULL, *to = NULL;

      if (item->input[p].n_links == 0)
        continue;
      wire = loom_graph_by_serial (studio_document_get_graph (self), scene->link[item->input[p].link].serial);
      place = item->input[p].weight && loom_op_weight_index (op, item->input[p].name) < 0
                  ? NULL
                  : place_for (op, item->input[p].name, taken);
      studio_document_forget_route (self, wire);
      if (place == NULL)
        {
          studio_document_remove_element (self, wire);
          continue;
        }
      to = g_strdup_printf ("%s.%s", item->id, place);
      studio_document_put (self, wire, "to", to);
      g_hash_table_add (taken, g_steal_pointer (&place));
    }
}

static void
turn_outputs (StudioDocument *self, const StudioScene *scene, guint at, const LoomOp *op)
{
  const StudioItem *item = &scene->item[at];

  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioLink *link = &scene->link[l];
      LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (self), link->serial);
      const char *name = link->from == at ? item->output[link->output].name : NULL;
      guint n = loom_op_count_ports (op->outputs);
      g_autofree char *from = NULL;

      if (name == NULL || loom_op_weight_index (op, name) >= 0)
        continue;
      if (n == 0 || (loom_op_output_index (op->outputs, n, name) < 0 && link->output > 0))
        {
          studio_document_remove_wire (self, wire);
          continue;
        }
      from = n == 1 || op->dynamic_outputs != NULL ? g_strdup (item->id)
             : loom_op_output_index (op->outputs, n, name) >= 0
                 ? g_strdup_printf ("%s.%s", item->id, name)
                 : g_strdup_printf ("%s.%s", item->id, op->outputs[0].name);
      studio_document_forget_route (self, wire);
      studio_document_put (self, wire, "from", from);
    }
}

/* Removes parameters that the new operator does not have, and values that it does not accept. */
static void
drop_params (StudioDocument *self, LoomElement *node, const LoomOp *op)
{
  g_autoptr (GPtrArray) gone = g_ptr_array_new_with_free_func (g_free);

  for (guint a = 0; a < loom_element_n_attributes (node); a++)
    {
      const char *name, *value;

      loom_element_attribute (node, a, &name, &value);
      if (!loom_is_reserved (name) && strchr (name, ':') == NULL && !loom_op_has_param (op, name))
        g_ptr_array_add (gone, g_strdup (name));
    }
  for (guint i = 0; i < gone->len; i++)
    studio_document_put (self, node, gone->pdata[i], NULL);
}

/* TRUE for an operator's own name, with or without a number, which the user has not chosen. */
static gboolean
is_given_name (const char *id, const char *op)
{
  gsize n = strlen (op);

  return strncmp (id, op, n) == 0
         && (id[n] == '\0' || (id[n] == '_' && strspn (id + n + 1, G_CSET_DIGITS) == strlen (id + n + 1)));
}

gboolean
studio_document_swap (StudioDocument *self, guint64 serial, const char *name)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint i = studio_scene_find (scene, serial);
  const LoomOp *op = loom_op (name);
  LoomElement *node = loom_graph_by_serial (studio_document_get_graph (self), serial);
  g_autofree char *step = NULL, *id = NULL;

  if (i == STUDIO_NO_ITEM || op == NULL || scene->item[i].is_module || op == scene->item[i].op)
    return FALSE;
  step = g_strdup_printf (_ ("Swap %s for %s"), scene->item[i].id, name);
  studio_document_begin (self, step);
  turn_inputs (self, scene, i, op);
  turn_outputs (self, scene, i, op);
  drop_params (self, node, op);
  if (is_given_name (scene->item[i].id, scene->item[i].kind))
    id = loom_scope_free_id (studio_document_get_scope (self), name);
  studio_document_put (self, node, "op", name);
  if (id != NULL)
    studio_document_rename (self, serial, id, NULL);
  studio_document_end (self);
  return TRUE;
}
