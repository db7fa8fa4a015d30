/* Transactions and undo of a document: combines the log (undo-log.h) with journal, run and signals. */
#include "ui/document/studio-document-history.h"
#include "ui/document/studio-document-private.h"

#include <glib/gi18n.h>
#include <string.h>

/* ---- transactions ------------------------------------------------------- */

static void
journal_failed_cb (const char *why, gpointer document)
{
  g_autofree char *sentence = g_strdup_printf (
      _ ("A crash would lose your changes, because they cannot be noted: %s. Save the graph in a file."), why);

  g_signal_emit_by_name (document, "journal-failed", sentence);
}

static void
journal_start (StudioDocument *self)
{
  g_autoptr (GError) error = NULL;
  gsize length;
  const char *base;

  if (!self->wants_journal || self->journal != NULL)
    return;
  base = g_bytes_get_data (self->base, &length);
  self->journal = studio_journal_new (self->journal_folder, self->path, base, length, &error);
  if (self->journal == NULL)
    {
      /* Reported once: without a journal the user can still work. */
      g_message ("No journal is written: %s", error->message);
      self->wants_journal = FALSE;
      g_signal_emit_by_name (self, "journal-failed", error->message);
      return;
    }
  studio_journal_set_failed_func (self->journal, journal_failed_cb, self);
  if (self->origin != NULL)
    studio_journal_note_origin (self->journal, self->origin);
  if (studio_file_watch_get_digest (self->watch) != NULL)
    studio_journal_note_file (self->journal, studio_file_watch_get_digest (self->watch));
}

LoomEdit *
studio_document_apply (LoomEdit *edit, gpointer data)
{
  StudioDocument *self = data;

  journal_start (self);
  if (self->journal != NULL)
    {
      g_autofree char *line = loom_edit_to_line (self->graph, edit);

      studio_journal_append (self->journal, line);
    }
  edit = loom_graph_apply (self->graph, edit);
  self->reach = MAX (self->reach, edit_reach_of (self->graph, studio_document_get_scope (self), edit));
  saved_content_note (self->saved, self->graph, edit);
  return edit;
}

static void
commit (StudioDocument *self, const char *name)
{
  if (self->journal != NULL)
    studio_journal_commit (self->journal, name);
}

gboolean
studio_document_is_editing (StudioDocument *self)
{
  return undo_log_depth (self->log) > 0;
}

gboolean
studio_document_is_outermost (StudioDocument *self)
{
  return undo_log_depth (self->log) == 1;
}

void
studio_document_begin (StudioDocument *self, const char *name)
{
  g_return_if_fail (STUDIO_IS_DOCUMENT (self));
  if (!studio_document_is_editing (self))
    selection_history_begin (self->selected_then, self->selection);
  undo_log_begin (self->log, name);
}

void
studio_document_edit (StudioDocument *self, LoomEdit *edit)
{
  undo_log_edit (self->log, edit);
}

void
studio_document_merge (StudioDocument *self, const char *key)
{
  undo_log_merge (self->log, key, FALSE);
}

void
studio_document_merge_visit (StudioDocument *self, const char *key)
{
  undo_log_merge (self->log, key, TRUE);
}

void
studio_document_end_merge (StudioDocument *self)
{
  g_return_if_fail (STUDIO_IS_DOCUMENT (self));
  undo_log_end_merge (self->log);
}

static void
report_history (StudioDocument *self, guint position, guint removed, guint added)
{
  g_signal_emit_by_name (self, "history-changed", position, removed, added);
}

/* before: the hash before the step; NULL: unknown. */

static void
note_meaning (StudioDocument *self, guint64 step, const char *before)
{
  if (self->run != NULL && before != NULL)
    run_version_note_step (self->run, step, strcmp (before, studio_document_hash (self)) != 0);
}

void
studio_document_end (StudioDocument *self)
{
  g_autofree char *name = g_strdup (undo_log_name (self->log)), *before = NULL;
  UndoLogChange change;

  if (!undo_log_end (self->log, &change) || change.step == 0)
    return;
  selection_history_end (self->selected_then, change.step);
  commit (self, name);
  if (self->run != NULL)
    before = g_strdup (self->hash);
  report_history (self, change.position, change.n_removed, change.n_added);

  /* The hash ignores positions. */
  if (self->reach == EDIT_REACH_ALL)
    g_clear_pointer (&self->hash, g_free);
  note_meaning (self, change.step, before);
  studio_document_changed (self);
  if (self->run != NULL)
    studio_document_hash (self);
}

guint
studio_document_n_steps (StudioDocument *self)
{
  return undo_log_n_done (self->log);
}

static void
folded_cb (guint64 gone, guint64 into, gpointer data)
{
  StudioDocument *self = data;

  selection_history_fold (self->selected_then, gone);
  if (self->run != NULL)
    run_version_fold (self->run, gone, into);
}

void
studio_document_fold (StudioDocument *self, guint n)
{
  const guint before = undo_log_n_done (self->log);
  if (!undo_log_fold (self->log, n, folded_cb, self))
    return;
  report_history (self, n + 1, before - n, 1);
  /* The name of the step to undo has changed. */
  studio_document_changed (self);
}

void
studio_document_cancel (StudioDocument *self)
{
  undo_log_cancel (self->log);
  commit (self, "Cancel");
  studio_document_changed (self);
}

/* ---- undo --------------------------------------------------------------- */

/* Whether a step changed the meaning is known for steps that were made while there was a run. For other steps it
 * requires hashing the graph; if there are several at once, all count as changes. */
#define MAX_COMPARED 200

/* Whether an element is in the shown scope: a node or a wire, or a frame or note of its layout. */
static gboolean
is_shown (StudioDocument *self, guint64 serial)
{
  const LoomElement *element = loom_graph_by_serial (self->graph, serial);
  const LoomElement *parent = element != NULL ? loom_element_parent (element) : NULL;

  if (parent != NULL && loom_element_tag (parent) == LOOM_TAG_LAYOUT)
    parent = loom_element_parent (parent);
  return parent != NULL && parent == studio_document_get_scope (self);
}

/* What is selected after stepping over n steps, if that leaves nothing selected: what was selected on the other side of
 * the last one. Where nothing is selected already, only what the steps bring back. */
static GArray *
selected_beyond (StudioDocument *self, gboolean back, guint n)
{
  const guint now = undo_log_n_done (self->log);
  const guint64 last = undo_log_entry (self->log, back ? now - n + 1 : now + n).step;
  const GArray *then = selection_history_get (self->selected_then, last);
  GArray *serials = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; then != NULL && i < then->len; i++)
    {
      const guint64 serial = g_array_index (then, guint64, i);

      if (selection_n (self->selection) > 0 || loom_graph_by_serial (self->graph, serial) == NULL)
        g_array_append_val (serials, serial);
    }
  return serials;
}

static void
select_again (StudioDocument *self, const GArray *serials)
{
  g_autofree guint64 *shown = g_new (guint64, serials->len + 1);
  guint n = 0;

  if (selection_n (self->selection) > 0)
    return;
  for (guint i = 0; i < serials->len; i++)
    if (is_shown (self, g_array_index (serials, guint64, i)))
      shown[n++] = g_array_index (serials, guint64, i);
  studio_document_select (self, shown, n);
}

/* Steps over n steps, and emits signals once. */
static gboolean
step_over (StudioDocument *self, guint64 (*step) (UndoLog *log), guint n)
{
  const gboolean compares = self->run != NULL && n <= MAX_COMPARED;
  g_autoptr (GArray) selected = selected_beyond (self, step == undo_log_undo, n);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *before = compares ? g_strdup (studio_document_hash (self)) : NULL;
      const guint64 id = step (self->log);

      selection_history_cross (self->selected_then, id, self->selection);
      commit (self, step == undo_log_undo ? undo_log_redo_name (self->log) : undo_log_undo_name (self->log));
      g_clear_pointer (&self->hash, g_free);
      if (compares)
        note_meaning (self, id, before);
      else if (self->run != NULL && !run_version_has_step (self->run, id))
        run_version_note_step (self->run, id, TRUE);
    }
  studio_document_changed (self);
  select_again (self, selected);
  return TRUE;
}

static gboolean
can_step (StudioDocument *self, guint n, guint most)
{
  return !studio_document_is_editing (self) && n > 0 && n <= most;
}

gboolean
studio_document_undo (StudioDocument *self)
{
  return can_step (self, 1, undo_log_n_done (self->log)) && step_over (self, undo_log_undo, 1);
}

gboolean
studio_document_redo (StudioDocument *self)
{
  return can_step (self, 1, undo_log_n_undone (self->log)) && step_over (self, undo_log_redo, 1);
}

gboolean
studio_document_jump (StudioDocument *self, guint position)
{
  const guint now = undo_log_n_done (self->log);

  if (position < now)
    return can_step (self, now - position, now) && step_over (self, undo_log_undo, now - position);
  return can_step (self, position - now, undo_log_n_undone (self->log))
         && step_over (self, undo_log_redo, position - now);
}

const char *
studio_document_undo_name (StudioDocument *self)
{
  return undo_log_undo_name (self->log);
}

const char *
studio_document_redo_name (StudioDocument *self)
{
  return undo_log_redo_name (self->log);
}
