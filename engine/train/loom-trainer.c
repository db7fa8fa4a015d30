/* A trainer's interface to its callers. */
#include "engine/train/trainer-private.h"

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/train/walk-requests.h"

#include <string.h>

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
  rank_server_free (t->rounds.server);
  train_model_clear (&t->model);
  rank_group_close (&t->group);
  initial_weights_free (t->transfer);
  g_clear_pointer (&t->begins, g_array_unref);
  live_changes_clear (&t->replay);
  time_machine_clear (&t->machine);
  train_notes_clear (&t->notes);
  run_control_clear (&t->control);
  g_free (t);
}

/* ---- observing -------------------------------------------------------- */

void
loom_trainer_set_last_step (LoomTrainer *t, gint64 step)
{
  t->data.max_steps = step;
}

void
loom_trainer_set_observer (LoomTrainer *t, const LoomTrainerObserver *observer, gpointer data)
{
  t->observer = (RunObserver){ t, observer != NULL ? *observer : (LoomTrainerObserver){ 0 }, data };
  t->log.report = t->observer.functions.step != NULL ? run_observer_step : NULL;
  t->log.report_data = &t->observer;
  t->notes.report = t->observer.functions.note != NULL ? run_observer_note : NULL;
  t->notes.data = &t->observer;
  t->observers.watched.is_shown = t->observer.functions.memory != NULL;
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
loom_trainer_predict (LoomTrainer *t, const LoomTensor *samples, const GPtrArray *others, LoomTrainerMoment *moment,
                      GError **error)
{
  TrainRequest request = { .samples = samples, .others = others };
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
    *moment = (LoomTrainerMoment){ .step = request.step, .epoch = request.epoch, .is_past = request.is_past };
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

  if (!inbox_pauses (&t->control.inbox) || t->rounds.server != NULL)
    return loom_refuse (error, LOOM_ERROR_USAGE,
                        t->rounds.server != NULL ? "Several ranks share the steps of this run, so it cannot go back."
                                                 : "Pause the run before going back to one of its steps.");
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
  const gint64 begin = loom_monotonic ();
  TravelCall call = { t, step };
  TrainRequest request = { .call = call_travel, .call_data = &call, .between_steps = TRUE };
  GError *fault = NULL;

  inbox_ask (&t->control.inbox, &request, &fault);
  if (fault != NULL)
    {
      g_propagate_error (error, fault);
      return FALSE;
    }
  if (moment != NULL)
    *moment = (LoomTrainerMoment){ t->progress.step, MIN (t->progress.epoch + 1, t->model.spec->epochs),
                                   (double)(loom_monotonic () - begin) / G_USEC_PER_SEC };
  return TRUE;
}

/* ---- a step, node by node --------------------------------------------- */

gboolean
loom_trainer_walk (LoomTrainer *t, const LoomWalkCommand *command, LoomStepperPlace *place, gint64 *step,
                   GError **error)
{
  return walk_requests_command (&t->control.inbox, &t->walk, command, place, step, error);
}

int
loom_trainer_walk_rank (const LoomTrainer *t)
{
  return t->walk.rank;
}

void
loom_trainer_end_walk (LoomTrainer *t)
{
  walk_requests_end (&t->control.inbox, &t->walk);
}

gboolean
loom_trainer_walk_values (LoomTrainer *t, guint n, const char *const *port, LoomPortSummary *value, GError **error)
{
  return walk_requests_values (&t->control.inbox, &t->walk, n, port, value, error);
}

LoomTensor *
loom_trainer_walk_port (LoomTrainer *t, const char *port, double *scale, GError **error)
{
  return walk_requests_port (&t->control.inbox, &t->walk, port, scale, error);
}

GArray *
loom_trainer_derivatives (LoomTrainer *t, const char *port, gint64 element, double *value, double *gradient,
                          GError **error)
{
  return walk_requests_derivatives (&t->control.inbox, &t->walk, port, element, value, gradient, error);
}

typedef struct
{
  LoomTrainer *trainer;
  GArray *list; /* LoomBreakpoint with names of its own */
} BreakpointsCall;

static void
clear_name (gpointer breakpoint)
{
  g_free ((char *)((LoomBreakpoint *)breakpoint)->node);
}

static void
take_breakpoints (gpointer data)
{
  BreakpointsCall *call = data;

  breakpoints_set (&call->trainer->breakpoints, (const LoomBreakpoint *)call->list->data, call->list->len);
  breakpoints_share (&call->trainer->breakpoints, &call->trainer->control.agreement);
  g_array_unref (call->list);
  g_free (call);
}

void
loom_trainer_set_breakpoints (LoomTrainer *t, const LoomBreakpoint *list, guint n)
{
  BreakpointsCall *call = g_new (BreakpointsCall, 1);

  *call = (BreakpointsCall){ t, g_array_new (FALSE, FALSE, sizeof (LoomBreakpoint)) };
  g_array_set_clear_func (call->list, clear_name);
  g_array_append_vals (call->list, list, n);
  for (guint i = 0; i < n; i++)
    g_array_index (call->list, LoomBreakpoint, i).node = g_strdup (list[i].node);
  inbox_later (&t->control.inbox, take_breakpoints, call);
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
  return t->rounds.server != NULL ? rank_server_staleness (t->rounds.server) : (LoomStaleness){ 0 };
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
  return loom_refuse (error, LOOM_ERROR_DATA, "The data set has neither validation nor test samples to evaluate on.");
}

/* ---- properties ------------------------------------------------------- */

double
loom_trainer_base_lr (LoomTrainer *t)
{
  return t->progress.base_lr;
}

gboolean
loom_trainer_check_hyper (LoomTrainer *t, const char *name, double value, GError **error)
{
  return run_control_check_value (&t->control, name, value, error);
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

void
loom_trainer_fingerprint (const LoomTrainer *t, guint64 part[LOOM_TRAINER_N_PARTS])
{
  memset (part, 0, LOOM_TRAINER_N_PARTS * sizeof *part);
  if (t != NULL)
    run_fingerprint (&t->model, &t->data, &t->progress,
                     t->observers.trace.path != NULL && !t->observers.trace.is_optional, t->checkpoints.keeps, part);
}
