/* Runs a trainer: calls its parts in order.
 *
 * Between two steps the run reads an atomic flag and calls the observer. Commands, requests, evaluation and checkpoints
 * run if the flag or the clock requires them, always after a step from which the run could be resumed. */
#include "engine/train/trainer-private.h"

#include "engine/core/loom-error.h"

#include <math.h>
#include <string.h>

static void
set_state (LoomTrainer *t, const char *state)
{
  if (g_strcmp0 (t->shown_state, state) == 0)
    return;
  t->shown_state = state;
  if (t->observer.state != NULL)
    t->observer.state (t, state, t->observer_data);
}

/* From here on the state is that of the progress. Writes a checkpoint if one is due; ranks agree on it first. */
static gboolean
finish_steps (LoomTrainer *t, GError **error)
{
  return training_loop_finish (&t->loop, error)
         && (!t->checkpoints.is_due || t->server != NULL || loom_state_is_divided (t->model.state)
             || checkpoints_write (&t->checkpoints, &t->progress, error));
}

/* ---- commands and requests -------------------------------------------- */

static gboolean
set_value (const char *name, double value, gpointer data, GError **error)
{
  LoomTrainer *t = data;
  LoomJson *json;

  if (!learning_rates_change (&t->rates, &t->progress, name, value)
      && !loom_state_set_scalar (t->model.state, name, value))
    return TRUE; /* the sender calls loom_trainer_has_hyper() first */
  agreement_note_value (&t->agreement, name, value);
  json = run_event_new ("hyper");
  loom_json_int (json, "step", t->progress.step);
  loom_json_string (json, "name", name);
  loom_json_number (json, "value", value);
  return run_folder_add_event (&t->folder, json, error);
}

static gboolean
obey (const TrainCommand *command, gpointer data, GError **error)
{
  LoomTrainer *t = data;

  if (command->kind == LOOM_COMMAND_SET_HYPER)
    return set_value (command->name, command->value, t, error);
  t->checkpoints.is_due = loom_state_is_divided (t->model.state);
  return t->checkpoints.is_due || checkpoints_write (&t->checkpoints, &t->progress, error);
}

static gboolean
serve (TrainRequest *request, gboolean fresh, gpointer data)
{
  LoomTrainer *t = data;

  return train_observers_serve (&t->observers, request, fresh, inbox_stands (&t->inbox));
}

static gboolean
can_serve (const TrainRequest *request, gpointer data)
{
  return !train_request_needs_state (request) || watched_state_is_ready (&((LoomTrainer *)data)->observers.watched);
}

static gboolean
can_stand (gboolean stops, gpointer data)
{
  return watched_state_can_stand (&((LoomTrainer *)data)->observers.watched, stops);
}

static gboolean
pause_run (gpointer data, GError **error)
{
  LoomTrainer *t = data;
  const gboolean ok = run_folder_flush (&t->folder, error);

  set_state (t, "paused");
  return ok;
}

static void
resume_run (gpointer data)
{
  LoomTrainer *t = data;

  step_clock_resume (&t->log.clock, t->progress.step);
}

InboxOwner
trainer_inbox_owner (LoomTrainer *t)
{
  return (InboxOwner){ obey, serve, can_serve, can_stand, pause_run, resume_run, t };
}

gboolean
trainer_poll_evaluation (gboolean *yields, gpointer data, GError **error)
{
  LoomTrainer *t = data;
  TrainAction action = TRAIN_CONTINUE;

  *yields = FALSE;
  if (t->group.comm != NULL || !inbox_is_pending (&t->inbox))
    return TRUE; /* ranks agree only between steps */
  if (!t->inbox.active || t->inbox.single)
    {
      *yields = inbox_must_end (&t->inbox);
      return TRUE;
    }
  if (!inbox_poll (&t->inbox, TRUE, &action, error))
    return FALSE;
  *yields = action != TRAIN_CONTINUE;
  if (!*yields)
    set_state (t, "running");
  return TRUE;
}

/* Replaces inbox_poll() if there are several ranks: rank 0 reads its commands, and all ranks execute them. DIST if a
 * rank is lost. */
static gboolean
agree (LoomTrainer *t, TrainAction *action, GError **error)
{
  RankReports *reports = &t->observers.reports;
  WatchedState *watched = &t->observers.watched;
  StepTrace *trace = &t->observers.trace;
  TrainAction own = TRAIN_CONTINUE;
  gint64 wanted[3] = { 0 }, most[3];
  AgreedStep step;

  if (rank_group_is_first (&t->group))
    {
      wanted[0] = inbox_is_pending (&t->inbox) || trace->wanted || rank_reports_wanted (reports) != reports->on;
      wanted[2] = inbox_is_pending (&t->inbox) && watched_state_is_copy (watched) && inbox_needs_state (&t->inbox);
    }
  else /* On other ranks only a request to end counts, which may be a signal that reached only one of them. */
    wanted[0] = inbox_must_end (&t->inbox) ? 2 : 0;
  wanted[1] = t->checkpoints.is_due;
  if (!rank_group_max (&t->group, wanted, most, 3, error))
    return FALSE;
  *action = TRAIN_CONTINUE;
  if (most[0] == 0 && most[1] == 0)
    return TRUE;
  t->checkpoints.is_due = FALSE;
  /* Synchronises state and progress, on all ranks alike. Reading the last step may make the next checkpoint due. */
  if (!training_loop_finish (&t->loop, error)
      || (most[1] != 0 && !checkpoints_write (&t->checkpoints, &t->progress, error))
      || (most[2] != 0 && !watched_state_gather (watched, error)))
    return FALSE;
  if (most[0] == 0)
    return TRUE;
  if (wanted[0] == 1 && !inbox_poll (&t->inbox, FALSE, &own, error))
    return FALSE;
  step = (AgreedStep){ .action = (gint32)own, .trace = trace->wanted, .reports = rank_reports_wanted (reports) };
  if (!rank_group_wait_for_first (&t->group, error) || !agreement_pass_on (&t->agreement, &step, set_value, t, error))
    return FALSE;
  trace->wanted = step.trace;
  reports->on = step.reports;
  t->plans.reports_own = (reports->on & RANK_REPORT_LOSSES) != 0;
  *action = most[0] == 2 ? TRAIN_INTERRUPT : (TrainAction)step.action;
  return TRUE;
}

/* ---- a parameter server ----------------------------------------------- */

static gboolean
must_end (gpointer data)
{
  return inbox_must_end (&((LoomTrainer *)data)->inbox);
}

static gboolean
is_called (gpointer data)
{
  LoomTrainer *t = data;

  return t->checkpoints.is_due || inbox_is_pending (&t->inbox);
}

static void
note_served (double loss, const double *own, gpointer data)
{
  LoomTrainer *t = data;

  rank_reports_served (&t->observers.reports, t->progress.step, loss, own);
}

static gboolean
serve_round (LoomTrainer *t, gint64 steps, GError **error)
{
  const RankServerOwner owner
      = { &t->data, &t->plans, &t->rates, &t->log, &t->failure, must_end, is_called, note_served, t };

  t->observers.trace.wanted = FALSE; /* no step is taken by all ranks together */
  if (!rank_server_round (t->server, &owner, steps, error))
    return FALSE;
  if (t->checkpoints.is_due && !checkpoints_write (&t->checkpoints, &t->progress, error))
    return FALSE;
  t->checkpoints.is_due = FALSE;
  return rank_reports_round (&t->observers.reports, error);
}

/* ---- an epoch's end --------------------------------------------------- */

static gboolean
validate (LoomTrainer *t, LoomSplit split, gboolean *yielded, GError **error)
{
  *yielded = FALSE;
  return split == LOOM_N_SPLITS || evaluation_run (&t->evaluation, split, yielded, error);
}

/* If validation has samples of its own, the test set is evaluated only at the end. */
static gboolean
test (LoomTrainer *t, LoomSplit validation, gboolean *yielded, GError **error)
{
  *yielded = FALSE;
  return validation != LOOM_SPLIT_VAL || loom_dataset_count (t->data.dataset, LOOM_SPLIT_TEST) == 0
         || evaluation_run (&t->evaluation, LOOM_SPLIT_TEST, yielded, error);
}

/* The value that <train> monitors: of the validation samples, or if there are none, of the training samples. */
static double
monitored (LoomTrainer *t, gboolean evaluated)
{
  const int monitor = t->model.spec->monitor;

  return evaluated     ? evaluation_monitored (&t->evaluation)
         : monitor < 0 ? train_progress_loss (&t->progress)
                       : step_log_metrics (&t->log)[monitor];
}

static gboolean
report_early_stop (LoomTrainer *t, GError **error)
{
  const LoomTrainerWatch *watch = &t->progress.watch;
  const int monitor = t->model.spec->monitor;
  LoomJson *json;

  if (!watch->patience_exhausted)
    return TRUE;
  if (t->observer.early_stop != NULL)
    t->observer.early_stop (t, watch, t->observer_data);
  json = run_event_new ("early_stop");
  loom_json_int (json, "step", t->progress.step);
  loom_json_int (json, "epoch", t->progress.epoch + 1);
  loom_json_string (json, "monitor", monitor < 0 ? "loss" : t->log.metric_name[monitor]);
  loom_json_exact (json, "best", watch->best);
  loom_json_int (json, "best_epoch", watch->best_epoch);
  return run_folder_add_event (&t->folder, json, error);
}

static gboolean
add_epoch_event (LoomTrainer *t, GError **error)
{
  LoomJson *json = run_event_new ("epoch");

  loom_json_int (json, "epoch", t->progress.epoch + 1);
  loom_json_int (json, "step", t->progress.step);
  loom_json_exact (json, "loss", train_progress_loss (&t->progress));
  return run_folder_add_event (&t->folder, json, error);
}

static gboolean
save_epoch (LoomTrainer *t, GError **error)
{
  const gint64 elapsed = g_get_monotonic_time () - t->log.clock.start_time;
  g_autoptr (GError) lost = NULL;

  if (rank_group_first_says (&t->group, t->model.state,
                             checkpoints_fit_epoch (&t->checkpoints, elapsed) || loom_trainer_is_over (t), &lost))
    return checkpoints_write (&t->checkpoints, &t->progress, error);
  if (lost == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&lost));
  return FALSE;
}

/* After an epoch's last step: evaluation, events, checkpoint. The epoch counts as done only after its evaluation, so
 * that a run resumed in between evaluates again. */
static gboolean
end_epoch (LoomTrainer *t, gboolean *yielded, GError **error)
{
  const LoomTrainSpec *spec = t->model.spec;
  const LoomSplit split = train_data_validation (&t->data);
  LoomTrainerWatch watch = t->progress.watch;
  double validation;

  if (!validate (t, split, yielded, error))
    return FALSE;
  if (*yielded)
    return TRUE;
  validation = t->evaluation.loss;
  if (spec->keep_best && train_watch_epoch (spec, &watch, t->progress.epoch + 1, monitored (t, split != LOOM_N_SPLITS))
      && !checkpoints_write_weights (&t->checkpoints, "weights-best.safetensors", error))
    return FALSE;
  if ((t->progress.epoch + 1 >= spec->epochs || watch.patience_exhausted) && !test (t, split, yielded, error))
    return FALSE;
  if (*yielded)
    return TRUE;
  if (!add_epoch_event (t, error))
    return FALSE;
  t->progress.watch = watch;
  if (!report_early_stop (t, error))
    return FALSE;
  loom_schedule_observe (&spec->schedule, &t->progress.plateau,
                         split != LOOM_N_SPLITS ? validation : train_progress_loss (&t->progress));
  t->progress.epoch++;
  t->progress.batch = 0;
  return save_epoch (t, error);
}

/* ---- a run ------------------------------------------------------------ */

static void
show_end (LoomTrainer *t)
{
  watched_state_end (&t->observers.watched, rank_group_is_first (&t->group) && inbox_needs_state (&t->inbox));
}

static LoomTrainerEnd
end_run (LoomTrainer *t, TrainAction action, GError **error)
{
  g_autofree char *words = t->folder.path != NULL ? rank_group_resume_words (&t->group, t->folder.path) : NULL;

  if (!checkpoints_write (&t->checkpoints, &t->progress, error))
    return LOOM_TRAINER_FAILED;
  if (action == TRAIN_STOP)
    {
      show_end (t);
      return LOOM_TRAINER_STOPPED;
    }
  if (words != NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_CANCELLED,
                 "Interrupted after step %" G_GINT64_FORMAT ". Continue with: %s", t->progress.step, words);
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_CANCELLED,
                 "Interrupted after step %" G_GINT64_FORMAT ". Nothing was kept, because no --out was given.",
                 t->progress.step);
  return LOOM_TRAINER_INTERRUPTED;
}

/* A run without epochs: evaluates the initial weights, and writes them. */
static LoomTrainerEnd
only_evaluate (LoomTrainer *t, GError **error)
{
  TrainAction action = TRAIN_CONTINUE;
  LoomSplit split = train_data_validation (&t->data);
  gboolean yielded;

  if (t->model.spec->dataset_node < 0
          ? !evaluation_run (&t->evaluation, LOOM_SPLIT_TRAIN, &yielded, error)
          : !validate (t, split, &yielded, error) || (!yielded && !test (t, split, &yielded, error)))
    return LOOM_TRAINER_FAILED;
  if (yielded)
    return inbox_poll (&t->inbox, FALSE, &action, error) ? end_run (t, action, error) : LOOM_TRAINER_FAILED;
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

  if (watched_state_keeps (watched) && (single || may_stand (t) || inbox_will_stand (&t->inbox)))
    {
      if (!finish_steps (t, error))
        return FALSE;
      watched_state_keep (watched);
    }
  return t->server != NULL ? serve_round (t, single ? 1 : train_data_last_step (&t->data) - t->progress.step, error)
                           : training_loop_step (&t->loop, error);
}

/* Handles commands and requests between two steps. FALSE: the run ends with *end. */
static gboolean
between_steps (LoomTrainer *t, gboolean *single, LoomTrainerEnd *end, GError **error)
{
  const gboolean has_ranks = t->group.comm != NULL, is_asked = has_ranks || inbox_is_pending (&t->inbox);
  TrainAction action = TRAIN_CONTINUE;

  *end = LOOM_TRAINER_FAILED;
  /* Ranks first agree on whether any of them has a command. */
  if (!has_ranks && (is_asked || t->checkpoints.is_due) && !finish_steps (t, error))
    return FALSE;
  if (is_asked)
    {
      if (!(has_ranks ? agree (t, &action, error) : inbox_poll (&t->inbox, FALSE, &action, error)))
        return FALSE;
      if (action != TRAIN_CONTINUE)
        {
          *end = end_run (t, action, error);
          return FALSE;
        }
      *single = inbox_take_single (&t->inbox);
      set_state (t, "running");
    }
  if (t->progress.step + training_loop_ahead (&t->loop) < train_data_last_step (&t->data))
    return TRUE;
  if (finish_steps (t, error))
    *end = end_run (t, TRAIN_STOP, error);
  return FALSE;
}

/* Runs the rest of the current epoch. FALSE: the run ends with *end. */
static gboolean
run_epoch (LoomTrainer *t, LoomTrainerEnd *end, GError **error)
{
  TrainAction action = TRAIN_CONTINUE;
  gboolean single = FALSE, yielded;
  gint64 before;

  if (t->progress.batch == 0)
    train_progress_begin_epoch (&t->progress);
  batch_queue_drop (&t->batches);
  if (t->progress.batch < t->data.steps_per_epoch)
    loom_loader_start (t->data.loader, t->progress.epoch, t->progress.batch * t->model.spec->accumulate);
  while (t->progress.batch + training_loop_ahead (&t->loop) < t->data.steps_per_epoch)
    {
      single = FALSE;
      if (!between_steps (t, &single, end, error))
        return FALSE;
      *end = LOOM_TRAINER_FAILED;
      if (!one_step (t, single, error))
        return FALSE;
    }
  *end = LOOM_TRAINER_FAILED;
  if (!finish_steps (t, error))
    return FALSE;
  before = g_get_monotonic_time ();
  if (!end_epoch (t, &yielded, error))
    return FALSE;
  step_clock_skip (&t->log.clock, g_get_monotonic_time () - before);
  if (t->group.comm != NULL || !inbox_is_pending (&t->inbox)
      || (!yielded && loom_trainer_is_over (t) && !inbox_must_end (&t->inbox)))
    return TRUE;
  if (!inbox_poll (&t->inbox, FALSE, &action, error))
    return FALSE;
  if (action != TRAIN_CONTINUE)
    {
      *end = end_run (t, action, error);
      return FALSE;
    }
  set_state (t, "running");
  return TRUE;
}

static LoomTrainerEnd
run (LoomTrainer *t, GError **error)
{
  LoomTrainerEnd end;

  if (!rank_group_join (&t->group, error) || !training_loop_agree (&t->loop, error))
    return LOOM_TRAINER_FAILED;
  if (t->model.spec->epochs == 0)
    return only_evaluate (t, error);
  while (!loom_trainer_is_over (t))
    if (!run_epoch (t, &end, error))
      return end;
  show_end (t);
  return run_folder_flush (&t->folder, error) ? LOOM_TRAINER_DONE : LOOM_TRAINER_FAILED;
}

/* ---- failures --------------------------------------------------------- */

/* A run that fails keeps its finished steps: an evaluation has failed, or a step that has written nothing. Nothing is
 * saved if a file could not be written, because another write would fail, too; or if the weights make the next batch
 * overflow with any learning rate, because the resumed run would fail again. */
static void
save_finished (LoomTrainer *t, const GError *failure)
{
  const gboolean is_divided = loom_state_is_divided (t->model.state);
  g_autoptr (GError) error = NULL;

  /* Ranks with shards of the state write together, so only if all have failed alike. */
  if ((is_divided && failure->code != LOOM_ERROR_NAN) || !checkpoints_takes_part (&t->checkpoints) || t->loop.is_between
      || t->progress.step == t->checkpoints.saved_step || failure->domain != LOOM_ERROR
      || failure->code == LOOM_ERROR_IO || t->failure.place.weights_overflow)
    return;
  /* The others wait for this rank's shard, which it cannot send. */
  if (!checkpoints_write (&t->checkpoints, &t->progress, &error) && is_divided)
    t->group.comm->abort (t->group.comm, error->message);
}

/* "Step 3 (epoch 1)" or "Evaluation after step 3"; not "a step on cuda:0". */
static gboolean
names_step (const char *message)
{
  const char *at = message;

  while ((at = strstr (at, "tep ")) && !g_ascii_isdigit (at[4]))
    at += 4;
  return at != NULL;
}

/* How to resume the run. If the weights overflow, from the newest checkpoint, with a smaller learning rate. */
static char *
resume_hint (const LoomTrainer *t, const char *message)
{
  g_autofree char *words = rank_group_resume_words (&t->group, t->folder.path);
  const gint64 saved = t->checkpoints.saved_step;
  char lr[G_ASCII_DTOSTR_BUF_SIZE];

  if (!t->failure.place.weights_overflow || !(t->progress.base_lr > 0))
    return g_strdup_printf ("%s %s with: %s", g_str_has_suffix (message, ".") ? "" : ".",
                            saved > 0 ? "Continue" : "No step is saved yet; begin again", words);
  g_ascii_formatd (lr, sizeof lr, "%.4g", t->progress.base_lr / 10);
  return saved > 0 ? g_strdup_printf (" Continue from step %" G_GINT64_FORMAT " with: %s --lr %s", saved, words, lr)
                   : g_strdup_printf (" No step is saved yet; begin again with: %s --lr %s", words, lr);
}

/* Adds when the run failed and how to resume it, unless the error contains that already. */
static void
add_resume_hint (const LoomTrainer *t, GError *failure)
{
  g_autofree char *when = NULL, *hint = NULL;
  char *message;

  if (g_error_matches (failure, LOOM_ERROR, LOOM_ERROR_IO))
    return;
  if (!names_step (failure->message))
    when = g_strdup_printf ("After %" G_GINT64_FORMAT " step%s: ", t->progress.step, t->progress.step == 1 ? "" : "s");
  if (t->folder.path != NULL && strstr (failure->message, "--resume") == NULL)
    hint = resume_hint (t, failure->message);
  message = g_strconcat (when != NULL ? when : "", failure->message, hint, NULL);
  g_free (failure->message);
  failure->message = message;
}

LoomTrainerEnd
loom_trainer_run (LoomTrainer *t, GError **error)
{
  static const char *const state[] = { "done", "stopped", "stopped", "failed" };
  GError *failure = NULL;
  LoomTrainerEnd end;

  inbox_begin (&t->inbox);
  step_clock_start (&t->log.clock, t->progress.step);
  t->checkpoints.last = t->log.clock.start_time;
  watched_state_begin (&t->observers.watched);
  device_memory_begin_run (&t->observers.memory);
  step_trace_choose (&t->observers.trace, t->progress.step, train_data_last_step (&t->data));
  set_state (t, "running");
  end = run (t, &failure);
  training_loop_drop (&t->loop);
  if (end == LOOM_TRAINER_FAILED)
    {
      save_finished (t, failure);
      add_resume_hint (t, failure);
      /* Writes the events up to the failure if that is still possible. */
      run_folder_flush (&t->folder, NULL);
    }
  if (failure != NULL)
    g_propagate_error (error, failure);
  batch_queue_drop (&t->batches);
  loom_loader_reset (t->data.loader);
  device_memory_end_run (&t->observers.memory);
  inbox_end (&t->inbox);
  set_state (t, state[end]);
  return end;
}
