/* Takes the steps of a run, with a queue of depth 0 or 1; see the header. */
#include "engine/train/training-loop.h"

#include "engine/core/loom-error.h"

#include <math.h>

/* TRUE if the next run keeps all outputs of this one that are read. plan NULL: the update. */
static gboolean
keeps_all (const TrainingLoop *self, const StepPlan *plan)
{
  gboolean all;

  if (plan == NULL)
    return loom_exec_keeps_output (self->plans->update, self->plans->update_norm);
  all = loss_sums_keeps (plan) && (self->plans->update != NULL || loom_exec_keeps_output (plan->exec, plan->grad_norm));
  for (guint i = 0; i < plan->step->n_metrics; i++)
    all = all && loom_exec_keeps_output (plan->exec, plan->metric[i]);
  if ((self->reports->on & RANK_REPORT_LOSSES) != 0 && plan->own_loss >= 0)
    all = all && loom_exec_keeps_output (plan->exec, (guint)plan->own_loss);
  return all;
}

/* Every step is read at once by
 * - an optimiser that evaluates the loss itself (its batches are not prefetched): it chooses the next point by this
 * one's;
 * - a device that has done its work when a call returns, or a plan that a host device takes part in (likewise): nothing
 *   overlaps;
 * - ranks of a parameter server: the server needs each gradient before it sends the weights of the next step;
 * - CUDA_LAUNCH_BLOCKING=1, which waits for every instruction, to know which one has failed;
 * - ranks of which one has results that the next step overwrites, such as a metric that is too large to be copied to
 * the host with the others: faults are reported to ranks when they read. A single process reads such a step at once
 * itself. A step that is traced is read at once, too (queue_depth()): its spans are there when its events are, and a
 * step after it would be in them. */
void
training_loop_init (TrainingLoop *self)
{
  const StepPlan *plan = step_plans_first (self->plans);

  self->depth = self->batches->prefetches && !self->group->has_server && !loom_exec_is_blocking (plan->exec)
                && (self->group->comm == NULL
                    || (keeps_all (self, plan) && (self->plans->update == NULL || keeps_all (self, NULL))));
  if (self->plans->update != NULL)
    self->rollback = rollback_new (plan->step->program, self->log->progress->metrics);
}

void
training_loop_clear (TrainingLoop *self)
{
  g_clear_pointer (&self->rollback, rollback_free);
  loss_sums_clear (&self->loss);
}

gboolean
training_loop_can_begin (const TrainingLoop *self, GError **error)
{
  if (self->is_between)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                 "A step of this run has failed half-way, so its weights are of no step, and it cannot be trained "
                 "further. Begin again from weights that were saved.");
  return !self->is_between;
}

gboolean
training_loop_agree (TrainingLoop *self, GError **error)
{
  gint64 at_once = self->depth == 0, any = at_once;

  if (self->group->comm != NULL && !self->group->has_server && !rank_group_max (self->group, &at_once, &any, 1, error))
    return FALSE;
  self->depth = any == 0;
  return TRUE;
}

gint64
training_loop_ahead (const TrainingLoop *self)
{
  return self->queued.exec != NULL;
}

static int
queue_depth (const TrainingLoop *self)
{
  return self->trace->active || self->at_once ? 0 : self->depth;
}

/* ---- reading ---------------------------------------------------------- */

/* Sets the numbers of the host for a batch of the step that is `ahead` steps after the progress. */
static void
set_numbers (TrainingLoop *self, const QueuedRun *run, gint64 ahead)
{
  const TrainProgress *progress = self->log->progress;

  if (run->part == 0)
    learning_rates_set (self->rates, progress, progress->step + ahead);
  step_plans_set_part (self->plans, progress->step + ahead, progress->batch + ahead, run->part, run->share);
}

/* Reports how stages on GPUs communicate if they have no direct link. */
static void
report_link (TrainingLoop *self, const StepPlan *plan)
{
  const char *why = loom_plan_why_via_host (loom_exec_plan (plan->exec));
  g_autofree char *note = NULL;

  self->link_is_known = TRUE;
  if (why == NULL)
    return;
  note = g_strdup_printf ("Stages exchange values through host memory, which is slower than from GPU to GPU: %s.", why);
  train_notes_report (self->plans->notes, note);
}

static gboolean
save (TrainingLoop *self, GError **error)
{
  self->is_saved = rollback_save (self->rollback, self->model->state, self->log->progress->metrics,
                                  recent_steps_metrics (&self->log->recent), error);
  return self->is_saved;
}

/* Prepares a batch of a step. Before the first one, the sums of metrics are saved. */
static gboolean
read_batch (TrainingLoop *self, const QueuedRun *run, GError **error)
{
  StepPlan *plan = run->plan;

  if (!self->link_is_known)
    report_link (self, plan);
  if (self->rollback != NULL && !self->is_saved && !save (self, error))
    return FALSE;
  if (self->reports->on & RANK_REPORT_LOSSES)
    rank_reports_batch (self->reports, plan->own_loss >= 0 ? loom_exec_scalar (plan->exec, (guint)plan->own_loss) : NAN,
                        run->part, run->share);
  loss_sums_add (&self->loss, plan, run->share, run->part == 0);
  self->loss_value = loss_sums_value (&self->loss, plan, 1);
  if (metric_sums_add (self->log->progress->metrics, plan, error)
      && metric_sums_add (recent_steps_metrics (&self->log->recent), plan, error))
    return TRUE;
  /* The weights have been updated, or may be if the update is queued; the sums have not. */
  self->is_between = self->is_between || self->plans->update == NULL || training_loop_ahead (self) > 0;
  return FALSE;
}

/* The optimiser computes the step from the loss and its gradients; it runs the program itself from here on. */
static gboolean
run_driver (TrainingLoop *self, const QueuedRun *run, GError **error)
{
  LoomState *state = self->model->state;
  const int slot = loom_state_find (state, "step");

  if (!loom_driver_advance (self->driver, run->plan->exec, state, self->model->spec, error))
    {
      self->is_between = TRUE;
      return FALSE;
    }
  if (slot >= 0)
    loom_state_put_scalar_at (state, (guint)slot, (double)self->log->progress->step + 1);
  step_timings_mark (self->timings, &self->timings->compute);
  return TRUE;
}

/* Reads the numbers of a finished run. After the last run of a step, the step is counted; its figures for reports are
 * stored in *run. */
static gboolean
read_run (TrainingLoop *self, QueuedRun *run, GError **error)
{
  if (run->plan != NULL && !read_batch (self, run, error))
    return FALSE;
  if (run->plan != NULL && self->plans->update != NULL)
    return TRUE;
  run->loss = self->loss_value;
  run->grad_norm = loom_exec_scalar (run->exec, run->plan != NULL ? run->plan->grad_norm : self->plans->update_norm);
  self->is_saved = FALSE;
  if (self->driver != NULL && !run_driver (self, run, error))
    return FALSE;
  if (!step_log_add (self->log, run->loss, run->samples, run->lr, error))
    return FALSE;
  if (self->trace->active && !step_trace_end (self->trace, self->log->progress->step, self->log->folder->files, error))
    return FALSE;
  return self->reports->on == 0 || rank_reports_step (self->reports, self->log->progress->step, run->loss, error);
}

static void
report (TrainingLoop *self, const QueuedRun *run)
{
  if (run->plan != NULL && self->plans->update != NULL)
    return;
  /* An observer may slow the run down on purpose. */
  if (queue_depth (self) == 0)
    step_timings_end (self->timings);
  step_log_report (self->log, self->log->progress->step, run->loss, run->lr, run->grad_norm);
}

/* ---- queueing --------------------------------------------------------- */

/* Handles a failed run of an executor. Nothing of its step was written, unless its device failed during updates; what a
 * batch of a step of several has written is undone. */
static gboolean
explain (TrainingLoop *self, const QueuedRun *run, GError *cause, GError **error)
{
  if (run->plan == NULL || self->plans->update == NULL)
    self->is_between = self->is_between || loom_exec_is_between (run->exec);
  if (run->plan == NULL)
    return step_failure_of_update (self->failure, cause, error);
  /* The values of a later step may have been different. */
  set_numbers (self, run, 0);
  loom_exec_select_step (run->exec, run->number);
  return step_failure_of_batch (self->failure, run->plan, run->batch, run->lr, cause, error);
}

/* Waits for the queued run, and reads it. */
static gboolean
drain (TrainingLoop *self, GError **error)
{
  QueuedRun run = self->queued;
  GError *cause = NULL;

  self->queued = (QueuedRun){ 0 };
  if (run.exec == NULL)
    return TRUE;
  if (!loom_exec_sync (run.exec, &cause))
    return explain (self, &run, cause, error);
  step_timings_mark (self->timings, &self->timings->compute);
  loom_exec_select_step (run.exec, run.number);
  /* A driver evaluates its points itself, but its first point must be finite. */
  if (self->driver != NULL && loom_exec_scalar (run.exec, run.plan->finite) == 0)
    return explain (self, &run, g_error_new_literal (LOOM_ERROR, LOOM_ERROR_NAN, ""), error);
  if (!read_run (self, &run, error))
    return FALSE;
  report (self, &run);
  return TRUE;
}

/* Handles a run that could not be queued, or a fault reported meanwhile, which may belong to the previously queued run.
 */
static gboolean
fail (TrainingLoop *self, const QueuedRun *run, GError *cause, GError **error)
{
  const gint64 fault = loom_exec_fault_step (run->exec);
  QueuedRun before = self->queued;
  GError *earlier = NULL;

  if (before.exec != NULL && before.number == fault)
    {
      self->queued = (QueuedRun){ 0 };
      return explain (self, &before, cause, error);
    }
  if (drain (self, &earlier))
    return explain (self, run, cause, error);
  g_error_free (cause);
  g_propagate_error (error, earlier);
  return FALSE;
}

/* Queues a run, and reads the previous one. */
static gboolean
queue (TrainingLoop *self, QueuedRun *run, GError **error)
{
  QueuedRun before = self->queued;
  GError *cause = NULL;
  gboolean ok;

  /* An update may use fewer devices than the batches before it. */
  if (before.exec != NULL && !loom_exec_reports_faults_of (run->exec, before.exec) && !drain (self, error))
    return FALSE;
  ok = self->trace->active ? step_trace_run (self->trace, run->exec, &cause) : loom_exec_step (run->exec, &cause);
  run->number = loom_exec_step_number (run->exec);
  if (!ok)
    return fail (self, run, cause, error);
  if (self->batches->prefetches)
    step_timings_mark (self->timings, &self->timings->compute);
  before = self->queued;
  self->queued = *run;
  if (before.exec != NULL && (!loom_exec_select_step (before.exec, before.number) || !read_run (self, &before, error)))
    return FALSE;
  if (run->plan != NULL && !self->trace->active && self->batches->prefetches)
    {
      batch_queue_fetch (self->batches, run->plan);
      step_timings_mark (self->timings, &self->timings->data);
    }
  if (before.exec != NULL)
    report (self, &before);
  return (queue_depth (self) > 0 && keeps_all (self, run->plan)) || drain (self, error);
}

/* Runs the next batch as part of a step with `all` samples. */
static gboolean
queue_batch (TrainingLoop *self, QueuedRun *run, double all, GError **error)
{
  const TrainProgress *progress = self->log->progress;
  const StepPlan *before = self->queued.plan;
  GError *cause = NULL;

  run->batch = batch_queue_next (self->batches, &cause);
  if (run->batch != NULL && run->part == 0
      && !learning_rates_check (self->rates, progress, progress->step + training_loop_ahead (self), &cause))
    run->batch = NULL;
  /* The previously queued run is a part of training in any case. Another plan may need a larger arena. */
  if (training_loop_ahead (self) > 0
      && (run->batch == NULL || !step_plans_has (self->plans, run->batch->n)
          || (before != NULL && before->step->batch != run->batch->n))
      && !drain (self, error))
    {
      g_clear_error (&cause);
      return FALSE;
    }
  if (run->batch == NULL)
    {
      g_propagate_error (error, cause);
      return FALSE;
    }
  step_timings_mark (self->timings, &self->timings->data);
  run->plan = step_plans_get (self->plans, run->batch->n, TRUE, error);
  if (run->plan == NULL)
    return FALSE;
  run->exec = run->plan->exec;
  run->share = (double)run->batch->n / all;
  set_numbers (self, run, run->part == 0 ? training_loop_ahead (self) : 0);
  run->lr = self->rates->lr;
  batch_queue_feed (self->batches, run->plan, run->batch);
  return queue (self, run, error);
}

static gboolean
take_step (TrainingLoop *self, GError **error)
{
  const TrainProgress *progress = self->log->progress;
  QueuedRun run = { 0 };
  double samples = 0;

  step_timings_begin (self->timings, progress->step, self->log->clock.stride == 1);
  /* A traced step is recorded separately. */
  if (step_trace_is_due (self->trace, progress->step + training_loop_ahead (self) + 1) && !drain (self, error))
    return FALSE;
  step_trace_begin (self->trace, progress->step + training_loop_ahead (self) + 1);
  /* The slots that the step's first batch writes are copied before it. */
  if (self->rollback != NULL && rollback_has_slots (self->rollback))
    {
      if (!drain (self, error) || !save (self, error))
        return FALSE;
      step_timings_mark (self->timings, &self->timings->compute);
    }
  run.samples = train_data_step_samples (self->data, self->model->spec, &progress->division,
                                         progress->batch + training_loop_ahead (self));
  for (; samples < run.samples; run.part++)
    {
      if (!queue_batch (self, &run, run.samples, error))
        return FALSE;
      samples += (double)run.batch->n;
    }
  if (self->plans->update != NULL)
    {
      QueuedRun update = { .exec = self->plans->update, .lr = run.lr, .samples = run.samples };

      if (!queue (self, &update, error))
        return FALSE;
    }
  step_timings_end (self->timings);
  return TRUE;
}

/* If a part of a step fails, the state is restored. */
static gboolean
undo (TrainingLoop *self)
{
  if (self->is_saved
      && !rollback_restore (self->rollback, self->model->state, self->log->progress->metrics,
                            recent_steps_metrics (&self->log->recent)))
    self->is_between = TRUE;
  self->is_saved = FALSE;
  return FALSE;
}

gboolean
training_loop_step (TrainingLoop *self, GError **error)
{
  return take_step (self, error) || undo (self);
}

const LoomBatch *
training_loop_peek (TrainingLoop *self, GError **error)
{
  const TrainProgress *progress = self->log->progress;
  const gboolean ends_epoch = progress->batch >= self->data->steps_per_epoch;
  const gint64 step = ends_epoch ? 0 : progress->batch;
  const LoomBatch *batch
      = batch_queue_peek (self->batches, progress->epoch + ends_epoch, step * self->model->spec->accumulate, error);

  if (batch == NULL)
    return NULL;
  learning_rates_set (self->rates, progress, progress->step);
  step_plans_set_part (self->plans, progress->step, step, 0,
                       (double)batch->n
                           / train_data_step_samples (self->data, self->model->spec, &progress->division, step));
  return batch;
}

gboolean
training_loop_finish (TrainingLoop *self, GError **error)
{
  return drain (self, error) || undo (self);
}

void
training_loop_drop (TrainingLoop *self)
{
  self->is_between = self->is_between || training_loop_ahead (self) > 0;
  self->queued = (QueuedRun){ 0 };
  self->is_saved = FALSE;
}
