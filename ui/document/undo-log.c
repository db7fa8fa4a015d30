/* The two stacks of steps. */
#include "ui/document/undo-log.h"

/* Typing after a longer pause than this begins a new step. The pause counts only while the main loop is idle: while
 * input is waiting, a stall of the program or of the machine is no pause. */
#define PAUSE_MS 1000

typedef struct
{
  guint64 id;
  char *name, *key;
  gboolean is_visit;   /* a pause does not end merging */
  gint64 made;         /* microseconds since 1970 */
  GPtrArray *inverses; /* LoomEdit, in the order of the edits; NULL entries were consumed */
} Step;

struct _UndoLog
{
  UndoLogApply apply;
  gpointer data;
  GPtrArray *done, *undone; /* Step */
  Step *open;
  guint depth;
  guint64 last_id;
  char *merge_key;  /* of the last step; NULL: the next step is not merged with it */
  guint pause;      /* timeout that ends merging; 0: none */
  char *begun_with; /* the name of entry 0 */
  gint64 begun;     /* microseconds since 1970 */
};

static void
step_free (Step *step)
{
  g_free (step->name);
  g_free (step->key);
  for (guint i = 0; i < step->inverses->len; i++)
    if (step->inverses->pdata[i] != NULL)
      loom_edit_free (step->inverses->pdata[i]);
  g_ptr_array_unref (step->inverses);
  g_free (step);
}

static Step *
step_new (UndoLog *self, const char *name)
{
  Step *step = g_new0 (Step, 1);

  step->id = ++self->last_id;
  step->name = g_strdup (name);
  step->inverses = g_ptr_array_new ();
  return step;
}

UndoLog *
undo_log_new (UndoLogApply apply, gpointer data)
{
  UndoLog *self = g_new0 (UndoLog, 1);

  self->apply = apply;
  self->data = data;
  self->done = g_ptr_array_new_with_free_func ((GDestroyNotify)step_free);
  self->undone = g_ptr_array_new_with_free_func ((GDestroyNotify)step_free);
  return self;
}

void
undo_log_free (UndoLog *self)
{
  if (self == NULL)
    return;
  undo_log_end_merge (self);
  g_ptr_array_unref (self->done);
  g_ptr_array_unref (self->undone);
  g_clear_pointer (&self->open, step_free);
  g_free (self->begun_with);
  g_free (self);
}

guint
undo_log_reset (UndoLog *self, const char *begun_with)
{
  const guint before = 1 + self->done->len + self->undone->len;

  g_ptr_array_set_size (self->done, 0);
  g_ptr_array_set_size (self->undone, 0);
  undo_log_end_merge (self);
  g_free (self->begun_with);
  self->begun_with = g_strdup (begun_with);
  self->begun = g_get_real_time ();
  return before;
}

/* ---- transactions ---------------------------------------------------------- */

void
undo_log_begin (UndoLog *self, const char *name)
{
  if (self->depth++ == 0)
    self->open = step_new (self, name);
}

void
undo_log_edit (UndoLog *self, LoomEdit *edit)
{
  g_return_if_fail (self->open != NULL);
  g_ptr_array_add (self->open->inverses, self->apply (edit, self->data));
}

guint
undo_log_depth (const UndoLog *self)
{
  return self->depth;
}

void
undo_log_merge (UndoLog *self, const char *key, gboolean is_visit)
{
  g_return_if_fail (self->open != NULL);
  g_free (self->open->key);
  self->open->key = g_strdup (key);
  self->open->is_visit |= is_visit;
}

void
undo_log_end_merge (UndoLog *self)
{
  g_clear_handle_id (&self->pause, g_source_remove);
  g_clear_pointer (&self->merge_key, g_free);
}

static gboolean
pause_cb (gpointer data)
{
  UndoLog *self = data;

  self->pause = 0;
  undo_log_end_merge (self);
  return G_SOURCE_REMOVE;
}

/* Allows merging the next transactions of this key with the step until typing pauses. */
static void
begin_merge (UndoLog *self, const Step *step)
{
  undo_log_end_merge (self);
  self->merge_key = g_strdup (step->key);
  if (step->key != NULL && !step->is_visit)
    self->pause = g_timeout_add_full (G_PRIORITY_HIGH_IDLE, PAUSE_MS, pause_cb, self, NULL);
}

static Step *
last_done (const UndoLog *self)
{
  return self->done->len > 0 ? g_ptr_array_index (self->done, self->done->len - 1) : NULL;
}

gboolean
undo_log_end (UndoLog *self, UndoLogChange *change)
{
  const guint n_undone = self->undone->len;
  Step *step, *last = last_done (self);

  g_return_val_if_fail (self->depth > 0, FALSE);

  *change = (UndoLogChange){ 0 };
  if (--self->depth > 0)
    return FALSE;
  step = g_steal_pointer (&self->open);
  if (step->inverses->len == 0)
    {
      step_free (step);
      return TRUE;
    }
  step->made = g_get_real_time ();
  g_ptr_array_set_size (self->undone, 0);
  if (last != NULL && step->key != NULL && g_strcmp0 (self->merge_key, step->key) == 0
      && g_strcmp0 (last->key, step->key) == 0)
    {
      for (guint i = 0; i < step->inverses->len; i++)
        g_ptr_array_add (last->inverses, g_steal_pointer (&step->inverses->pdata[i]));
      last->made = step->made;
      step_free (step);
      step = last;
      change->n_removed = 1;
    }
  else
    g_ptr_array_add (self->done, step);
  change->step = step->id;
  change->position = self->done->len;
  change->n_removed += n_undone;
  change->n_added = 1;
  begin_merge (self, step);
  return TRUE;
}

/* Applies the inverses of a step from the last to the first, and appends the edits that redo it to `again`. */
static void
take_back (UndoLog *self, Step *step, GPtrArray *again)
{
  for (guint i = step->inverses->len; i-- > 0;)
    {
      LoomEdit *edit = self->apply (g_steal_pointer (&step->inverses->pdata[i]), self->data);

      if (again != NULL)
        g_ptr_array_add (again, edit);
      else
        loom_edit_free (edit);
    }
}

void
undo_log_cancel (UndoLog *self)
{
  Step *step;

  g_return_if_fail (self->depth > 0);

  step = g_steal_pointer (&self->open);
  self->depth = 0;
  take_back (self, step, NULL);
  step_free (step);
}

const char *
undo_log_name (const UndoLog *self)
{
  const Step *step = self->open != NULL ? self->open : last_done (self);

  return step != NULL ? step->name : NULL;
}

/* ---- undo ------------------------------------------------------------------ */

static guint64
step_over (UndoLog *self, GPtrArray *from, GPtrArray *to)
{
  Step *step, *other;

  if (self->depth > 0 || from->len == 0)
    return 0;
  step = g_ptr_array_steal_index (from, from->len - 1);
  other = step_new (self, step->name);
  other->id = step->id;
  other->made = step->made;
  take_back (self, step, other->inverses);
  g_ptr_array_add (to, other);
  step_free (step);
  undo_log_end_merge (self);
  return other->id;
}

guint64
undo_log_undo (UndoLog *self)
{
  return step_over (self, self->done, self->undone);
}

guint64
undo_log_redo (UndoLog *self)
{
  return step_over (self, self->undone, self->done);
}

static const char *
top_name (const GPtrArray *steps)
{
  return steps->len > 0 ? ((const Step *)g_ptr_array_index (steps, steps->len - 1))->name : NULL;
}

const char *
undo_log_undo_name (const UndoLog *self)
{
  return top_name (self->done);
}

const char *
undo_log_redo_name (const UndoLog *self)
{
  return top_name (self->undone);
}

gboolean
undo_log_fold (UndoLog *self, guint n, UndoLogFolded folded, gpointer data)
{
  g_return_val_if_fail (self->depth == 0, FALSE);

  if (self->done->len <= n + 1)
    return FALSE;
  while (self->done->len > n + 1)
    {
      Step *step = g_ptr_array_steal_index (self->done, self->done->len - 1), *into = last_done (self);

      for (guint i = 0; i < step->inverses->len; i++)
        g_ptr_array_add (into->inverses, g_steal_pointer (&step->inverses->pdata[i]));
      folded (step->id, into->id, data);
      step_free (step);
    }
  undo_log_end_merge (self);
  return TRUE;
}

/* ---- history --------------------------------------------------------------- */

guint
undo_log_n_done (const UndoLog *self)
{
  return self->done->len;
}

guint
undo_log_n_undone (const UndoLog *self)
{
  return self->undone->len;
}

guint64
undo_log_step (const UndoLog *self, guint n)
{
  g_return_val_if_fail (n < self->done->len, 0);

  return ((const Step *)g_ptr_array_index (self->done, n))->id;
}

guint64
undo_log_last_step (const UndoLog *self)
{
  return self->done->len > 0 ? last_done (self)->id : 0;
}

/* The step that leads to an entry after the first. */
static const Step *
step_at (const UndoLog *self, guint position)
{
  const guint n = self->done->len;

  return position <= n ? g_ptr_array_index (self->done, position - 1)
                       : g_ptr_array_index (self->undone, self->undone->len - (position - n));
}

UndoLogEntry
undo_log_entry (const UndoLog *self, guint position)
{
  const Step *step;

  g_return_val_if_fail (position <= self->done->len + self->undone->len, (UndoLogEntry){ 0 });

  if (position == 0)
    return (UndoLogEntry){ .name = self->begun_with, .time = self->begun };
  step = step_at (self, position);
  return (UndoLogEntry){ .step = step->id, .name = step->name, .time = step->made };
}

LoomGraph *
undo_log_graph_at (const UndoLog *self, const LoomGraph *graph, guint position)
{
  LoomGraph *copy = loom_graph_copy (graph);
  const gboolean back = position < self->done->len;

  g_return_val_if_fail (position <= self->done->len + self->undone->len, copy);

  for (guint at = self->done->len; at != position; at += back ? -1 : 1)
    {
      const Step *step = step_at (self, back ? at : at + 1);

      for (guint i = step->inverses->len; i-- > 0;)
        loom_edit_free (loom_graph_apply (copy, loom_edit_copy (step->inverses->pdata[i])));
    }
  return copy;
}
