/* Takes a run to the state after any of its steps, and back; see the header. */
#include "engine/train/time-machine.h"

#include "engine/core/loom-error.h"

/* What a run reports while it computes steps, set aside. */
typedef struct
{
  int fd;
  gboolean at_once, is_due, history_is_due;
  StepTrace *trace;
  void (*report) (const LoomTrainerStep *step, gpointer data);
  void (*report_eval) (const LoomTrainerEval *eval, gpointer data);
  gboolean (*poll) (gboolean *yields, gpointer data, GError **error);
} Voice;

static void
ignore_eval (const LoomTrainerEval *eval, gpointer data)
{
}

static gboolean
never_yield (gboolean *yields, gpointer data, GError **error)
{
  *yields = FALSE;
  return TRUE;
}

/* Steps are read one by one, because changes are made between them. */
static Voice
be_silent (TimeMachine *self)
{
  const Voice voice
      = { self->folder->fd,  self->loop->at_once, self->checkpoints->is_due, self->checkpoints->history.is_due,
          self->loop->trace, self->log->report,   self->evaluation->report,  self->evaluation->poll };

  self->folder->fd = -1;
  self->loop->at_once = TRUE;
  self->loop->trace = &self->silent;
  self->log->report = NULL;
  self->evaluation->report = ignore_eval;
  self->evaluation->poll = never_yield;
  return voice;
}

static void
speak (TimeMachine *self, const Voice *voice)
{
  self->folder->fd = voice->fd;
  self->loop->at_once = voice->at_once;
  self->loop->trace = voice->trace;
  self->log->report = voice->report;
  self->evaluation->report = voice->report_eval;
  self->evaluation->poll = voice->poll;
  self->checkpoints->is_due = voice->is_due;
  self->checkpoints->history.is_due = voice->history_is_due;
  step_clock_resume (&self->log->clock, self->progress->step);
}

void
time_machine_clear (TimeMachine *self)
{
  g_clear_pointer (&self->aside.value, g_hash_table_unref);
}

/* ---- computing steps again ---------------------------------------------- */

static void
begin_epoch (TimeMachine *self)
{
  TrainProgress *progress = self->progress;

  if (progress->batch == 0)
    train_progress_begin_epoch (progress);
  batch_queue_drop (self->batches);
  loom_loader_reset (self->data->loader);
  if (progress->batch < self->data->steps_per_epoch && progress->epoch < self->model->spec->epochs)
    loom_loader_start (self->data->loader, progress->epoch, progress->batch * self->model->spec->accumulate);
}

static void
change_values (TimeMachine *self, LiveChanges *changes)
{
  const LiveChange *change;

  while ((change = live_changes_next (changes, self->progress->step)) != NULL)
    if (!learning_rates_change (self->rates, self->progress, change->name, change->value))
      loom_state_set_scalar (self->model->state, change->name, change->value);
}

static gboolean
compute (TimeMachine *self, LiveChanges *changes, gint64 step, GError **error)
{
  const TrainProgress *progress = self->progress;

  begin_epoch (self);
  while (progress->step < step)
    {
      if (progress->batch >= self->data->steps_per_epoch)
        {
          if (!epoch_end_repeat (self->epoch_end, error))
            return FALSE;
          begin_epoch (self);
        }
      change_values (self, changes);
      if (progress->step + 1 == step && watched_state_keeps (self->watched))
        watched_state_keep (self->watched);
      if (!training_loop_step (self->loop, error) || !training_loop_finish (self->loop, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
load (TimeMachine *self, LoomFolder *run, gint64 from, gint64 step, gboolean is_new, GError **error)
{
  g_auto (LiveChanges) changes = { 0 };
  gboolean found;

  if (!run_state_restore_near (&self->checkpoints->run, run, from, self->progress, &found, error))
    return FALSE;
  if (!found && !is_new)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s has no checkpoint at or before step %" G_GINT64_FORMAT
                   " from which it could be computed again. A branch begins at the step where it left its parent.",
                   loom_folder_path (run), step);
      return FALSE;
    }
  if (!live_changes_read (&changes, run, error))
    return FALSE;
  learning_rates_forget (self->rates);
  live_changes_seek (&changes, self->progress->step);
  return compute (self, &changes, step, error);
}

gboolean
time_machine_load (TimeMachine *self, LoomFolder *run, gint64 step, gboolean is_new, GError **error)
{
  const Voice voice = be_silent (self);
  const gboolean ok = load (self, run, step, step, is_new, error);

  speak (self, &voice);
  return ok;
}

gboolean
time_machine_change (TimeMachine *self, LoomFolder *run, gint64 step, GError **error)
{
  g_auto (LiveChanges) changes = { 0 };

  if (!live_changes_read (&changes, run, error))
    return FALSE;
  live_changes_seek (&changes, MAX (step, 0));
  change_values (self, &changes);
  return TRUE;
}

/* ---- a run's own steps -------------------------------------------------- */

static gboolean
refuse (GError **error, const char *why)
{
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_USAGE, why);
  return FALSE;
}

static gboolean
can_leave (const TimeMachine *self, gint64 step, GError **error)
{
  const gint64 newest = self->is_away ? self->now : self->progress->step;

  if (self->group->comm != NULL)
    return refuse (error, "Several ranks share the steps of this run, so that it cannot go back.");
  if (self->folder->files == NULL)
    return refuse (error, "This run is not saved, so that it cannot go back. Train with a run folder.");
  if (step >= 0 && step <= newest)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
               "There is no step %" G_GINT64_FORMAT ". Name one from 0 to %" G_GINT64_FORMAT ".", step, newest);
  return FALSE;
}

gboolean
time_machine_leave (TimeMachine *self, gint64 step, GError **error)
{
  const gint64 newest = self->is_away ? self->now : self->progress->step;
  g_autoptr (GError) local = NULL;
  Voice voice;
  gboolean ok;

  if (!can_leave (self, step, error))
    return FALSE;
  if (step == newest)
    return time_machine_return (self, error);
  if (!self->is_away)
    {
      /* The newest state, and the changes until now, are read again. */
      if (!run_folder_flush (self->folder, error) || !checkpoints_write (self->checkpoints, self->progress, error))
        return FALSE;
      self->now = newest;
      self->is_away = TRUE;
      watched_state_set_aside (self->watched, &self->aside);
    }
  voice = be_silent (self);
  ok = load (self, self->folder->files, watched_state_keeps (self->watched) ? MAX (step - 1, 0) : step, step, FALSE,
             &local);
  speak (self, &voice);
  if (ok)
    return TRUE;
  if (!time_machine_return (self, error))
    return FALSE;
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

gboolean
time_machine_return (TimeMachine *self, GError **error)
{
  Voice voice;
  gboolean ok;

  if (!self->is_away)
    return TRUE;
  voice = be_silent (self);
  ok = load (self, self->folder->files, self->now, self->now, FALSE, error);
  speak (self, &voice);
  self->is_away = !ok;
  if (ok)
    watched_state_put_back (self->watched, &self->aside);
  return ok;
}
