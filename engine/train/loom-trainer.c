/* A trainer's interface to its callers. */
#include "engine/train/trainer-private.h"

#include "engine/core/loom-error.h"
#include "engine/train/derivative-chain.h"

void
loom_trainer_free (LoomTrainer *t)
{
  if (t == NULL)
    return;
  breakpoints_clear (&t->breakpoints);
  step_walk_clear (&t->walk);
  batch_queue_drop (&t->batches);
  train_observers_clear (&t->observers);
  training_loop_clear (&t->loop);
  step_plans_clear (&t->plans);
  evaluation_clear (&t->evaluation);
  train_data_clear (&t->data);
  step_log_clear (&t->log);
  step_failure_clear (&t->failure);
  learning_rates_clear (&t->rates);
  train_progress_clear (&t->progress);
  run_folder_clear (&t->folder);
  rank_server_free (t->server);
  train_model_clear (&t->model);
  rank_group_close (&t->group);
  initial_weights_free (t->transfer);
  live_changes_clear (&t->replay);
  time_machine_clear (&t->machine);
  history_clear (&t->checkpoints.history);
  train_notes_clear (&t->notes);
  run_control_clear (&t->control);
  g_free (t);
}

/* ---- observing -------------------------------------------------------- */

static void
report_step (const LoomTrainerStep *step, gpointer data)
{
  LoomTrainer *t = data;

  t->observer.step (t, step, t->observer_data);
}

static void
report_note (const char *note, gpointer data)
{
  LoomTrainer *t = data;

  t->observer.note (t, note, t->observer_data);
}

void
loom_trainer_set_last_step (LoomTrainer *t, gint64 step)
{
  t->data.max_steps = step;
}

void
loom_trainer_set_observer (LoomTrainer *t, const LoomTrainerObserver *observer, gpointer data)
{
  t->observer = observer != NULL ? *observer : (LoomTrainerObserver){ 0 };
  t->observer_data = data;
  t->log.report = t->observer.step != NULL ? report_step : NULL;
  t->log.report_data = t;
  t->notes.report = t->observer.note != NULL ? report_note : NULL;
  t->notes.data = t;
  t->observers.watched.is_shown = t->observer.memory != NULL;
}

void
loom_trainer_post (LoomTrainer *t, LoomCommandKind kind, const char *name, double value)
{
  inbox_post (&t->control.inbox, kind, name, value);
}

LoomTensor *
loom_trainer_snapshot (LoomTrainer *t, const char *port, gint64 *step, GError **error)
{
  TrainRequest request = { .port = port };
  LoomTensor *result = inbox_ask (&t->control.inbox, &request, error);

  if (step != NULL)
    *step = request.step;
  return result;
}

void
loom_trainer_between_steps (LoomTrainer *t, void (*call) (gpointer data), gpointer data)
{
  inbox_later (&t->control.inbox, call, data);
}

GPtrArray *
loom_trainer_predict (LoomTrainer *t, const LoomTensor *samples, LoomTrainerMoment *moment, GError **error)
{
  TrainRequest request = { .samples = samples };
  g_autoptr (LoomTensor) result = inbox_ask (&t->control.inbox, &request, error);

  if (moment != NULL)
    *moment = (LoomTrainerMoment){ request.step, request.epoch, request.seconds };
  /* Made at the first request, and constant for the trainer's life. */
  return result ? sample_answers_list (t->observers.answers, result, (guint)samples->dim[0], error) : NULL;
}

GPtrArray *
loom_trainer_weights (LoomTrainer *t, LoomTrainerMoment *moment, GError **error)
{
  TrainRequest request = { .wants_weights = TRUE };

  inbox_ask (&t->control.inbox, &request, error);
  if (moment != NULL)
    *moment = (LoomTrainerMoment){ .step = request.step, .epoch = request.epoch };
  return request.weights;
}

const LoomGraph *
loom_trainer_graph (const LoomTrainer *t)
{
  return t->model.graph;
}

/* ---- another step ------------------------------------------------------- */

typedef struct
{
  LoomTrainer *trainer;
  gint64 step;
} TravelCall;

static gboolean
call_travel (gpointer data, GError **error)
{
  const TravelCall *call = data;
  LoomTrainer *t = call->trainer;
  gboolean ok;

  if (t->is_evaluating || !inbox_pauses (&t->control.inbox) || t->server != NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   t->is_evaluating    ? "An evaluation is in progress. Wait until it is over."
                   : t->server != NULL ? "Several ranks share the steps of this run, so that it cannot go back."
                                       : "Pause the run before going back to one of its steps.");
      return FALSE;
    }
  step_walk_clear (&t->walk);
  ok = call->step < 0 ? time_machine_return (&t->machine, error) : time_machine_leave (&t->machine, call->step, error);
  if (!t->control.inbox.active)
    {
      batch_queue_drop (&t->batches);
      loom_loader_reset (t->data.loader);
    }
  return ok;
}

gboolean
loom_trainer_travel (LoomTrainer *t, gint64 step, LoomTrainerMoment *moment, GError **error)
{
  const gint64 begin = g_get_monotonic_time ();
  TravelCall call = { t, step };
  TrainRequest request = { .call = call_travel, .call_data = &call };
  GError *fault = NULL;

  inbox_ask (&t->control.inbox, &request, &fault);
  if (fault != NULL)
    {
      g_propagate_error (error, fault);
      return FALSE;
    }
  if (moment != NULL)
    *moment = (LoomTrainerMoment){ t->progress.step, MIN (t->progress.epoch + 1, t->model.spec->epochs),
                                   (double)(g_get_monotonic_time () - begin) / G_USEC_PER_SEC };
  return TRUE;
}

/* ---- a step, node by node --------------------------------------------- */

typedef struct
{
  LoomTrainer *trainer;
  const LoomWalkCommand *command;
  LoomStepperPlace *place;
  gint64 *step;
} WalkCall;

static gboolean
run_walk_command (StepWalk *walk, const LoomWalkCommand *command, GError **error)
{
  switch (command->kind)
    {
    case LOOM_WALK_BEGIN:
      return step_walk_begin (walk, error);
    case LOOM_WALK_MOVE:
      return loom_stepper_move (walk->stepper, command->move, error);
    case LOOM_WALK_FINISH:
      return loom_stepper_finish (walk->stepper, command->region, error);
    case LOOM_WALK_GO_TO:
      return loom_stepper_go_to (walk->stepper, command->node, command->region, error);
    }
  g_return_val_if_reached (FALSE);
}

static gboolean
require_walk (const StepWalk *walk, GError **error)
{
  if (!walk->is_begun)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "No step is taken apart. Begin one.");
  return walk->is_begun;
}

static gboolean
call_walk (gpointer data, GError **error)
{
  WalkCall *call = data;
  StepWalk *walk = &call->trainer->walk;

  if ((call->command->kind != LOOM_WALK_BEGIN && !require_walk (walk, error))
      || !run_walk_command (walk, call->command, error))
    return FALSE;
  loom_stepper_get_place (walk->stepper, call->place);
  *call->step = walk->step;
  return TRUE;
}

gboolean
loom_trainer_walk (LoomTrainer *t, const LoomWalkCommand *command, LoomStepperPlace *place, gint64 *step,
                   GError **error)
{
  WalkCall call = { t, command, place, step };
  TrainRequest request = { .call = call_walk, .call_data = &call };
  GError *fault = NULL;

  inbox_ask (&t->control.inbox, &request, &fault);
  if (fault != NULL)
    g_propagate_error (error, fault);
  return fault == NULL;
}

static gboolean
call_end_walk (gpointer data, GError **error)
{
  step_walk_clear (data);
  return TRUE;
}

void
loom_trainer_end_walk (LoomTrainer *t)
{
  TrainRequest request = { .call = call_end_walk, .call_data = &t->walk };

  inbox_ask (&t->control.inbox, &request, NULL);
}

typedef struct
{
  StepWalk *walk;
  guint n;
  const char *const *port;
  LoomPortSummary *value;
} ValuesCall;

static gboolean
call_values (gpointer data, GError **error)
{
  const ValuesCall *call = data;

  if (!require_walk (call->walk, error))
    return FALSE;
  for (guint i = 0; i < call->n; i++)
    {
      GError *fault = NULL;
      double scale;
      g_autoptr (LoomTensor) t = step_walk_port (call->walk, call->port[i], &scale, &fault);

      call->value[i] = (LoomPortSummary){ 0 };
      if (fault != NULL)
        {
          g_propagate_error (error, fault);
          return FALSE;
        }
      if (t != NULL)
        loom_port_summary_set (&call->value[i], t, scale);
    }
  return TRUE;
}

gboolean
loom_trainer_walk_values (LoomTrainer *t, guint n, const char *const *port, LoomPortSummary *value, GError **error)
{
  ValuesCall call = { &t->walk, n, port, value };
  TrainRequest request = { .call = call_values, .call_data = &call };
  GError *fault = NULL;

  inbox_ask (&t->control.inbox, &request, &fault);
  if (fault != NULL)
    g_propagate_error (error, fault);
  return fault == NULL;
}

typedef struct
{
  StepWalk *walk;
  const char *port;
  double *scale;
  LoomTensor *result;
} PortCall;

static gboolean
call_port (gpointer data, GError **error)
{
  PortCall *call = data;

  if (!require_walk (call->walk, error))
    return FALSE;
  call->result = step_walk_port (call->walk, call->port, call->scale, error);
  return call->result != NULL;
}

LoomTensor *
loom_trainer_walk_port (LoomTrainer *t, const char *port, double *scale, GError **error)
{
  PortCall call = { &t->walk, port, scale, NULL };
  TrainRequest request = { .call = call_port, .call_data = &call };

  inbox_ask (&t->control.inbox, &request, error);
  return call.result;
}

typedef struct
{
  StepWalk *walk;
  const char *port;
  gint64 element;
  double *value, *gradient;
  GArray *chain;
} ChainCall;

static gboolean
call_chain (gpointer data, GError **error)
{
  ChainCall *call = data;

  if (require_walk (call->walk, error))
    call->chain = derivative_chain_new (call->walk, call->port, call->element, call->value, call->gradient, error);
  return call->chain != NULL;
}

GArray *
loom_trainer_derivatives (LoomTrainer *t, const char *port, gint64 element, double *value, double *gradient,
                          GError **error)
{
  ChainCall call = { &t->walk, port, element, value, gradient, NULL };
  TrainRequest request = { .call = call_chain, .call_data = &call };

  inbox_ask (&t->control.inbox, &request, error);
  return call.chain;
}

typedef struct
{
  LoomTrainer *trainer;
  const LoomBreakpoint *list;
  guint n;
} BreakpointsCall;

static gboolean
call_set_breakpoints (gpointer data, GError **error)
{
  const BreakpointsCall *call = data;

  breakpoints_set (&call->trainer->breakpoints, call->list, call->n);
  breakpoints_share (&call->trainer->breakpoints, &call->trainer->control.agreement);
  return TRUE;
}

void
loom_trainer_set_breakpoints (LoomTrainer *t, const LoomBreakpoint *list, guint n)
{
  BreakpointsCall call = { t, list, n };
  TrainRequest request = { .call = call_set_breakpoints, .call_data = &call };

  inbox_ask (&t->control.inbox, &request, NULL);
}

void
loom_trainer_waits (const LoomTrainer *t, LoomTrainerWaits *waits)
{
  step_timings_values (&t->observers.timings, waits);
  waits->threads = loom_loader_n_threads (t->data.loader);
}

void
loom_trainer_memory (const LoomTrainer *t, gsize bytes[LOOM_N_OWNERS])
{
  train_observers_bytes (&t->observers, bytes);
}

gboolean
loom_trainer_device_memory (const LoomTrainer *t, LoomTrainerDeviceMemory *memory)
{
  *memory = t->observers.memory.now;
  return memory->total > 0;
}

LoomStaleness
loom_trainer_staleness (const LoomTrainer *t)
{
  return t->server != NULL ? rank_server_staleness (t->server) : (LoomStaleness){ 0 };
}

/* ---- evaluating ------------------------------------------------------- */

gboolean
loom_trainer_evaluate (LoomTrainer *t, const char *name, GError **error)
{
  gboolean yielded;
  LoomSplit split = g_strcmp0 (name, "test") == 0 ? LOOM_SPLIT_TEST : LOOM_SPLIT_VAL;

  /* A loss that depends on no data has one value for all splits. */
  if (t->model.spec->dataset_node < 0)
    return evaluation_run (&t->evaluation, LOOM_SPLIT_TRAIN, &yielded, error);
  if (loom_dataset_count (t->data.dataset, split) == 0)
    split = train_data_validation (&t->data);
  if (split != LOOM_N_SPLITS)
    return evaluation_run (&t->evaluation, split, &yielded, error);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
               "The data set has neither validation nor test samples to evaluate on.");
  return FALSE;
}

/* ---- properties ------------------------------------------------------- */

double
loom_trainer_base_lr (LoomTrainer *t)
{
  return t->progress.base_lr;
}

gboolean
loom_trainer_has_hyper (LoomTrainer *t, const char *name)
{
  return run_control_has_value (&t->control, name);
}

const char *
loom_trainer_get_failed_node (const LoomTrainer *t, const char **port)
{
  if (port != NULL)
    *port = t->failure.place.port;
  return t->failure.place.node;
}

const char *
loom_trainer_notes (const LoomTrainer *t)
{
  return t->notes.text != NULL ? t->notes.text->str : NULL;
}

const LoomNet *
loom_trainer_net (const LoomTrainer *t)
{
  return t->model.net;
}

const LoomTrainSpec *
loom_trainer_spec (const LoomTrainer *t)
{
  return t->model.spec;
}

gint64
loom_trainer_steps (const LoomTrainer *t)
{
  return t->progress.step;
}

gint64
loom_trainer_total_steps (const LoomTrainer *t)
{
  return t->data.total_steps;
}

gboolean
loom_trainer_has_traced (const LoomTrainer *t)
{
  return t->observers.trace.is_written;
}

gboolean
loom_trainer_is_over (const LoomTrainer *t)
{
  return epoch_end_is_last (&t->epoch_end);
}

const LoomTransfer *
loom_trainer_transfer (const LoomTrainer *t)
{
  return t->transfer;
}

char *
loom_trainer_resume_words (const LoomTrainer *t)
{
  return rank_group_resume_words (&t->group, t->folder.path);
}

const char *
loom_trainer_device (const LoomTrainer *t)
{
  return t->model.device;
}

LoomState *
loom_trainer_state (const LoomTrainer *t)
{
  return t->model.state;
}
