/* Runs a trainer: calls its parts in order.
 *
 * Between two steps the run reads an atomic flag and calls the observer. Commands, requests, evaluation and checkpoints
 * run if the flag or the clock requires them, always after a step from which the run could be resumed. */
#include "engine/train/trainer-private.h"

#include "engine/core/loom-error.h"
#include "engine/core/loom-os.h"

/* From here on the state is that of the progress. Writes a checkpoint if one is due; ranks agree on it first. */
static gboolean
finish_steps (LoomTrainer *t, GError **error)
{
  return training_loop_finish (&t->loop, error)
         && (!t->checkpoints.is_due || t->rounds.server != NULL || loom_state_is_divided (t->model.state)
             || checkpoints_write (&t->checkpoints, &t->progress, error));
}

/* ---- a run ------------------------------------------------------------ */

static void
show_end (LoomTrainer *t)
{
  watched_state_end (&t->observers.watched, rank_group_is_first (&t->group) && inbox_needs_state (&t->control.inbox));
}

static LoomTrainerEnd
end_run (LoomTrainer *t, TrainAction action, GError **error)
{
  if (!checkpoints_write (&t->checkpoints, &t->progress, error))
    return LOOM_TRAINER_FAILED;
  if (action == TRAIN_STOP)
    {
      show_end (t);
      return LOOM_TRAINER_STOPPED;
    }
  run_failure_interrupted (&t->group, &t->folder, t->progress.step, error);
  return LOOM_TRAINER_INTERRUPTED;
}

/* A run without epochs: evaluates the initial weights, and writes them. */
static LoomTrainerEnd
only_evaluate (LoomTrainer *t, GError **error)
{
  TrainAction action;
  gboolean yielded;

  if (!epoch_end_evaluate (&t->epoch_end, &yielded, error))
    return LOOM_TRAINER_FAILED;
  if (yielded)
    return run_control_poll (&t->control, &action, error) ? end_run (t, action, error) : LOOM_TRAINER_FAILED;
  if (!checkpoints_write (&t->checkpoints, &t->progress, error))
    return LOOM_TRAINER_FAILED;
  show_end (t);
  return LOOM_TRAINER_DONE;
}

/* TRUE if the run may end after the next step, or during the evaluation after it. An epoch's end with neither an
 * evaluation nor an early stop is like any other step: copies would cost short epochs as much as training. */
static gboolean
may_stand (const LoomTrainer *t)
{
  const gint64 ahead = training_loop_ahead (&t->loop);
  const gboolean ends_epoch = t->progress.batch + ahead + 1 == t->data.steps_per_epoch;

  return (ends_epoch && (t->model.spec->patience > 0 || train_data_validation (&t->data) != LOOM_N_SPLITS))
         || t->progress.step + ahead + 1 == train_data_last_step (&t->data);
}

/* Before each step after which the run may be paused, copies the state for observers. */
static gboolean
one_step (LoomTrainer *t, gboolean single, GError **error)
{
  WatchedState *watched = &t->observers.watched;
  gboolean is_paused = FALSE;

  if (breakpoints_are_due (&t->breakpoints))
    {
      if (!finish_steps (t, error) || !breakpoints_test (&t->breakpoints, &is_paused, error))
        return FALSE;
      if (is_paused)
        {
          if (rank_group_is_first (&t->group))
            inbox_pause (&t->control.inbox);
          return TRUE;
        }
    }
  if (watched_state_keeps (watched) && (single || may_stand (t) || inbox_will_stand (&t->control.inbox)))
    {
      if (!finish_steps (t, error))
        return FALSE;
      watched_state_keep (watched);
    }
  if (t->rounds.server == NULL)
    return training_loop_step (&t->loop, error);
  t->observers.trace.wanted = FALSE; /* no step is taken by all ranks together */
  return server_rounds_take (&t->rounds, single ? 1 : train_data_last_step (&t->data) - t->progress.step, error);
}

static gboolean
write_history (LoomTrainer *t, GError **error)
{
  const gint64 step = t->progress.step + training_loop_ahead (&t->loop);

  if (!time_machine_wants (&t->machine, step))
    return TRUE;
  if (!finish_steps (t, error))
    return FALSE;
  time_machine_keep (&t->machine);
  return TRUE;
}

/* Makes the changes of the replayed run that follow the finished steps. */
static gboolean
replay_changes (LoomTrainer *t, GError **error)
{
  return !live_changes_are_due (&t->replay, t->progress.step + training_loop_ahead (&t->loop))
         || (finish_steps (t, error) && run_control_replay (&t->control, &t->replay, error));
}

/* Handles commands between two steps. FALSE: the run ends with *end. */
static gboolean
between_steps (LoomTrainer *t, gboolean *single, LoomTrainerEnd *end, GError **error)
{
  const gboolean has_ranks = t->group.comm != NULL, is_wanted = run_control_is_wanted (&t->control);
  TrainAction action;

  *end = LOOM_TRAINER_FAILED;
  /* Ranks first agree on whether one of them has commands. */
  if (!has_ranks && (is_wanted || t->checkpoints.is_due) && !finish_steps (t, error))
    return FALSE;
  if (is_wanted)
    {
      if (!run_control_poll (&t->control, &action, error))
        return FALSE;
      if (action != TRAIN_CONTINUE)
        {
          *end = end_run (t, action, error);
          return FALSE;
        }
      *single = inbox_take_single (&t->control.inbox);
    }
  if (t->progress.step + training_loop_ahead (&t->loop) < train_data_last_step (&t->data))
    return write_history (t, error) && replay_changes (t, error);
  if (finish_steps (t, error))
    *end = end_run (t, TRAIN_STOP, error);
  return FALSE;
}

/* Runs the rest of the current epoch. FALSE: the run ends with *end. */
static gboolean
run_epoch (LoomTrainer *t, LoomTrainerEnd *end, GError **error)
{
  TrainAction action;
  gboolean single, yielded;
  gint64 before;

  if (t->progress.batch == 0)
    train_progress_begin_epoch (&t->progress);
  *end = LOOM_TRAINER_FAILED;
  if (!batch_size_begin_epoch (&t->batch_size, error))
    return FALSE;
  while (t->progress.batch + training_loop_ahead (&t->loop) < t->data.steps_per_epoch)
    {
      single = FALSE;
      if (!between_steps (t, &single, end, error))
        return FALSE;
      *end = LOOM_TRAINER_FAILED;
      /* A changed batch size may leave none of the epoch. */
      if (t->progress.batch + training_loop_ahead (&t->loop) >= t->data.steps_per_epoch)
        break;
      if (!one_step (t, single, error))
        return FALSE;
    }
  *end = LOOM_TRAINER_FAILED;
  if (!finish_steps (t, error))
    return FALSE;
  before = loom_monotonic ();
  if (!epoch_end_run (&t->epoch_end, &yielded, error))
    return FALSE;
  step_clock_skip (&t->log.clock, loom_monotonic () - before);
  if (t->group.comm != NULL || !inbox_is_pending (&t->control.inbox)
      || (!yielded && loom_trainer_is_over (t) && !inbox_must_end (&t->control.inbox, FALSE)))
    return TRUE;
  if (!run_control_poll (&t->control, &action, error))
    return FALSE;
  if (action == TRAIN_CONTINUE)
    return TRUE;
  *end = end_run (t, action, error);
  return FALSE;
}

static LoomTrainerEnd
run (LoomTrainer *t, GError **error)
{
  LoomTrainerEnd end;

  if (!training_loop_can_begin (&t->loop, error) || !rank_group_join (&t->group, error)
      || !training_loop_agree (&t->loop, error) || !initial_weights_begin (&t->model, t->begins, error))
    return LOOM_TRAINER_FAILED;
  if (t->model.spec->epochs == 0)
    return only_evaluate (t, error);
  while (!loom_trainer_is_over (t))
    {
      GError *failure = NULL;

      if (run_epoch (t, &end, &failure))
        continue;
      /* A step that is not finite has written nothing, and is repeated for the breakpoints. */
      if (!g_error_matches (failure, LOOM_ERROR, LOOM_ERROR_NAN) || !breakpoints_suspect (&t->breakpoints))
        {
          if (failure != NULL)
            g_propagate_error (error, failure);
          return end;
        }
      g_error_free (failure);
      step_failure_clear (&t->failure);
      inbox_repeat (&t->control.inbox);
    }
  show_end (t);
  return run_folder_flush (&t->folder, error) ? LOOM_TRAINER_DONE : LOOM_TRAINER_FAILED;
}

LoomTrainerEnd
loom_trainer_run (LoomTrainer *t, GError **error)
{
  static const char *const state[] = { "done", "stopped", "stopped", "failed" };
  GError *failure = NULL;
  LoomTrainerEnd end;

  inbox_begin (&t->control.inbox);
  step_clock_start (&t->log.clock, t->progress.step);
  t->checkpoints.last = t->log.clock.start_time;
  watched_state_begin (&t->observers.watched);
  device_memory_begin_run (&t->observers.memory);
  step_trace_choose (&t->observers.trace, t->progress.step, train_data_last_step (&t->data));
  run_control_show (&t->control, "running");
  if (run_folder_begin_session (&t->folder, t->progress.step, t->progress.epoch, &failure)
      && time_machine_return (&t->machine, &failure))
    {
      time_machine_begin_run (&t->machine);
      end = run (t, &failure);
    }
  else
    end = LOOM_TRAINER_FAILED;
  training_loop_drop (&t->loop);
  if (end == LOOM_TRAINER_FAILED)
    {
      const RunFailure left
          = { &t->model, &t->group, &t->progress, &t->loop, &t->failure.place, &t->folder, &t->checkpoints };

      step_failure_report (&t->failure);
      run_failure_save (&left, failure);
      run_failure_note (&left, failure);
      run_failure_explain (&left, failure);
      /* Writes the events up to the failure if that is still possible. */
      run_folder_flush (&t->folder, NULL);
    }
  run_folder_end_session (&t->folder, end == LOOM_TRAINER_DONE ? LOOM_RUN_END_DONE : LOOM_RUN_END_STOPPED, 0,
                          end == LOOM_TRAINER_INTERRUPTED ? "It was interrupted." : NULL);
  if (failure != NULL)
    g_propagate_error (error, failure);
  batch_queue_drop (&t->batches);
  loom_loader_reset (t->data.loader);
  device_memory_end_run (&t->observers.memory);
  inbox_end (&t->control.inbox);
  run_control_show (&t->control, state[end]);
  return end;
}
