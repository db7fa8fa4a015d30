/* Takes a run to the state after any of its steps, and back; see the header. */
#include "engine/train/time-machine.h"

#include "engine/core/loom-refuse.h"

/* What a run reports while it computes steps, set aside. */
typedef struct
{
  int fd;
  gboolean at_once, is_due;
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
  const Voice voice = { self->folder->fd,  self->loop->at_once,      self->checkpoints->is_due, self->loop->trace,
                        self->log->report, self->evaluation->report, self->evaluation->poll };

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
  step_clock_resume (&self->log->clock, self->progress->step);
}

void
time_machine_clear (TimeMachine *self)
{
  g_clear_pointer (&self->aside.value, g_hash_table_unref);
  g_clear_pointer (&self->newest, moment_free);
  moments_clear (&self->moments);
  folder_history_clear (&self->disk);
}

void
time_machine_begin_run (TimeMachine *self)
{
  folder_history_begin (&self->disk, self->progress);
  /* A state that is larger than the budget would be copied at every step, and removed at once. */
  if (self->disk.history.budget == 0 || !moments_fit (&self->moments, self->model->state))
    self->moments.history.budget = 0;
  moments_begin (&self->moments, train_data_last_step (self->data));
}

gboolean
time_machine_wants (const TimeMachine *self, gint64 step)
{
  return history_wants (&self->disk.history, step, NULL) || history_wants (&self->moments.history, step, NULL);
}

void
time_machine_keep (TimeMachine *self)
{
  folder_history_write (&self->disk, self->progress);
  moments_keep (&self->moments, self->progress);
}

/* ---- computing steps again ---------------------------------------------- */

static gboolean
begin_epoch (TimeMachine *self, GError **error)
{
  if (self->progress->batch == 0)
    train_progress_begin_epoch (self->progress);
  return batch_size_begin_epoch (self->batch_size, error);
}

static gboolean
change_values (TimeMachine *self, LiveChanges *changes, GError **error)
{
  const LiveChange *change;

  while ((change = live_changes_next (changes, self->progress->step)) != NULL)
    if (g_str_equal (change->name, LOOM_LIVE_BATCH_SIZE))
      {
        if (!batch_size_change (self->batch_size, change->value, error))
          return FALSE;
      }
    else if (!learning_rates_change (self->rates, self->progress, change->name, change->value))
      loom_state_set_scalar (self->model->state, change->name, change->value);
  return TRUE;
}

/* Steps between two states that are kept on the way to an earlier step, and close to it, because a drag goes to the
 * steps before it next. Copying a state of fashion-lenet takes as long as half a step. */
#define VISIT_EVERY 128
#define VISIT_CLOSE 16

static gboolean
is_visited (gint64 at, gint64 step)
{
  return at % VISIT_EVERY == 0 || (step - at < VISIT_EVERY && at % VISIT_CLOSE == 0);
}

/* keeps: the run is this one, and may show steps close to this one next. */
static gboolean
compute (TimeMachine *self, LiveChanges *changes, gint64 step, gboolean keeps, GError **error)
{
  const TrainProgress *progress = self->progress;

  if (!begin_epoch (self, error))
    return FALSE;
  while (progress->step < step)
    {
      if (progress->batch >= self->data->steps_per_epoch
          && (!epoch_end_repeat (self->epoch_end, error) || !begin_epoch (self, error)))
        return FALSE;
      if (!change_values (self, changes, error))
        return FALSE;
      /* A changed batch size may leave none of the epoch. */
      if (progress->batch >= self->data->steps_per_epoch)
        continue;
      if (progress->step + 1 == step && watched_state_keeps (self->watched))
        watched_state_keep (self->watched);
      if (!training_loop_step (self->loop, error) || !training_loop_finish (self->loop, error))
        return FALSE;
      if (keeps && is_visited (progress->step, step))
        moments_visit (&self->moments, progress);
    }
  return TRUE;
}

/* Loads the nearest state at or before a step, from memory or the disk. *found: FALSE if there is none. */
static gboolean
load_nearest (TimeMachine *self, LoomFolder *run, gint64 from, gboolean is_own, gboolean *found, GError **error)
{
  const RunState *state = &self->disk.run;
  /* One of the newest step may be from before a change, or the end of its epoch. */
  const gboolean is_newest = is_own && from == self->now;
  const Moment *moment = is_newest ? self->newest : is_own ? moments_find (&self->moments, from) : NULL;

  if (!run_state_restore_near (state, run, moment != NULL ? moment->step : -1, from, self->progress, found, error))
    return FALSE;
  if (*found || moment == NULL)
    return TRUE;
  *found = moments_restore (&self->moments, moment, self->progress, error);
  return *found;
}

static gboolean
load (TimeMachine *self, LoomFolder *run, gint64 from, gint64 step, gboolean is_new, GError **error)
{
  const gboolean is_own = run == self->folder->files;
  g_auto (LiveChanges) changes = { 0 };
  gboolean found;

  if (!load_nearest (self, run, from, is_own, &found, error))
    return FALSE;
  if (!found && !is_new)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "%s has no checkpoint at or before step %" G_GINT64_FORMAT
                        " from which it could be computed again. A branch begins at the step where it left its parent.",
                        loom_folder_path (run), step);
  if (!live_changes_read (&changes, run, error))
    return FALSE;
  learning_rates_forget (self->rates);
  live_changes_seek (&changes, self->progress->step);
  return compute (self, &changes, step, is_own && step != self->now, error);
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
  return change_values (self, &changes, error);
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
    return refuse (error, "Several ranks share the steps of this run, so it cannot go back.");
  if (self->folder->files == NULL)
    return refuse (error, "This run is not saved, so it cannot go back. Train with a run folder.");
  if (step >= 0 && step <= newest)
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_USAGE,
                      "There is no step %" G_GINT64_FORMAT ". Name one from 0 to %" G_GINT64_FORMAT ".", step, newest);
}

/* In memory if it is small, else in a checkpoint. */
static gboolean
keep_newest (TimeMachine *self, GError **error)
{
  g_clear_pointer (&self->newest, moment_free);
  if (moments_fit (&self->moments, self->model->state))
    self->newest = moment_new (&self->disk.run, self->progress);
  return self->newest != NULL || checkpoints_write (self->checkpoints, self->progress, error);
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
      if (!run_folder_flush (self->folder, error) || !keep_newest (self, error))
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
  if (!ok)
    return FALSE;
  watched_state_put_back (self->watched, &self->aside);
  g_clear_pointer (&self->newest, moment_free);
  return TRUE;
}
