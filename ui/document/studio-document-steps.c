/* Transactions, and the steps that they become.
 *
 * Undo keeps inverse primitives instead of copies of the graph, so a step costs what it changed. The steps that were
 * undone lie in a second stack, whose top comes next; both together are the history (studio-document-history.c). */
#include "ui/document/studio-document-history.h"
#include "ui/document/studio-document-private.h"

#include <string.h>

/* Typing that pauses for longer than this begins a step of its own. The main loop is idle during a pause: while input
 * waits to be handled, a stall of the program or of the machine is none. */
#define PAUSE_MS 1000

void
studio_step_free (StudioStep *step)
{
  g_free (step->name);
  g_free (step->key);
  for (guint i = 0; i < step->inverses->len; i++)
    if (step->inverses->pdata[i] != NULL)
      loom_edit_free (step->inverses->pdata[i]);
  g_ptr_array_unref (step->inverses);
  g_free (step);
}

static StudioStep *
step_new (StudioDocument *self, const char *name)
{
  StudioStep *step = g_new0 (StudioStep, 1);

  step->id = ++self->last_step_id;
  step->name = g_strdup (name);
  step->inverses = g_ptr_array_new ();
  return step;
}

/* ---- transactions ------------------------------------------------------- */

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
      /* Said once: without a journal one can still work. */
      g_message ("No journal is written: %s", error->message);
      self->wants_journal = FALSE;
    }
  else if (self->disk_digest != NULL)
    studio_journal_note_file (self->journal, self->disk_digest);
}

static LoomEdit *
apply (StudioDocument *self, LoomEdit *edit)
{
  journal_start (self);
  if (self->journal != NULL)
    {
      g_autofree char *line = loom_edit_to_line (self->graph, edit);

      studio_journal_append (self->journal, line);
    }
  return loom_graph_apply (self->graph, edit);
}

void
studio_document_begin (StudioDocument *self, const char *name)
{
  g_return_if_fail (STUDIO_IS_DOCUMENT (self));
  if (self->depth++ == 0)
    self->open = step_new (self, name);
}

void
studio_document_edit (StudioDocument *self, LoomEdit *edit)
{
  g_return_if_fail (self->open != NULL);
  g_ptr_array_add (self->open->inverses, apply (self, edit));
}

void
studio_document_merge (StudioDocument *self, const char *key)
{
  g_return_if_fail (self->open != NULL);
  g_free (self->open->key);
  self->open->key = g_strdup (key);
}

void
studio_document_merge_visit (StudioDocument *self, const char *key)
{
  studio_document_merge (self, key);
  self->open->is_visit = TRUE;
}

void
studio_document_end_merge (StudioDocument *self)
{
  g_return_if_fail (STUDIO_IS_DOCUMENT (self));
  g_clear_handle_id (&self->pause, g_source_remove);
  g_clear_pointer (&self->merge_key, g_free);
}

static gboolean
pause_cb (gpointer data)
{
  StudioDocument *self = data;

  self->pause = 0;
  studio_document_end_merge (self);
  return G_SOURCE_REMOVE;
}

/* Lets the next steps of this key be merged with this one until typing pauses. */
static void
begin_merge (StudioDocument *self, const StudioStep *step)
{
  studio_document_end_merge (self);
  self->merge_key = g_strdup (step->key);
  if (step->key != NULL && !step->is_visit)
    self->pause = g_timeout_add_full (G_PRIORITY_HIGH_IDLE, PAUSE_MS, pause_cb, self, NULL);
}

static void
tell_history (StudioDocument *self, guint position, guint removed, guint added)
{
  g_signal_emit_by_name (self, "history-changed", position, removed, added);
}

static void
note_meaning (StudioDocument *self, guint64 id, const char *before)
{
  if (self->run_graph == NULL || before == NULL)
    return;
  g_hash_table_insert (self->run_meaning, g_memdup2 (&id, sizeof id),
                       GINT_TO_POINTER (strcmp (before, studio_document_hash (self)) != 0));
}

void
studio_document_end (StudioDocument *self)
{
  StudioStep *step, *last;
  g_autofree char *before = NULL;
  guint undone = self->redo->len;

  g_return_if_fail (self->depth > 0);
  if (--self->depth > 0)
    return;
  step = g_steal_pointer (&self->open);
  if (step->inverses->len == 0)
    {
      studio_step_free (step);
      return;
    }
  if (self->journal != NULL)
    studio_journal_commit (self->journal, step->name);
  if (self->run_graph != NULL)
    before = g_strdup (self->hash);
  step->made = g_get_real_time ();
  g_ptr_array_set_size (self->redo, 0);

  last = self->undo->len > 0 ? g_ptr_array_index (self->undo, self->undo->len - 1) : NULL;
  if (last != NULL && step->key != NULL && g_strcmp0 (self->merge_key, step->key) == 0
      && g_strcmp0 (last->key, step->key) == 0)
    {
      for (guint i = 0; i < step->inverses->len; i++)
        g_ptr_array_add (last->inverses, g_steal_pointer (&step->inverses->pdata[i]));
      last->made = step->made;
      studio_step_free (step);
      step = last;
      tell_history (self, self->undo->len, 1 + undone, 1);
    }
  else
    {
      g_ptr_array_add (self->undo, step);
      tell_history (self, self->undo->len, undone, 1);
    }
  begin_merge (self, step);

  g_clear_pointer (&self->hash, g_free);
  note_meaning (self, step->id, before);
  studio_document_changed (self);
  if (self->run_graph != NULL)
    studio_document_hash (self);
}

guint
studio_document_n_steps (StudioDocument *self)
{
  return self->undo->len;
}

void
studio_document_fold (StudioDocument *self, guint n)
{
  guint before = self->undo->len;

  g_return_if_fail (self->depth == 0);
  if (before <= n + 1)
    return;
  while (self->undo->len > n + 1)
    {
      StudioStep *step = g_ptr_array_steal_index (self->undo, self->undo->len - 1);
      StudioStep *into = g_ptr_array_index (self->undo, self->undo->len - 1);

      for (guint i = 0; i < step->inverses->len; i++)
        g_ptr_array_add (into->inverses, g_steal_pointer (&step->inverses->pdata[i]));
      if (self->run_graph != NULL && GPOINTER_TO_INT (g_hash_table_lookup (self->run_meaning, &step->id)))
        g_hash_table_insert (self->run_meaning, g_memdup2 (&into->id, sizeof into->id), GINT_TO_POINTER (TRUE));
      studio_step_free (step);
    }
  studio_document_end_merge (self);
  tell_history (self, n + 1, before - n, 1);
  /* The step that undo would take back has another name now. */
  studio_document_changed (self);
}

static void
take_back (StudioDocument *self, StudioStep *step, GPtrArray *redo)
{
  for (guint i = step->inverses->len; i-- > 0;)
    {
      LoomEdit *again = apply (self, g_steal_pointer (&step->inverses->pdata[i]));

      if (redo != NULL)
        g_ptr_array_add (redo, again);
      else
        loom_edit_free (again);
    }
}

void
studio_document_cancel (StudioDocument *self)
{
  StudioStep *step;

  g_return_if_fail (self->depth > 0);
  step = g_steal_pointer (&self->open);
  self->depth = 0;
  take_back (self, step, NULL);
  if (self->journal != NULL)
    studio_journal_commit (self->journal, "Cancel");
  studio_step_free (step);
  studio_document_changed (self);
}

/* Whether a step changed the meaning is known of those that were made while there was a run. Judging the others, when
 * one goes over them, takes a hash of the graph each: of many at once, all count as changes. */
#define MAX_JUDGED 200

/* Takes back the last n steps of one stack and puts them on the other. Nobody is told before the last. */
static gboolean
step_over (StudioDocument *self, GPtrArray *from, GPtrArray *to, guint n)
{
  gboolean judge = self->run_graph != NULL && n <= MAX_JUDGED;

  if (self->depth > 0 || n == 0 || from->len < n)
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *before = judge ? g_strdup (studio_document_hash (self)) : NULL;
      StudioStep *step = g_ptr_array_steal_index (from, from->len - 1), *other = step_new (self, step->name);

      other->id = step->id;
      other->made = step->made;
      take_back (self, step, other->inverses);
      if (self->journal != NULL)
        studio_journal_commit (self->journal, step->name);
      g_ptr_array_add (to, other);
      g_clear_pointer (&self->hash, g_free);
      if (judge)
        note_meaning (self, step->id, before);
      else if (self->run_graph != NULL && !g_hash_table_contains (self->run_meaning, &step->id))
        g_hash_table_insert (self->run_meaning, g_memdup2 (&step->id, sizeof step->id), GINT_TO_POINTER (TRUE));
      studio_step_free (step);
    }
  studio_document_end_merge (self);
  studio_document_changed (self);
  return TRUE;
}

gboolean
studio_document_undo (StudioDocument *self)
{
  return step_over (self, self->undo, self->redo, 1);
}

gboolean
studio_document_redo (StudioDocument *self)
{
  return step_over (self, self->redo, self->undo, 1);
}

gboolean
studio_document_jump (StudioDocument *self, guint position)
{
  guint now = self->undo->len;

  return position < now ? step_over (self, self->undo, self->redo, now - position)
                        : step_over (self, self->redo, self->undo, position - now);
}

static const char *
top_name (GPtrArray *steps)
{
  return steps->len > 0 ? ((StudioStep *)g_ptr_array_index (steps, steps->len - 1))->name : NULL;
}

const char *
studio_document_undo_name (StudioDocument *self)
{
  return top_name (self->undo);
}

const char *
studio_document_redo_name (StudioDocument *self)
{
  return top_name (self->redo);
}
