/* Counts and reports finished steps. Allocates and formats nothing within a step. */
#include "engine/train/step-log.h"

void
step_log_init (StepLog *self, const LoomTrainSpec *spec, const LoomStep *step)
{
  const guint n = spec->metrics->len;

  self->spec = spec;
  recent_steps_init (&self->recent, spec, step, self->data->steps_per_epoch);
  self->metric_name = g_new0 (const char *, n + 1);
  self->metric_value = g_new0 (double, n + 1);
  for (guint i = 0; i < n; i++)
    self->metric_name[i] = ((LoomMetricSpec *)spec->metrics->pdata[i])->name;
}

void
step_log_clear (StepLog *self)
{
  recent_steps_clear (&self->recent);
  g_clear_pointer (&self->metric_name, g_free);
  g_clear_pointer (&self->metric_value, g_free);
}

/* Samples that the run still reads. Steps are no measure, because their size may have changed. */
static double
samples_left (const StepLog *self)
{
  const TrainData *data = self->data;
  const TrainProgress *progress = self->progress;
  const double n = (double)loom_loader_n_samples (data->loader);
  const double read = (double)epoch_division_sample (&progress->division, progress->batch, self->spec->accumulate);
  const double left = MAX (n - read, 0) + n * (double)MAX (self->spec->epochs - progress->epoch - 1, 0);
  const gint64 steps = data->total_steps - progress->step, last = train_data_last_step (data) - progress->step;

  return steps > 0 ? left * (double)MAX (last, 0) / (double)steps : 0;
}

static void
read_clock (StepLog *self)
{
  const gint64 now = step_clock_read (&self->clock, self->progress->step, samples_left (self));

  device_memory_step (self->memory, now);
  checkpoints_note_time (self->checkpoints, now);
}

gboolean
step_log_add (StepLog *self, double loss, double samples, double lr, GError **error)
{
  TrainProgress *progress = self->progress;

  train_progress_count (progress, loss, samples);
  recent_steps_count (&self->recent, loss, samples, self->data->steps_per_epoch - progress->batch);
  step_clock_count (&self->clock, samples);
  if (!run_folder_add_step (self->folder, &(LoomRunStep){ progress->step, progress->epoch + 1, loss, lr }, error))
    return FALSE;
  if (progress->step >= self->clock.next_step)
    read_clock (self);
  return TRUE;
}

void
step_log_report (StepLog *self, gint64 number, double loss, double lr, double grad_norm)
{
  LoomTrainerStep step;

  if (self->report == NULL)
    return;
  step = (LoomTrainerStep){
    .step = number,
    .epoch = self->progress->epoch + 1,
    .steps_per_epoch = self->data->steps_per_epoch,
    .total_steps = train_data_last_step (self->data),
    /* A step that failed is reported, and not counted. */
    .ends_epoch = self->progress->batch + (number - self->progress->step) == self->data->steps_per_epoch,
    .is_recorded = run_folder_records (self->folder, number),
    .loss = loss,
    .epoch_loss = train_progress_loss (self->progress),
    .lr = lr,
    .grad_norm = grad_norm,
    .items_per_second = self->clock.items_per_second,
    .eta_seconds = self->clock.eta_seconds,
    .n_metrics = self->progress->metrics->n,
    .metric_name = self->metric_name,
    .metric = self->metric_value,
  };
  recent_steps_values (&self->recent, &step, self->metric_value);
  self->report (&step, self->report_data);
}

const double *
step_log_metrics (StepLog *self)
{
  metric_sums_values (self->progress->metrics, self->metric_value);
  return self->metric_value;
}
