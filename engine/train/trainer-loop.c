/* The training loop.
 *
 * Between two steps the loop reads an atomic flag, adds to a few sums and calls the observer. It allocates and formats
 * nothing, and reads the clock about a thousand times a second however short a step is. Commands, snapshots, evaluation
 * and checkpoints run when the flag or the clock asks for them, always at a place from which the run could be resumed.
 */
#include "engine/train/trainer-private.h"

#include <math.h>
#include <string.h>

/* ---- time ------------------------------------------------------------- */

#define CLOCK_PERIOD 1000 /* µs between two readings of the clock */

/* The step that the run ends at, if nothing ends it before. */
static gint64
last_step (const LoomTrainer *t)
{
  return t->max_steps > 0 ? MIN (t->max_steps, t->total_steps) : t->total_steps;
}

/* Rate, ETA, and whether a checkpoint is due. */
static gboolean
read_clock (LoomTrainer *t)
{
  gint64 now = g_get_monotonic_time (), elapsed = now - t->clock.last_time;
  gint64 steps = MAX (1, t->clock.stride);

  if (elapsed < CLOCK_PERIOD / 2)
    t->clock.stride = MIN (steps * 2, 4096);
  else if (elapsed > CLOCK_PERIOD * 2)
    t->clock.stride = MAX (1, steps / 2);
  t->clock.next_step = t->place.step + t->clock.stride;

  if (elapsed > 0 && t->clock.items_since > 0)
    {
      /* Exponential mean with a time constant of a second. */
      double rate = t->clock.items_since * G_USEC_PER_SEC / elapsed;
      double weight = t->clock.items_per_second > 0 ? -expm1 (-(double)elapsed / G_USEC_PER_SEC) : 1;
      double left = (double)(last_step (t) - t->place.step) * loom_loader_n_samples (t->loader) / t->steps_per_epoch;
      t->clock.items_per_second += weight * (rate - t->clock.items_per_second);
      t->clock.eta_seconds = t->clock.items_per_second > 0 ? left / t->clock.items_per_second : 0;
    }
  t->clock.last_time = now;
  t->clock.items_since = 0;
  trainer_memory_step (t, now);
  return now - t->clock.last_checkpoint >= t->clock.checkpoint_interval;
}

/* The first epochs may end with a checkpoint each; then a tenth of the time may go to them at most, so that epochs of a
 * few milliseconds do not spend theirs on it. */
static gboolean
epoch_checkpoint_fits (LoomTrainer *t)
{
  gint64 spent = t->clock.checkpoint_cost;
  return spent < G_USEC_PER_SEC / 4 || spent * 10 < g_get_monotonic_time () - t->clock.start_time
         || loom_trainer_is_over (t);
}

/* ---- steps ------------------------------------------------------------ */

void
trainer_tell_step (LoomTrainer *t, gint64 number, double loss, double lr, double grad_norm)
{
  if (t->observer.step == NULL)
    return;
  LoomTrainerStep step = {
    .step = number,
    .epoch = t->place.epoch + 1,
    .steps_per_epoch = t->steps_per_epoch,
    .total_steps = last_step (t),
    .loss = loss,
    .epoch_loss = t->place.loss_sum / t->place.sample_sum,
    .lr = lr,
    .grad_norm = grad_norm,
    .items_per_second = t->clock.items_per_second,
    .eta_seconds = t->clock.eta_seconds,
    .n_metrics = t->place.metrics->n,
    .metric_name = t->metric_name,
    .metric = t->metric_value,
  };
  trainer_recent_values (&t->recent, &step, t->metric_value);
  t->observer.step (t, &step, t->observer_data);
}

void
trainer_set_rates (LoomTrainer *t, gint64 step)
{
  const LoomSchedule *schedule = &t->spec->schedule;
  double lr = loom_schedule_factor (schedule, &t->place.plateau, t->place.base_lr, step, t->total_steps);
  double momentum = loom_schedule_momentum (schedule, step, t->total_steps);

  if (lr != t->rates.lr)
    {
      if (t->rates.lr_slot >= 0)
        loom_state_put_scalar_at (t->state, (guint)t->rates.lr_slot, lr);
      t->rates.lr = lr;
    }
  for (guint i = 0; i < t->rates.n_groups; i++)
    {
      TrainerRate *rate = &t->rates.group[i];
      double now = loom_schedule_factor (schedule, &t->place.plateau, t->place.group_lr[i], step, t->total_steps);
      if (now != rate->now && rate->slot >= 0)
        loom_state_put_scalar_at (t->state, (guint)rate->slot, now);
      rate->now = now;
    }
  for (guint i = 0; i < t->spec->scheduled->len; i++)
    {
      const LoomScheduled *scheduled = t->spec->scheduled->pdata[i];
      int slot = loom_state_find (t->state, scheduled->slot);

      if (slot >= 0)
        loom_state_put_scalar_at (t->state, (guint)slot, loom_scheduled_at (scheduled, step, t->total_steps));
    }
  if (!isnan (momentum) && momentum != t->rates.momentum && t->rates.momentum_slot >= 0)
    {
      loom_state_put_scalar_at (t->state, (guint)t->rates.momentum_slot, momentum);
      t->rates.momentum = momentum;
    }
}

double
trainer_step_samples (const LoomTrainer *t, gint64 batch)
{
  gint64 step = t->spec->accumulate * t->spec->batch_size;

  return (double)MIN (step, loom_loader_n_samples (t->loader) - batch * step);
}

void
trainer_set_part (LoomTrainer *t, gint64 step, gint64 batch, gint64 part, double share)
{
  if (t->update != NULL)
    {
      loom_state_put_scalar_at (t->state, (guint)t->first_slot, part == 0);
      loom_state_put_scalar_at (t->state, (guint)t->weight_slot, share);
      if (t->rng_slot >= 0)
        loom_state_put_scalar_at (t->state, (guint)t->rng_slot, (double)(step * t->spec->accumulate + part));
    }
  if (t->carry_slot >= 0)
    loom_state_put_scalar_at (t->state, (guint)t->carry_slot, (double)(batch * t->spec->accumulate + part));
}

/* Runs a batch, and where it is only a part of a step, gives it the part: `all` are the step's samples. While a card
 * computes, the next batch is fetched and brought up to it. */
static gboolean
one_batch (LoomTrainer *t, TrainerPlan *plan, const LoomBatch *batch, gint64 part, double all, GError **error)
{
  trainer_set_part (t, t->place.step, t->place.batch, part, (double)batch->n / all);
  trainer_ahead_feed (t, plan, batch);
  if (t->trace.active)
    return trainer_trace_run (t, plan->exec, error);
  if (!loom_exec_step (plan->exec, error))
    return FALSE;
  trainer_ahead_fetch (t, plan);
  return loom_exec_sync (plan->exec, error);
}

gboolean
trainer_explain_failure (LoomTrainer *t, TrainerPlan *plan, const LoomBatch *batch, GError *failure, GError **error)
{
  if (g_error_matches (failure, LOOM_ERROR, LOOM_ERROR_NAN))
    {
      double loss = loom_exec_scalar (plan->exec, plan->loss);

      g_error_free (failure);
      /* The curve gets its last point; the error explains it. */
      if (!isfinite (loss))
        trainer_tell_step (t, t->place.step + 1, loss, t->rates.lr, loom_exec_scalar (plan->exec, plan->grad_norm));
      trainer_explain_nan (t, plan, batch, error);
      return FALSE;
    }
  g_propagate_prefixed_error (error, failure,
                              "Step %" G_GINT64_FORMAT " (epoch %" G_GINT64_FORMAT "): ", t->place.step + 1,
                              t->place.epoch + 1);
  return FALSE;
}

gboolean
trainer_explain_update (const LoomTrainer *t, GError *failure, GError **error)
{
  if (!g_error_matches (failure, LOOM_ERROR, LOOM_ERROR_NAN))
    {
      g_propagate_error (error, failure);
      return FALSE;
    }
  g_error_free (failure);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_NAN,
               "The gradients of step %" G_GINT64_FORMAT " (epoch %" G_GINT64_FORMAT ") are finite for each batch, "
               "but their sum is not. The weights are those before that step. Scale the loss down.",
               t->place.step + 1, t->place.epoch + 1);
  return FALSE;
}

void
trainer_count_step (LoomTrainer *t, double loss, double samples)
{
  t->place.step++;
  t->place.batch++;
  t->place.loss_sum += loss * samples;
  t->place.sample_sum += samples;
  trainer_recent_step (&t->recent, loss, samples, t->steps_per_epoch - t->place.batch);
  t->clock.items_since += samples;
}

gboolean
trainer_note_step (LoomTrainer *t, double loss, double lr, gboolean *checkpoint_is_due, GError **error)
{
  if (t->events.fd >= 0 && (t->event_stride == 1 || t->place.step % t->event_stride == 0))
    {
      t->events.point[t->events.n++] = (TrainerPoint){ t->place.step, t->place.epoch + 1, loss, lr };
      if (t->events.n == TRAINER_POINTS && !trainer_events_flush (t, error))
        return FALSE;
    }
  const gboolean due = t->place.step >= t->clock.next_step && read_clock (t);

  /* Where nothing is kept none is ever written, and it would stay due. */
  *checkpoint_is_due = due && t->keeps;
  return TRUE;
}

/* The batches of a step, and the step from their gradients. */
static gboolean
try_step (LoomTrainer *t, GError **error)
{
  double all = trainer_step_samples (t, t->place.batch);
  double loss, samples = 0, lr, grad_norm = 0;
  TrainerPlan *plan = NULL;
  gboolean checkpoint_is_due;
  g_autoptr (GError) local = NULL;

  trainer_waits_begin (t);
  trainer_trace_begin (t);
  trainer_set_rates (t, t->place.step);
  lr = t->rates.lr;
  for (gint64 part = 0; samples < all; part++)
    {
      const LoomBatch *batch = trainer_ahead_next (t, error);
      if (batch == NULL)
        return FALSE;
      trainer_waits_lap (t, &t->waits.data);
      plan = trainer_plan_get (t, batch->n, TRUE, error);
      if (plan == NULL)
        return FALSE;
      if (!one_batch (t, plan, batch, part, all, &local))
        return trainer_explain_failure (t, plan, batch, g_steal_pointer (&local), error);
      trainer_waits_lap (t, &t->waits.compute);
      if (!t->link_told)
        trainer_tell_link (t, plan);
      /* A driver judges the points that it evaluates itself, but the point that it begins from must be finite. */
      if (t->driver != NULL && loom_exec_scalar (plan->exec, plan->finite) == 0)
        return trainer_explain_failure (t, plan, batch, g_error_new_literal (LOOM_ERROR, LOOM_ERROR_NAN, ""), error);
      trainer_loss_add (&t->loss, plan, (double)batch->n / all, part == 0);
      grad_norm = loom_exec_scalar (plan->exec, plan->grad_norm);
      samples += (double)batch->n;
      if (t->look.on & TRAINER_LOOK_LOSSES)
        trainer_look_batch (t, plan, part, (double)batch->n / all);
      if (!trainer_metrics_take (t->place.metrics, plan, error)
          || !trainer_metrics_take (trainer_recent_metrics (&t->recent), plan, error))
        {
          t->mid_step_failure = t->update == NULL; /* the weights have taken the step, the sums have not */
          return FALSE;
        }
    }
  if (t->update != NULL)
    {
      if (t->trace.active ? !trainer_trace_run (t, t->update, &local) : !loom_exec_run (t->update, &local))
        return trainer_explain_update (t, g_steal_pointer (&local), error);
      grad_norm = loom_exec_scalar (t->update, t->update_norm);
      trainer_waits_lap (t, &t->waits.compute);
    }

  loss = trainer_loss_value (&t->loss, plan, 1);
  trainer_count_step (t, loss, all);
  /* Outputs are the driver's from here on. */
  if (t->driver != NULL)
    {
      if (!t->driver->advance (&(LoomDriverCall){ plan->exec, t->state, t->spec }, error))
        {
          t->mid_step_failure = TRUE;
          return FALSE;
        }
      const int slot = loom_state_find (t->state, "step");
      if (slot >= 0)
        loom_state_put_scalar_at (t->state, (guint)slot, (double)t->place.step);
      trainer_waits_lap (t, &t->waits.compute);
    }
  if (!trainer_note_step (t, loss, lr, &checkpoint_is_due, error))
    return FALSE;
  if (checkpoint_is_due)
    {
      if (loom_state_is_divided (t->state))
        t->checkpoint_due = t->comm->rank == 0;
      else if (!trainer_checkpoint_write (t, NULL, error))
        return FALSE;
    }

  if (t->trace.active && !trainer_trace_end (t, error))
    return FALSE;
  if (t->look.on != 0 && !trainer_look_step (t, loss, error))
    return FALSE;

  /* Whoever looks on may slow the run down on purpose. */
  trainer_waits_end (t);
  trainer_tell_step (t, t->place.step, loss, lr, grad_norm);
  return TRUE;
}

/* One step, whole or not at all. */
static gboolean
one_step (LoomTrainer *t, GError **error)
{
  gint64 before;

  if (trainer_late_takes (t))
    return trainer_late_step (t, error);
  if (!trainer_late_finish (t, error))
    return FALSE;
  before = t->place.step;
  if (t->rollback != NULL && !trainer_rollback_save (t, error))
    return FALSE;
  if (try_step (t, error))
    return TRUE;
  if (t->rollback != NULL && t->place.step == before)
    trainer_rollback_restore (t);
  return FALSE;
}

static void
begin_epoch (LoomTrainer *t)
{
  t->place.loss_sum = t->place.sample_sum = 0;
  trainer_metrics_clear (t->place.metrics);
}

/* The value that <train> monitors: of the validation samples, or where there are none, of the training samples. */
static double
watched (LoomTrainer *t, gboolean evaluated)
{
  int monitor = t->spec->monitor;

  if (evaluated)
    return monitor < 0 ? t->eval_loss : t->eval_value[monitor];
  trainer_metrics_values (t->place.metrics, t->metric_value);
  return monitor < 0 ? t->place.loss_sum / t->place.sample_sum : t->metric_value[monitor];
}

static gboolean
tell_early_stop (LoomTrainer *t, GError **error)
{
  LoomJson *json;

  if (!t->place.watch.patience_exhausted)
    return TRUE;
  if (t->observer.early_stop != NULL)
    t->observer.early_stop (t, &t->place.watch, t->observer_data);
  json = trainer_event_new ("early_stop");
  loom_json_int (json, "step", t->place.step);
  loom_json_int (json, "epoch", t->place.epoch + 1);
  loom_json_string (json, "monitor", t->spec->monitor < 0 ? "loss" : t->metric_name[t->spec->monitor]);
  loom_json_exact (json, "best", t->place.watch.best);
  loom_json_int (json, "best_epoch", t->place.watch.best_epoch);
  return trainer_event_write (t, json, error);
}

static gboolean
validate (LoomTrainer *t, LoomSplit split, gboolean *gave_way, GError **error)
{
  *gave_way = FALSE;
  return split == LOOM_N_SPLITS || trainer_evaluate (t, split, gave_way, error);
}

/* Where validation has samples of its own, those of the test are seen at the end alone. */
static gboolean
test (LoomTrainer *t, LoomSplit validation, gboolean *gave_way, GError **error)
{
  *gave_way = FALSE;
  return validation != LOOM_SPLIT_VAL || loom_dataset_count (t->dataset, LOOM_SPLIT_TEST) == 0
         || trainer_evaluate (t, LOOM_SPLIT_TEST, gave_way, error);
}

/* After an epoch's last step: evaluation, events, checkpoint. The epoch counts as done only after its evaluation, so
 * that a run resumed in between evaluates again. */
static gboolean
end_epoch (LoomTrainer *t, gboolean *gave_way, GError **error)
{
  LoomSplit split = trainer_dataset_validation (t->dataset);

  if (!validate (t, split, gave_way, error))
    return FALSE;
  if (*gave_way)
    return TRUE;
  double validation = t->eval_loss;
  LoomTrainerWatch watch = t->place.watch;
  if (t->spec->keep_best
      && trainer_watch_epoch (t->spec, &watch, t->place.epoch + 1, watched (t, split != LOOM_N_SPLITS))
      && !trainer_checkpoint_weights (t, "weights-best.safetensors", error))
    return FALSE;
  gboolean last = t->place.epoch + 1 >= t->spec->epochs || watch.patience_exhausted;
  if (last && !test (t, split, gave_way, error))
    return FALSE;
  if (*gave_way)
    return TRUE;
  LoomJson *json = trainer_event_new ("epoch");
  loom_json_int (json, "epoch", t->place.epoch + 1);
  loom_json_int (json, "step", t->place.step);
  loom_json_exact (json, "loss", t->place.loss_sum / t->place.sample_sum);
  if (!trainer_event_write (t, json, error))
    return FALSE;
  t->place.watch = watch;
  if (!tell_early_stop (t, error))
    return FALSE;
  loom_schedule_observe (&t->spec->schedule, &t->place.plateau,
                         split != LOOM_N_SPLITS ? validation : t->place.loss_sum / t->place.sample_sum);
  t->place.epoch++;
  t->place.batch = 0;
  g_autoptr (GError) lost = NULL;
  if (trainer_rank_0_says (t, epoch_checkpoint_fits (t), &lost))
    return trainer_checkpoint_write (t, NULL, error);
  gboolean failed = lost != NULL;
  if (failed)
    g_propagate_error (error, g_steal_pointer (&lost));
  return !failed;
}

static LoomTrainerEnd
end_run (LoomTrainer *t, TrainerAction action, GError **error)
{
  if (!trainer_checkpoint_write (t, NULL, error))
    return LOOM_TRAINER_FAILED;
  if (action == TRAINER_STOP)
    {
      trainer_seen_end (t);
      return LOOM_TRAINER_STOPPED;
    }
  if (t->folder != NULL)
    {
      g_autofree char *words = loom_trainer_resume_words (t);

      g_set_error (error, LOOM_ERROR, LOOM_ERROR_CANCELLED,
                   "Interrupted after step %" G_GINT64_FORMAT ". Continue with: %s", t->place.step, words);
    }
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_CANCELLED,
                 "Interrupted after step %" G_GINT64_FORMAT ". Nothing was kept, because no --out was given.",
                 t->place.step);
  return LOOM_TRAINER_INTERRUPTED;
}

/* A run without epochs: what the initial weights are worth, and the weights. */
static LoomTrainerEnd
only_evaluate (LoomTrainer *t, GError **error)
{
  TrainerAction action = TRAINER_CONTINUE;
  LoomSplit split = trainer_dataset_validation (t->dataset);
  gboolean gave_way;

  if (t->spec->dataset_node < 0
          ? !trainer_evaluate (t, LOOM_SPLIT_TRAIN, &gave_way, error)
          : !validate (t, split, &gave_way, error) || (!gave_way && !test (t, split, &gave_way, error)))
    return LOOM_TRAINER_FAILED;
  if (gave_way)
    return trainer_poll (t, FALSE, &action, error) ? end_run (t, action, error) : LOOM_TRAINER_FAILED;
  if (!trainer_checkpoint_write (t, NULL, error))
    return LOOM_TRAINER_FAILED;
  trainer_seen_end (t);
  return LOOM_TRAINER_DONE;
}

/* The run may end after the next step, or give way in the evaluation that follows it. An epoch's end with neither an
 * evaluation nor an early stop is as any other step: copies would cost short epochs as much as training. */
static gboolean
may_stand (const LoomTrainer *t)
{
  const gint64 late = trainer_late_steps (t);
  const gboolean ends_epoch = t->place.batch + late + 1 == t->steps_per_epoch;

  return (ends_epoch && (t->spec->patience > 0 || trainer_dataset_validation (t->dataset) != LOOM_N_SPLITS))
         || t->place.step + late + 1 == last_step (t);
}

static LoomTrainerEnd
run (LoomTrainer *t, GError **error)
{
  TrainerAction action = TRAINER_CONTINUE;

  if (t->spec->epochs == 0)
    return only_evaluate (t, error);
  while (!loom_trainer_is_over (t))
    {
      if (t->place.batch == 0)
        begin_epoch (t);
      trainer_ahead_drop (t);
      if (t->place.batch < t->steps_per_epoch)
        loom_loader_start (t->loader, t->place.epoch, t->place.batch * t->spec->accumulate);
      while (t->place.batch + trainer_late_steps (t) < t->steps_per_epoch)
        {
          gboolean single = FALSE, is_asked = t->comm != NULL || g_atomic_int_get (&t->inbox.pending);

          /* Ranks first agree on whether one of them was asked for something. */
          if (((is_asked && t->comm == NULL) || t->late.checkpoint_is_due) && !trainer_late_finish (t, error))
            return LOOM_TRAINER_FAILED;
          if (is_asked)
            {
              if (!(t->comm != NULL ? trainer_agree (t, &action, error) : trainer_poll (t, FALSE, &action, error)))
                return LOOM_TRAINER_FAILED;
              if (action != TRAINER_CONTINUE)
                return end_run (t, action, error);
              single = t->inbox.single;
              t->inbox.single = FALSE; /* the step below is the requested one */
              trainer_set_state (t, "running");
            }
          if (t->place.step + trainer_late_steps (t) >= last_step (t))
            return trainer_late_finish (t, error) ? end_run (t, TRAINER_STOP, error) : LOOM_TRAINER_FAILED;
          if (!trainer_seen_keep (t, single || may_stand (t), error))
            return LOOM_TRAINER_FAILED;
          if (t->server != NULL ? !trainer_server_round (t, single ? 1 : last_step (t) - t->place.step, error)
                                      || !trainer_look_round (t, error)
                                : !one_step (t, error))
            return LOOM_TRAINER_FAILED;
        }
      if (!trainer_late_finish (t, error))
        return LOOM_TRAINER_FAILED;
      gboolean gave_way;
      gint64 before = g_get_monotonic_time ();
      if (!end_epoch (t, &gave_way, error))
        return LOOM_TRAINER_FAILED;
      /* The time that the end of an epoch takes belongs to no step. The steps since the clock was read last still
       * count: an epoch may be shorter than the time between two readings. */
      t->clock.last_time += g_get_monotonic_time () - before;
      if (t->comm == NULL && g_atomic_int_get (&t->inbox.pending)
          && (gave_way || !loom_trainer_is_over (t) || trainer_must_end (t)))
        {
          if (!trainer_poll (t, FALSE, &action, error))
            return LOOM_TRAINER_FAILED;
          if (action != TRAINER_CONTINUE)
            return end_run (t, action, error);
          trainer_set_state (t, "running");
        }
    }
  trainer_seen_end (t);
  return trainer_events_flush (t, error) ? LOOM_TRAINER_DONE : LOOM_TRAINER_FAILED;
}

/* A run that fails keeps the steps that it has finished: what failed is an evaluation, or a step that has written
 * nothing. Where a file could not be written, another one would not be either; and weights that make the next batch
 * overflow, whatever the learning rate, would only fail again. */
static void
save_finished (LoomTrainer *t, const GError *failure)
{
  /* Ranks with parts of the state write together, so only where all have failed alike. */
  if (loom_state_is_divided (t->state) && failure->code != LOOM_ERROR_NAN)
    return;
  if (trainer_takes_part (t) && !t->mid_step_failure && t->place.step != t->clock.saved_step
      && failure->domain == LOOM_ERROR && failure->code != LOOM_ERROR_IO && !t->weights_overflow)
    {
      g_autoptr (GError) error = NULL;

      /* The others wait for this rank's part of what it cannot write. */
      if (!trainer_checkpoint_write (t, NULL, &error) && loom_state_is_divided (t->state))
        t->comm->abort (t->comm, error->message);
    }
}

/* "Step 3 (epoch 1)", "Evaluation after step 3", but not "a step on cuda:0" */
static gboolean
names_step (const char *message)
{
  const char *at = message;

  while ((at = strstr (at, "tep ")) && !g_ascii_isdigit (at[4]))
    at += 4;
  return at != NULL;
}

/* When it failed and how to resume the run, where what failed does not say so itself. */
static void
add_resume_hint (LoomTrainer *t, GError *failure)
{
  const char *how = t->clock.saved_step > 0 ? "Continue" : "No step is saved yet; begin again";
  g_autofree char *when
      = names_step (failure->message)
            ? g_strdup ("")
            : g_strdup_printf ("After %" G_GINT64_FORMAT " step%s: ", t->place.step, t->place.step == 1 ? "" : "s");
  g_autofree char *words = t->folder != NULL ? loom_trainer_resume_words (t) : NULL;
  g_autofree char *go_on
      = words != NULL && strstr (failure->message, "--resume") == NULL
            ? g_strdup_printf ("%s %s with: %s", g_str_has_suffix (failure->message, ".") ? "" : ".", how, words)
            : NULL;
  char *message;

  if (g_error_matches (failure, LOOM_ERROR, LOOM_ERROR_IO))
    return;
  message = g_strconcat (when, failure->message, go_on, NULL);
  g_free (failure->message);
  failure->message = message;
}

LoomTrainerEnd
loom_trainer_run (LoomTrainer *t, GError **error)
{
  static const char *const state[] = { "done", "stopped", "stopped", "failed" };
  GError *failure = NULL;

  g_mutex_lock (&t->inbox.lock);
  t->inbox.active = TRUE;
  g_mutex_unlock (&t->inbox.lock);
  t->clock.start_time = t->clock.last_time = t->clock.last_checkpoint = g_get_monotonic_time ();
  t->clock.next_step = t->place.step + 1;
  t->clock.stride = 1;
  t->last.step = t->place.step - 1; /* before its first step nothing is kept, and it may pause */
  g_clear_pointer (&t->last.value, g_hash_table_unref);
  trainer_memory_begin_run (t);
  trainer_trace_choose (t, last_step (t));
  trainer_set_state (t, "running");

  LoomTrainerEnd end
      = trainer_join_mesh (t, &failure) && trainer_late_agree (t, &failure) ? run (t, &failure) : LOOM_TRAINER_FAILED;
  trainer_late_drop (t);
  if (end == LOOM_TRAINER_FAILED)
    {
      save_finished (t, failure);
      add_resume_hint (t, failure);
      /* Events up to the failure are written where that is still possible. */
      trainer_events_flush (t, NULL);
    }
  if (failure != NULL)
    g_propagate_error (error, failure);
  trainer_ahead_drop (t);
  loom_loader_reset (t->loader);
  trainer_memory_end_run (t);

  /* Until the last one is answered the others wait in the queue: what answers is not to be used twice at once. */
  g_mutex_lock (&t->inbox.lock);
  t->inbox.over = TRUE;
  trainer_answer_requests (t);
  t->inbox.active = t->inbox.over = FALSE;
  g_mutex_unlock (&t->inbox.lock);
  trainer_set_state (t, state[end]);
  return end;
}
