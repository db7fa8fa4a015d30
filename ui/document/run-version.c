/* A frozen copy of the run's graph, and the steps since then. */
#include "ui/document/run-version.h"

#include <string.h>

struct _RunVersion
{
  LoomGraph *graph;
  char *hash;
  GArray *steps;       /* ids of the steps that were done when the run began */
  GHashTable *meaning; /* id → TRUE if that step changed the meaning */
  LoomErrorCode fault_code;
  char *fault_node, *fault_port, *fault_message; /* fault_node NULL: the run has no fault */
};

RunVersion *
run_version_new (const LoomGraph *graph, const char *hash, const UndoLog *log)
{
  RunVersion *self = g_new0 (RunVersion, 1);

  self->graph = loom_graph_freeze (graph);
  self->hash = g_strdup (hash);
  self->steps = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->meaning = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (guint i = 0; i < undo_log_n_done (log); i++)
    {
      const guint64 step = undo_log_step (log, i);

      g_array_append_val (self->steps, step);
    }
  return self;
}

static void
clear_fault (RunVersion *self)
{
  g_clear_pointer (&self->fault_node, g_free);
  g_clear_pointer (&self->fault_port, g_free);
  g_clear_pointer (&self->fault_message, g_free);
}

void
run_version_free (RunVersion *self)
{
  if (self == NULL)
    return;
  clear_fault (self);
  loom_graph_unref (self->graph);
  g_free (self->hash);
  g_array_unref (self->steps);
  g_hash_table_unref (self->meaning);
  g_free (self);
}

/* ---- steps ----------------------------------------------------------------- */

void
run_version_note_step (RunVersion *self, guint64 step, gboolean changed)
{
  g_hash_table_insert (self->meaning, g_memdup2 (&step, sizeof step), GINT_TO_POINTER (changed));
}

gboolean
run_version_has_step (const RunVersion *self, guint64 step)
{
  return g_hash_table_contains (self->meaning, &step);
}

static gboolean
changed_meaning (const RunVersion *self, guint64 step)
{
  return g_hash_table_lookup (self->meaning, &step) != NULL;
}

void
run_version_fold (RunVersion *self, guint64 gone, guint64 into)
{
  if (changed_meaning (self, gone))
    run_version_note_step (self, into, TRUE);
}

guint
run_version_n_changes (const RunVersion *self, const char *hash, const UndoLog *log)
{
  const guint n = undo_log_n_done (log);
  guint common = 0, changes = 0;

  if (strcmp (self->hash, hash) == 0)
    return 0;
  while (common < self->steps->len && common < n
         && g_array_index (self->steps, guint64, common) == undo_log_step (log, common))
    common++;
  for (guint i = common; i < n; i++)
    changes += changed_meaning (self, undo_log_step (log, i));
  for (guint i = common; i < self->steps->len; i++)
    changes += changed_meaning (self, g_array_index (self->steps, guint64, i));
  /* The hashes differ, so there is a change even if typing was merged into one step. */
  return MAX (changes, 1);
}

/* ---- nodes ----------------------------------------------------------------- */

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

/* All wires that end at a node as one text, for comparison. */
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
run_version_has (const RunVersion *self, const LoomGraph *graph, const char *path)
{
  const LoomElement *then = loom_graph_find_path (self->graph, path, NULL);
  const LoomElement *now = loom_graph_find_path (graph, path, NULL);
  g_autofree char *a = NULL, *b = NULL;

  if (then == NULL || now == NULL || loom_element_serial (then) != loom_element_serial (now)
      || !same_attributes (then, now))
    return FALSE;
  a = incoming (then);
  b = incoming (now);
  return strcmp (a, b) == 0;
}

/* ---- the fault ------------------------------------------------------------- */

void
run_version_set_fault (RunVersion *self, LoomErrorCode code, const char *node, const char *port, const char *message)
{
  clear_fault (self);
  if (node == NULL)
    return;
  self->fault_code = code;
  self->fault_node = g_strdup (node);
  self->fault_port = port != NULL && *port != '\0' ? g_strdup (port) : NULL;
  self->fault_message = g_strdup (message);
}

gboolean
run_version_has_fault (const RunVersion *self)
{
  return self->fault_node != NULL;
}

void
run_version_add_fault (const RunVersion *self, const LoomGraph *graph, LoomFaults *faults)
{
  if (self->fault_node != NULL && run_version_has (self, graph, self->fault_node))
    loom_faults_add (faults, self->fault_code, 0, self->fault_node, self->fault_port, "%s", self->fault_message);
}
