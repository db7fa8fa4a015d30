/* The document's scopes (which module one is in), and what it has in common with a run. */
#include "ui/document/studio-loops.h"
#include "ui/document/studio-document-private.h"

#include <glib/gi18n.h>
#include <string.h>

static StudioScopeEntry *
innermost (StudioDocument *self)
{
  return self->scope->len > 0 ? &g_array_index (self->scope, StudioScopeEntry, self->scope->len - 1) : NULL;
}

LoomElement *
studio_document_get_scope (StudioDocument *self)
{
  StudioScopeEntry *entry = innermost (self);
  LoomElement *module = entry != NULL ? loom_graph_by_serial (self->graph, entry->module) : NULL;

  return module != NULL ? module : loom_graph_root (self->graph);
}

const char *
studio_document_get_scope_path (StudioDocument *self)
{
  StudioScopeEntry *entry = innermost (self);

  return entry != NULL ? entry->path : "";
}

LoomElement *
studio_document_node (StudioDocument *self, guint64 serial)
{
  LoomElement *e = loom_graph_by_serial (self->graph, serial);

  return e != NULL && loom_element_tag (e) == LOOM_TAG_NODE
                 && loom_element_parent (e) == studio_document_get_scope (self)
             ? e
             : NULL;
}

char *
studio_document_dup_node_path (StudioDocument *self, guint64 serial)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint i = studio_scene_find (scene, serial);

  return i != STUDIO_NO_ITEM ? g_strdup (scene->item[i].path) : NULL;
}

static void
scope_moved (StudioDocument *self)
{
  studio_document_refresh_scene (self);
  g_array_set_size (self->selection, 0);
  g_hash_table_remove_all (self->selected);
  g_signal_emit_by_name (self, "scope-changed");
  g_signal_emit_by_name (self, "selection-changed");
}

gboolean
studio_document_enter (StudioDocument *self, guint64 serial)
{
  return studio_document_enter_body (self, serial, 0);
}

gboolean
studio_document_enter_body (StudioDocument *self, guint64 serial, guint body)
{
  LoomElement *e = studio_document_node (self, serial), *module;
  const char *name = e != NULL ? loom_node_nth_module (e, body) : NULL;
  gboolean is_numbered = e != NULL && loom_node_numbers_modules (e);
  StudioScopeEntry entry;

  module = name != NULL ? loom_graph_find_module (self->graph, name) : NULL;
  if (module == NULL || self->depth > 0)
    return FALSE;
  entry.module = loom_element_serial (module);
  entry.instance = serial;
  entry.path = studio_document_dup_node_path (self, serial);
  if (is_numbered)
    {
      g_autofree char *node = entry.path;

      entry.path = g_strdup_printf ("%s.%u", node, body);
    }
  g_array_append_val (self->scope, entry);
  scope_moved (self);
  return TRUE;
}

void
studio_document_leave_to (StudioDocument *self, guint depth)
{
  guint64 instance;

  if (depth >= self->scope->len || self->depth > 0)
    return;
  instance = g_array_index (self->scope, StudioScopeEntry, depth).instance;
  g_array_set_size (self->scope, depth);
  scope_moved (self);
  studio_document_select_only (self, instance);
}

void
studio_document_leave (StudioDocument *self)
{
  if (self->scope->len > 0)
    studio_document_leave_to (self, self->scope->len - 1);
}

guint
studio_document_scope_depth (StudioDocument *self)
{
  return self->scope->len;
}

char *
studio_document_dup_scope_name (StudioDocument *self, guint depth)
{
  LoomElement *module;

  if (depth == 0 || depth > self->scope->len)
    return studio_document_dup_title (self);
  module = loom_graph_by_serial (self->graph, g_array_index (self->scope, StudioScopeEntry, depth - 1).module);
  return g_strdup (module != NULL ? loom_element_get (module, "name") : NULL);
}

static guint
count_uses (const LoomElement *scope, const char *module)
{
  guint uses = 0;

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i);

      if (loom_element_tag (e) == LOOM_TAG_MODULE)
        uses += count_uses (e, module);
      else if (loom_element_tag (e) == LOOM_TAG_NODE && loom_node_uses_module (e, module))
        uses++;
    }
  return uses;
}

guint
studio_document_module_uses (StudioDocument *self, const char *module)
{
  return count_uses (loom_graph_root (self->graph), module);
}

gboolean
studio_document_make_unique (StudioDocument *self)
{
  StudioScopeEntry *entry = innermost (self);
  LoomElement *module, *instance, *copy;
  g_autofree char *name = NULL, *step = NULL, *list = NULL;
  const char *old;

  if (entry == NULL)
    return FALSE;
  module = loom_graph_by_serial (self->graph, entry->module);
  instance = loom_graph_by_serial (self->graph, entry->instance);
  old = loom_element_get (module, "name");
  if (studio_document_module_uses (self, old) < 2)
    return FALSE;
  for (guint k = 2; name == NULL; k++)
    {
      g_autofree char *wanted = g_strdup_printf ("%s_%u", old, k);

      if (loom_graph_find_module (self->graph, wanted) == NULL)
        name = g_steal_pointer (&wanted);
    }
  copy = loom_element_copy (module);
  loom_element_set_detached (copy, "name", name);
  step = g_strdup_printf (_ ("Make %s unique"), old);
  g_array_set_size (self->selection, 0);
  g_hash_table_remove_all (self->selected);
  studio_document_begin (self, step);
  studio_document_edit (self, loom_edit_insert (loom_graph_root (self->graph), loom_element_index (module) + 1, copy));
  /* The place to stand on is exchanged before anybody is told. */
  entry->module = loom_element_serial (loom_graph_find_module (self->graph, name));
  /* Of several modules its path ends with the number of the one that is shown. */
  list = loom_node_rename_module (
      instance, loom_node_numbers_modules (instance) ? (guint)atoi (strrchr (entry->path, '.') + 1) : 0, name);
  studio_document_edit (self, loom_edit_set (instance, loom_node_module_attribute (instance), list));
  studio_document_end (self);
  g_signal_emit_by_name (self, "scope-changed");
  g_signal_emit_by_name (self, "selection-changed");
  return TRUE;
}

static gboolean find_argument (StudioDocument *self, guint depth, const char *name, char **value);

typedef struct
{
  StudioDocument *document;
  guint depth;
} ArgumentScope;

static gboolean
argument_cb (const char *name, LoomNumber *number, gpointer data)
{
  const ArgumentScope *scope = data;
  g_autofree char *value = NULL;
  char *end;

  if (!find_argument (scope->document, scope->depth, name, &value) || value == NULL)
    return FALSE;
  number->d = g_ascii_strtod (value, &end);
  number->i = (gint64)number->d;
  number->is_int = strchr (value, '.') == NULL && strchr (value, 'e') == NULL;
  return end != value && *end == '\0';
}

/* An argument of the module at this depth. What the instance says may be an expression of the scope outside. */
static gboolean
find_argument (StudioDocument *self, guint depth, const char *name, char **value)
{
  const StudioScopeEntry *entry
      = depth > 0 && depth <= self->scope->len ? &g_array_index (self->scope, StudioScopeEntry, depth - 1) : NULL;
  const LoomElement *module = entry != NULL ? loom_graph_by_serial (self->graph, entry->module) : NULL;
  const LoomElement *instance = entry != NULL ? loom_graph_by_serial (self->graph, entry->instance) : NULL;

  *value = NULL;
  for (guint i = 0; module != NULL && i < loom_element_n_children (module); i++)
    {
      const LoomElement *arg = loom_element_child (module, i);
      const char *text;
      ArgumentScope outer = { self, depth - 1 };
      LoomNumber number;

      if (loom_element_tag (arg) != LOOM_TAG_ARG || g_strcmp0 (loom_element_get (arg, "name"), name) != 0)
        continue;
      text = instance != NULL ? loom_element_get (instance, name) : NULL;
      text = text != NULL ? text : loom_element_get (arg, "default");
      if (text == NULL || !loom_expr_is (text))
        *value = g_strdup (text);
      else if (loom_expr_eval (text, argument_cb, &outer, &number, NULL))
        *value = loom_number_to_string (number);
      return TRUE;
    }
  return FALSE;
}

gboolean
studio_document_find_argument (StudioDocument *self, const char *name, char **value)
{
  return find_argument (self, self->scope->len, name, value);
}

gboolean
studio_document_reveal (StudioDocument *self, const char *path)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  g_autoptr (GArray) wanted = g_array_new (FALSE, TRUE, sizeof (StudioScopeEntry));
  LoomElement *scope = loom_graph_root (self->graph), *node = NULL;
  g_autofree char *at = g_strdup ("");
  gboolean same;

  g_array_set_clear_func (wanted, (GDestroyNotify)studio_scope_entry_clear);
  for (guint i = 0; part[i] != NULL; i++)
    {
      const char *module, *copy = NULL;
      char *here;

      node = loom_scope_find_node (scope, part[i]);
      if (node == NULL)
        return FALSE;
      here = loom_node_path (at, node);
      g_free (at);
      at = here;
      if (part[i + 1] != NULL && loom_node_is_copy (node, part[i + 1]))
        copy = part[++i];
      module = copy != NULL ? loom_node_module_at (node, copy) : loom_node_module (node);
      if (copy != NULL && loom_node_numbers_modules (node))
        {
          at = g_strdup_printf ("%s.%s", here, copy);
          g_free (here);
        }
      if (part[i + 1] == NULL)
        break;
      scope = module != NULL ? loom_graph_find_module (self->graph, module) : NULL;
      if (scope == NULL)
        return FALSE;
      g_array_append_vals (
          wanted, &(StudioScopeEntry){ loom_element_serial (scope), loom_element_serial (node), g_strdup (at) }, 1);
    }
  if (node == NULL)
    return FALSE;

  same = wanted->len == self->scope->len;
  for (guint i = 0; same && i < wanted->len; i++)
    same = g_array_index (wanted, StudioScopeEntry, i).instance
           == g_array_index (self->scope, StudioScopeEntry, i).instance;
  if (!same)
    {
      g_array_unref (self->scope);
      self->scope = g_steal_pointer (&wanted);
      scope_moved (self);
    }
  studio_document_show_node (self, loom_element_get (node, "id"));
  studio_document_select_only (self, loom_element_serial (node));
  return TRUE;
}

/* ---- a run -------------------------------------------------------------- */

void
studio_document_mark_run (StudioDocument *self)
{
  studio_document_unmark_run (self);
  self->run_graph = loom_graph_freeze (self->graph);
  self->run_hash = g_strdup (studio_document_hash (self));
  self->run_steps = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->run_meaning = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (guint i = 0; i < self->undo->len; i++)
    g_array_append_val (self->run_steps, ((StudioStep *)g_ptr_array_index (self->undo, i))->id);
  /* A step that had begun before the run may not swallow what comes after. */
  studio_document_end_merge (self);
}

static void
forget_run_fault (StudioDocument *self)
{
  g_clear_pointer (&self->run_fault_node, g_free);
  g_clear_pointer (&self->run_fault_port, g_free);
  g_clear_pointer (&self->run_fault_message, g_free);
}

void
studio_document_set_run_fault (StudioDocument *self, const char *code, const char *node, const char *port,
                               const char *message)
{
  if (node == NULL && self->run_fault_node == NULL)
    return;
  forget_run_fault (self);
  if (node != NULL)
    {
      self->run_fault_node = g_strdup (node);
      self->run_fault_port = port != NULL && *port != '\0' ? g_strdup (port) : NULL;
      self->run_fault_message = g_strdup (message);
      self->run_fault_code = LOOM_ERROR_DATA;
      for (int c = 0; c <= LOOM_ERROR_OUTSIDE; c++)
        if (g_strcmp0 (loom_error_code_name (c), code) == 0)
          self->run_fault_code = c;
    }
  self->net_valid = FALSE;
  studio_document_infer (self);
}

void
studio_document_unmark_run (StudioDocument *self)
{
  forget_run_fault (self);
  g_clear_pointer (&self->run_graph, loom_graph_unref);
  g_clear_pointer (&self->run_hash, g_free);
  g_clear_pointer (&self->run_steps, g_array_unref);
  g_clear_pointer (&self->run_meaning, g_hash_table_unref);
}

guint
studio_document_run_changes (StudioDocument *self)
{
  guint common = 0, changes = 0;

  if (self->run_graph == NULL || strcmp (self->run_hash, studio_document_hash (self)) == 0)
    return 0;
  while (common < self->run_steps->len && common < self->undo->len
         && g_array_index (self->run_steps, guint64, common)
                == ((StudioStep *)g_ptr_array_index (self->undo, common))->id)
    common++;
  for (guint i = common; i < self->undo->len; i++)
    changes += g_hash_table_lookup (self->run_meaning, &((StudioStep *)g_ptr_array_index (self->undo, i))->id) != NULL;
  for (guint i = common; i < self->run_steps->len; i++)
    changes += g_hash_table_lookup (self->run_meaning, &g_array_index (self->run_steps, guint64, i)) != NULL;
  /* The hashes differ, so there is a change even where typing was joined into one step. */
  return MAX (changes, 1);
}

static gboolean
same_attributes (const LoomElement *a, const LoomElement *b)
{
  if (loom_element_n_attributes (a) != loom_element_n_attributes (b))
    return FALSE;
  for (guint i = 0; i < loom_element_n_attributes (a); i++)
    {
      const char *name, *value;

      loom_element_attribute (a, i, &name, &value);
      if (g_strcmp0 (loom_element_get (b, name), value) != 0)
        return FALSE;
    }
  return TRUE;
}

/* The wires that end in a node, as one text, for comparison. */
static char *
incoming (const LoomElement *node)
{
  const LoomElement *scope = loom_element_parent (node);
  const char *id = loom_element_get (node, "id");
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i);
      const char *to = loom_element_tag (e) == LOOM_TAG_WIRE ? loom_element_get (e, "to") : NULL;
      g_autofree char *to_id = NULL, *port = NULL;

      if (to != NULL && loom_end_split (to, &to_id, &port) && g_strcmp0 (to_id, id) == 0)
        g_string_append_printf (s, "%s>%s;", loom_element_get (e, "from"), to);
    }
  return g_string_free (s, FALSE);
}

gboolean
studio_document_run_has (StudioDocument *self, const char *path)
{
  LoomElement *then, *now;
  g_autofree char *a = NULL, *b = NULL;

  if (self->run_graph == NULL)
    return FALSE;
  then = loom_graph_find_path (self->run_graph, path, NULL);
  now = loom_graph_find_path (self->graph, path, NULL);
  if (then == NULL || now == NULL || loom_element_serial (then) != loom_element_serial (now)
      || !same_attributes (then, now))
    return FALSE;
  a = incoming (then);
  b = incoming (now);
  return strcmp (a, b) == 0;
}
