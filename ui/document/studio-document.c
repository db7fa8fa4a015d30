/* The document's core: inference and selection.
 *
 * Transactions and undo stand in studio-document-steps.c, files and the journal in studio-document-file.c, commands in
 * studio-document-commands.c and -wires.c, scopes and the comparison with a run in studio-document-scope.c. */
#include "ui/document/studio-document-private.h"
#include "ui/layout/studio-layout.h"
#include "ui/scene/studio-partitions.h"

#include <errno.h>
#include <string.h>

#include <glib/gstdio.h>

enum
{
  CHANGED,
  SCOPE_CHANGED,
  SELECTION_CHANGED,
  NET_CHANGED,
  FAULTS_CHANGED,
  FILE_CHANGED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (StudioDocument, studio_document, G_TYPE_OBJECT)

/* ---- inference ---------------------------------------------------------- */

static gboolean
same_faults (const LoomFaults *a, const LoomFaults *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  if (loom_faults_length (a) != loom_faults_length (b))
    return FALSE;
  for (guint i = 0; i < loom_faults_length (a); i++)
    {
      const LoomFault *p = loom_faults_get (a, i), *q = loom_faults_get (b, i);

      if (p->code != q->code || p->is_warning != q->is_warning || g_strcmp0 (p->node, q->node) != 0
          || g_strcmp0 (p->port, q->port) != 0 || g_strcmp0 (p->message, q->message) != 0)
        return FALSE;
    }
  return TRUE;
}

static void
add_grammar_faults (LoomFaults *to, const LoomFaults *from)
{
  for (guint i = 0; from != NULL && i < loom_faults_length (from); i++)
    {
      const LoomFault *f = loom_faults_get (from, i);
      LoomFault *copy = loom_faults_add (to, f->code, f->line, f->node, f->port, "%s", f->message);

      copy->is_warning = f->is_warning;
      copy->is_todo = f->is_todo;
      loom_fault_copy_fix (copy, f);
    }
}

/* A fault in <train> is one like any other. Beside a node that is wrong it would mostly repeat, in other
 * words, what that node says. */
static void
judge_training (StudioDocument *self, LoomFaults *faults)
{
  const LoomElement *train = loom_element_find (loom_graph_root (self->graph), LOOM_TAG_TRAIN);
  const char *folder = loom_graph_get_folder (self->graph);
  g_autoptr (LoomTrainSpec) spec = NULL;

  if (loom_faults_count (faults) > 0 || train == NULL)
    return;
  spec = loom_train_spec_new (self->graph, self->net, faults);
  if (spec == NULL)
    return;
  studio_document_note_unread (self, spec, faults);
  /* Checks that need no reading of the data. */
  loom_net_check_classes (self->net, &spec->loss, spec->dataset_node, NULL, faults);
  if (spec->weights != NULL && folder != NULL)
    {
      g_autofree char *path = g_canonicalize_filename (spec->weights, folder);

      if (!g_file_test (path, G_FILE_TEST_EXISTS))
        loom_faults_add (faults, LOOM_ERROR_IO, loom_element_line (train), NULL, "weights",
                         "<train>: The file “%s” with initial weights does not exist.", spec->weights);
    }
}

/* An input that was wired until a node was deleted is not something still to do: the graph worked, and is torn. */
static void
judge_torn (StudioDocument *self, LoomFaults *faults)
{
  for (guint i = 0; self->bridges->len > 0 && i < loom_faults_length (faults); i++)
    {
      LoomFault *fault = g_ptr_array_index (faults->items, i);
      int node = fault->is_todo && fault->node != NULL ? loom_net_find (self->net, fault->node) : -1;

      if (node >= 0
          && studio_document_find_bridge (self, loom_net_node (self->net, (guint)node)->serial, fault->port) != NULL)
        fault->is_todo = FALSE;
    }
}

void
studio_document_infer (StudioDocument *self)
{
  LoomFaults *faults;
  gboolean same;

  g_clear_handle_id (&self->idle, g_source_remove);
  if (self->net_valid)
    return;
  faults = loom_faults_new ();
  add_grammar_faults (faults, self->grammar);
  g_clear_pointer (&self->net, loom_net_free);
  self->net = loom_net_new (self->graph, NULL, faults);
  judge_torn (self, faults);
  judge_training (self, faults);
  if (self->run_fault_node != NULL && studio_document_run_has (self, self->run_fault_node))
    loom_faults_add (faults, self->run_fault_code, 0, self->run_fault_node, self->run_fault_port, "%s",
                     self->run_fault_message);
  self->net_version = loom_graph_version (self->graph);
  self->net_valid = TRUE;
  same = same_faults (self->faults, faults);
  g_clear_pointer (&self->faults, loom_faults_free);
  self->faults = faults;
  studio_document_refresh_scene (self);
  g_signal_emit (self, signals[NET_CHANGED], 0);
  if (!same)
    g_signal_emit (self, signals[FAULTS_CHANGED], 0);
}

static gboolean
idle_cb (gpointer data)
{
  StudioDocument *self = data;
  gboolean was = self->edited, was_valid = self->edited_valid;

  self->idle = 0;
  g_object_ref (self);
  studio_document_infer (self);
  if (!was_valid && studio_document_is_edited (self) != was)
    g_signal_emit (self, signals[FILE_CHANGED], 0);
  g_object_unref (self);
  return G_SOURCE_REMOVE;
}

static void prune (StudioDocument *self);

void
studio_document_forget_derived (StudioDocument *self)
{
  self->net_valid = FALSE;
  self->edited_valid = FALSE;
  studio_document_refresh_scene (self);
  g_clear_pointer (&self->hash, g_free);
  prune (self);
}

void
studio_document_changed (StudioDocument *self)
{
  studio_document_forget_derived (self);
  /* Before the frame is drawn, so that shapes and wires are of one version. */
  if (self->idle == 0)
    self->idle = g_idle_add_full (G_PRIORITY_HIGH_IDLE + 5, idle_cb, self, NULL);
  g_signal_emit (self, signals[CHANGED], 0);
}

LoomGraph *
studio_document_get_graph (StudioDocument *self)
{
  return self->graph;
}

LoomNet *
studio_document_get_net (StudioDocument *self)
{
  studio_document_infer (self);
  return self->net;
}

LoomFaults *
studio_document_get_faults (StudioDocument *self)
{
  studio_document_infer (self);
  return self->faults;
}

LoomNet *
studio_document_peek_net (StudioDocument *self)
{
  return self->net;
}

StudioScene *
studio_document_get_scene (StudioDocument *self)
{
  if (self->scene == NULL)
    {
      studio_document_begin_trials (self);
      self->scene
          = studio_scene_new (self->graph, studio_document_get_scope (self), studio_document_get_scope_path (self),
                              self->net, self->faults, studio_document_fix_for_fault, self);
      /* An older net has elements that may be gone; the scene is made anew with the next one. */
      if (self->net_valid && self->net != NULL)
        studio_scene_add_shards (self->scene, self->graph, self->net);
      studio_layout_fill (self->scene);
      /* Most wires of the next version lie where they lay. */
      if (self->routes != NULL)
        studio_scene_set_routes (self->scene, g_steal_pointer (&self->routes));
    }
  return self->scene;
}

void
studio_document_refresh_scene (StudioDocument *self)
{
  if (self->scene == NULL)
    return;
  self->routes = studio_scene_steal_routes (self->scene);
  g_clear_pointer (&self->scene, studio_scene_free);
}

const char *
studio_document_hash (StudioDocument *self)
{
  if (self->hash == NULL)
    self->hash = loom_graph_hash (self->graph);
  return self->hash;
}

/* ---- selection ---------------------------------------------------------- */

/* The set beside the list: the canvas asks about every card and wire in each frame. */
void
studio_document_rebuild_selected (StudioDocument *self)
{
  g_hash_table_remove_all (self->selected);
  for (guint i = 0; i < self->selection->len; i++)
    g_hash_table_add (self->selected, g_memdup2 (&g_array_index (self->selection, guint64, i), sizeof (guint64)));
}

static guint
selection_index (StudioDocument *self, guint64 serial)
{
  for (guint i = 0; i < self->selection->len; i++)
    if (g_array_index (self->selection, guint64, i) == serial)
      return i;
  return G_MAXUINT;
}

gboolean
studio_document_is_selected (StudioDocument *self, guint64 serial)
{
  return g_hash_table_contains (self->selected, &serial);
}

guint
studio_document_n_selected (StudioDocument *self)
{
  return self->selection->len;
}

guint64
studio_document_get_selected (StudioDocument *self, guint i)
{
  return i < self->selection->len ? g_array_index (self->selection, guint64, i) : 0;
}

void
studio_document_select (StudioDocument *self, const guint64 *serials, guint n)
{
  if (n == self->selection->len && (n == 0 || memcmp (serials, self->selection->data, n * sizeof *serials) == 0))
    return;
  g_array_set_size (self->selection, 0);
  if (n > 0)
    g_array_append_vals (self->selection, serials, n);
  g_signal_emit (self, signals[SELECTION_CHANGED], 0);
}

void
studio_document_select_only (StudioDocument *self, guint64 serial)
{
  studio_document_select (self, &serial, serial != 0 ? 1 : 0);
}

void
studio_document_set_selected (StudioDocument *self, guint64 serial, gboolean selected)
{
  guint i = selection_index (self, serial);

  if (selected == (i != G_MAXUINT))
    return;
  if (selected)
    g_array_append_val (self->selection, serial);
  else
    g_array_remove_index (self->selection, i);
  g_signal_emit (self, signals[SELECTION_CHANGED], 0);
}

void
studio_document_select_all (StudioDocument *self)
{
  StudioScene *scene = studio_document_get_scene (self);
  g_autofree guint64 *all = g_new (guint64, scene->n_items);

  for (guint i = 0; i < scene->n_items; i++)
    all[i] = scene->item[i].serial;
  studio_document_select (self, all, scene->n_items);
}

/* Drops what is no more from the selection and the scope. */
static void
prune (StudioDocument *self)
{
  gboolean dropped = FALSE, left = FALSE;

  for (guint i = 0; i < self->scope->len; i++)
    {
      StudioScopeEntry *entry = &g_array_index (self->scope, StudioScopeEntry, i);

      if (loom_graph_by_serial (self->graph, entry->module) == NULL
          || loom_graph_by_serial (self->graph, entry->instance) == NULL)
        {
          g_array_set_size (self->scope, i);
          left = TRUE;
          break;
        }
    }
  for (guint i = self->selection->len; i-- > 0;)
    if (loom_graph_by_serial (self->graph, g_array_index (self->selection, guint64, i)) == NULL)
      {
        g_array_remove_index (self->selection, i);
        dropped = TRUE;
      }
  studio_document_rebuild_selected (self);
  if (left)
    g_signal_emit (self, signals[SCOPE_CHANGED], 0);
  if (dropped)
    g_signal_emit (self, signals[SELECTION_CHANGED], 0);
}

/* ---- object ------------------------------------------------------------- */

void
studio_scope_entry_clear (StudioScopeEntry *entry)
{
  g_clear_pointer (&entry->path, g_free);
}

static void
studio_document_finalize (GObject *object)
{
  StudioDocument *self = STUDIO_DOCUMENT (object);

  g_clear_handle_id (&self->idle, g_source_remove);
  if (self->journal != NULL)
    studio_journal_abandon (g_steal_pointer (&self->journal));
  studio_document_unmark_run (self);
  g_clear_pointer (&self->scene, studio_scene_free);
  g_clear_pointer (&self->routes, studio_routes_free);
  g_clear_pointer (&self->net, loom_net_free);
  g_clear_pointer (&self->faults, loom_faults_free);
  g_clear_pointer (&self->grammar, loom_faults_free);
  g_ptr_array_unref (self->undo);
  g_ptr_array_unref (self->redo);
  g_array_unref (self->scope);
  g_array_unref (self->selection);
  g_hash_table_unref (self->selected);
  g_array_unref (self->bridges);
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_clear_pointer (&self->base, g_bytes_unref);
  studio_document_unwatch (self);
  g_free (self->path);
  studio_document_end_merge (self);
  g_free (self->begun_with);
  g_free (self->saved_text);
  g_free (self->hash);
  g_free (self->journal_folder);
  G_OBJECT_CLASS (studio_document_parent_class)->finalize (object);
}

static void
studio_document_class_init (StudioDocumentClass *klass)
{
  static const char *const names[N_SIGNALS]
      = { "changed", "scope-changed", "selection-changed", "net-changed", "faults-changed", "file-changed" };

  G_OBJECT_CLASS (klass)->finalize = studio_document_finalize;
  g_signal_new ("history-changed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 3,
                G_TYPE_UINT, G_TYPE_UINT, G_TYPE_UINT);
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i]
        = g_signal_new (names[i], G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
studio_document_init (StudioDocument *self)
{
  self->undo = g_ptr_array_new_with_free_func ((GDestroyNotify)studio_step_free);
  self->redo = g_ptr_array_new_with_free_func ((GDestroyNotify)studio_step_free);
  self->scope = g_array_new (FALSE, TRUE, sizeof (StudioScopeEntry));
  g_array_set_clear_func (self->scope, (GDestroyNotify)studio_scope_entry_clear);
  self->selection = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->selected = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_signal_connect (self, "selection-changed", G_CALLBACK (studio_document_rebuild_selected), NULL);
  self->bridges = g_array_new (FALSE, FALSE, sizeof (StudioBridge));
  studio_document_reset (self);
}

StudioDocument *
studio_document_new (void)
{
  return g_object_new (STUDIO_TYPE_DOCUMENT, NULL);
}
