/* The document's core: inference, scene, selection, and the order in which its parts are called. */
#include "engine/core/loom-file.h"
#include "engine/graph/loom-digest.h"
#include "ui/document/studio-document-private.h"
#include "ui/layout/studio-layout.h"
#include "ui/scene/studio-partitions.h"

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

/* A fault in <train> is added to the list, unless a node has an error, of which it is probably a consequence. */
static void
find_training_faults (StudioDocument *self, LoomFaults *faults)
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
  /* Checks that do not read the data. */
  loom_net_check_classes (self->net, &spec->loss, spec->dataset_node, NULL, faults);
  if (spec->weights != NULL && folder != NULL)
    {
      g_autofree char *path = g_canonicalize_filename (spec->weights, folder);
      const char *set;
      g_autofree char *file = loom_file_of_set (path, &set);

      if (!g_file_test (file, G_FILE_TEST_EXISTS))
        loom_faults_add (faults, LOOM_ERROR_IO, loom_element_line (train), NULL, "weights",
                         "<train>: The file “%s” with initial weights does not exist.", spec->weights);
    }
}

/* An input that was wired until a node was deleted is an error and not something that is still missing. */
static void
mark_torn_inputs (StudioDocument *self, LoomFaults *faults)
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
  /* The net goes with its graph, so an existing one is of an earlier version. */
  self->net
      = self->net != NULL ? loom_net_renew (self->net, self->graph, faults) : loom_net_new (self->graph, NULL, faults);
  loom_net_keep_axes (self->net);
  mark_torn_inputs (self, faults);
  find_training_faults (self, faults);
  if (self->run != NULL)
    run_version_add_fault (self->run, self->graph, faults);
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
  gboolean was = self->reported_edited;

  self->idle = 0;
  g_object_ref (self);
  studio_document_infer (self);
  self->reported_edited = saved_content_differs (self->saved, self->graph);
  if (self->reported_edited != was)
    g_signal_emit (self, signals[FILE_CHANGED], 0);
  g_object_unref (self);
  return G_SOURCE_REMOVE;
}

static void prune (StudioDocument *self);

void
studio_document_forget_derived (StudioDocument *self)
{
  self->net_valid = FALSE;
  studio_document_refresh_scene (self);
  g_clear_pointer (&self->hash, g_free);
  prune (self);
}

/* After edits that only moved things, the net and the text of cards have not changed. */
static void
reread_positions (StudioDocument *self)
{
  if (self->scene == NULL)
    return;
  studio_scene_reread_positions (self->scene, self->graph, studio_document_get_scope (self));
  studio_layout_fill (self->scene);
}

void
studio_document_changed (StudioDocument *self)
{
  if (self->reach == EDIT_REACH_ALL)
    studio_document_forget_derived (self);
  else
    reread_positions (self);
  self->reach = EDIT_REACH_NOTHING;
  /* Before the frame is drawn, so that shapes and wires belong to one version. */
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

gboolean
studio_document_has_net (StudioDocument *self)
{
  return self->net_valid;
}

StudioScene *
studio_document_get_scene (StudioDocument *self)
{
  if (self->scene == NULL)
    {
      studio_document_begin_trials (self);
      self->scene = self->earlier != NULL
                        ? studio_scene_renew (g_steal_pointer (&self->earlier), self->graph,
                                              studio_document_get_scope (self), studio_document_get_scope_path (self),
                                              self->net, self->faults, studio_document_fix_for_fault, self)
                        : studio_scene_new (self->graph, studio_document_get_scope (self),
                                            studio_document_get_scope_path (self), self->net, self->faults,
                                            studio_document_fix_for_fault, self);
      /* An older net may refer to removed elements; the scene is made again with the next net. */
      if (self->net_valid && self->net != NULL)
        studio_scene_add_shards (self->scene, self->graph, self->net);
      studio_layout_fill (self->scene);
    }
  return self->scene;
}

void
studio_document_refresh_scene (StudioDocument *self)
{
  if (self->scene == NULL)
    return;
  g_clear_pointer (&self->earlier, studio_scene_free);
  self->earlier = g_steal_pointer (&self->scene);
}

const char *
studio_document_hash (StudioDocument *self)
{
  if (self->hash == NULL)
    self->hash = loom_graph_digest (self->graph);
  return self->hash;
}

/* ---- selection ---------------------------------------------------------- */

static void
emit_selected (StudioDocument *self, gboolean changed)
{
  if (changed)
    g_signal_emit (self, signals[SELECTION_CHANGED], 0);
}

gboolean
studio_document_is_selected (StudioDocument *self, guint64 serial)
{
  return selection_has (self->selection, serial);
}

guint
studio_document_n_selected (StudioDocument *self)
{
  return selection_n (self->selection);
}

guint64
studio_document_get_selected (StudioDocument *self, guint i)
{
  return selection_get (self->selection, i);
}

void
studio_document_select (StudioDocument *self, const guint64 *serials, guint n)
{
  emit_selected (self, selection_set (self->selection, serials, n));
}

void
studio_document_select_only (StudioDocument *self, guint64 serial)
{
  studio_document_select (self, &serial, serial != 0 ? 1 : 0);
}

void
studio_document_set_selected (StudioDocument *self, guint64 serial, gboolean selected)
{
  emit_selected (self, selection_put (self->selection, serial, selected));
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

/* Leaves scopes and deselects elements that are no longer in the graph. */
static void
prune (StudioDocument *self)
{
  const gboolean left = scope_path_prune (self->scope, self->graph);
  const gboolean dropped = selection_prune (self->selection, self->graph);
  if (left)
    g_signal_emit (self, signals[SCOPE_CHANGED], 0);
  emit_selected (self, dropped);
}

/* ---- object ------------------------------------------------------------- */

static void
file_changed (StudioDocument *self)
{
  g_signal_emit (self, signals[FILE_CHANGED], 0);
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
  g_clear_pointer (&self->earlier, studio_scene_free);
  g_clear_pointer (&self->net, loom_net_free);
  g_clear_pointer (&self->faults, loom_faults_free);
  g_clear_pointer (&self->grammar, loom_faults_free);
  undo_log_free (self->log);
  scope_path_free (self->scope);
  selection_free (self->selection);
  selection_history_free (self->selected_then);
  g_array_unref (self->bridges);
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_clear_pointer (&self->base, g_bytes_unref);
  g_signal_handlers_disconnect_by_data (self->watch, self);
  g_object_unref (self->watch);
  g_free (self->path);
  g_free (self->origin);
  saved_content_free (self->saved);
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
  g_signal_new ("journal-failed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                G_TYPE_STRING);
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i]
        = g_signal_new (names[i], G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
studio_document_init (StudioDocument *self)
{
  self->log = undo_log_new (studio_document_apply, self);
  self->scope = scope_path_new ();
  self->selection = selection_new ();
  self->selected_then = selection_history_new ();
  self->saved = saved_content_new ();
  self->watch = studio_file_watch_new ();
  g_signal_connect_swapped (self->watch, "notify", G_CALLBACK (file_changed), self);
  self->bridges = g_array_new (FALSE, FALSE, sizeof (StudioBridge));
  studio_document_reset (self);
}

StudioDocument *
studio_document_new (void)
{
  return g_object_new (STUDIO_TYPE_DOCUMENT, NULL);
}
