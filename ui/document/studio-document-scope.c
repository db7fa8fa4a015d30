/* The scope of a document: entering and leaving modules, their names, uses and arguments. It also marks the run whose
 * graph is compared with the document's. */
#include "engine/graph/loom-digest.h"
#include "ui/document/studio-document-private.h"
#include "ui/document/studio-document-run.h"
#include "ui/document/studio-loops.h"

#include <glib/gi18n.h>
#include <string.h>

LoomElement *
studio_document_get_scope (StudioDocument *self)
{
  return scope_path_element (self->scope, self->graph);
}

const char *
studio_document_get_scope_path (StudioDocument *self)
{
  return scope_path_text (self->scope);
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
  selection_set (self->selection, NULL, 0);
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
  g_autofree char *path = NULL, *body_path = NULL;

  module = name != NULL ? loom_graph_find_module (self->graph, name) : NULL;
  if (module == NULL || studio_document_is_editing (self))
    return FALSE;
  path = studio_document_dup_node_path (self, serial);
  if (loom_node_numbers_modules (e))
    body_path = g_strdup_printf ("%s.%u", path, body);
  scope_path_enter (self->scope, loom_element_serial (module), serial, body_path != NULL ? body_path : path);
  scope_moved (self);
  return TRUE;
}

void
studio_document_leave_to (StudioDocument *self, guint depth)
{
  guint64 instance;

  if (depth >= scope_path_depth (self->scope) || studio_document_is_editing (self))
    return;
  instance = scope_path_level (self->scope, depth).instance;
  scope_path_leave_to (self->scope, depth);
  scope_moved (self);
  studio_document_select_only (self, instance);
}

void
studio_document_leave (StudioDocument *self)
{
  if (scope_path_depth (self->scope) > 0)
    studio_document_leave_to (self, scope_path_depth (self->scope) - 1);
}

guint
studio_document_scope_depth (StudioDocument *self)
{
  return scope_path_depth (self->scope);
}

char *
studio_document_dup_scope_name (StudioDocument *self, guint depth)
{
  LoomElement *module;

  if (depth == 0 || depth > scope_path_depth (self->scope))
    return studio_document_dup_title (self);
  module = loom_graph_by_serial (self->graph, scope_path_level (self->scope, depth - 1).module);
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
  const guint depth = scope_path_depth (self->scope);
  LoomElement *module, *instance, *copy;
  ScopeLevel level;
  g_autofree char *name = NULL, *step = NULL, *list = NULL;
  const char *old;

  if (depth == 0)
    return FALSE;
  level = scope_path_level (self->scope, depth - 1);
  module = loom_graph_by_serial (self->graph, level.module);
  instance = loom_graph_by_serial (self->graph, level.instance);
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
  selection_set (self->selection, NULL, 0);
  studio_document_begin (self, step);
  studio_document_edit (self, loom_edit_insert (loom_graph_root (self->graph), loom_element_index (module) + 1, copy));
  /* The shown scope is replaced before any signal. */
  scope_path_replace_module (self->scope, loom_element_serial (loom_graph_find_module (self->graph, name)));
  /* A switch's path ends with the number of the module that is shown. */
  list = loom_node_rename_module (
      instance, loom_node_numbers_modules (instance) ? (guint)atoi (strrchr (level.path, '.') + 1) : 0, name);
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

/* An argument of the module at this depth. The instance's value may be an expression of the enclosing scope. */
static gboolean
find_argument (StudioDocument *self, guint depth, const char *name, char **value)
{
  const ScopeLevel level = depth > 0 && depth <= scope_path_depth (self->scope)
                               ? scope_path_level (self->scope, depth - 1)
                               : (ScopeLevel){ 0 };
  const LoomElement *module = loom_graph_by_serial (self->graph, level.module);
  const LoomElement *instance = loom_graph_by_serial (self->graph, level.instance);

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
  return find_argument (self, scope_path_depth (self->scope), name, value);
}

gboolean
studio_document_reveal (StudioDocument *self, const char *path)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  g_autoptr (ScopePath) wanted = scope_path_new ();
  LoomElement *scope = loom_graph_root (self->graph), *node = NULL;
  g_autofree char *at = g_strdup ("");
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
      scope_path_enter (wanted, loom_element_serial (scope), loom_element_serial (node), at);
    }
  if (node == NULL)
    return FALSE;

  if (!scope_path_equal (wanted, self->scope))
    {
      scope_path_free (self->scope);
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
  self->run = run_version_new (self->graph, studio_document_hash (self), self->log);
  /* A step that had begun before the run must not be merged with later changes. */
  undo_log_end_merge (self->log);
}

void
studio_document_mark_run_of (StudioDocument *self, const LoomGraph *graph)
{
  g_autofree char *hash = loom_graph_digest (graph);

  studio_document_unmark_run (self);
  self->run = run_version_new (graph, hash, self->log);
  undo_log_end_merge (self->log);
}

void
studio_document_unmark_run (StudioDocument *self)
{
  g_clear_pointer (&self->run, run_version_free);
}

void
studio_document_set_run_fault (StudioDocument *self, const char *code, const char *node, const char *port,
                               const char *message)
{
  LoomErrorCode number = LOOM_ERROR_DATA;

  if (self->run == NULL || (node == NULL && !run_version_has_fault (self->run)))
    return;
  for (int c = 0; c <= LOOM_ERROR_OUTSIDE; c++)
    if (g_strcmp0 (loom_error_code_name (c), code) == 0)
      number = c;
  run_version_set_fault (self->run, number, node, port, message);
  self->net_valid = FALSE;
  studio_document_infer (self);
}

guint
studio_document_run_changes (StudioDocument *self)
{
  return self->run != NULL ? run_version_n_changes (self->run, studio_document_hash (self), self->log) : 0;
}

gboolean
studio_document_run_has (StudioDocument *self, const char *path)
{
  return self->run != NULL && run_version_has (self->run, self->graph, path);
}
