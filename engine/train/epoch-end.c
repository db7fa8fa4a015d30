/* The end of an epoch; see the header. */
#include "engine/train/epoch-end.h"

#include "engine/core/loom-os.h"

gboolean
epoch_end_is_last (const EpochEnd *self)
{
  return self->progress->epoch >= self->model->spec->epochs || self->progress->watch.patience_exhausted;
}

static gboolean
validate (EpochEnd *self, LoomSplit split, gboolean *yielded, GError **error)
{
  *yielded = FALSE;
  return split == LOOM_N_SPLITS || evaluation_run (self->evaluation, split, yielded, error);
}

/* If validation has samples of its own, the test set is evaluated only at the end. */
static gboolean
test (EpochEnd *self, LoomSplit validation, gboolean *yielded, GError **error)
{
  *yielded = FALSE;
  return validation != LOOM_SPLIT_VAL || loom_dataset_count (self->data->dataset, LOOM_SPLIT_TEST) == 0
         || evaluation_run (self->evaluation, LOOM_SPLIT_TEST, yielded, error);
}

/* The value that <train> monitors: of the validation samples, or if there are none, of the training samples. */
static double
monitored (EpochEnd *self, gboolean evaluated)
{
  const int monitor = self->model->spec->monitor;

  return evaluated     ? evaluation_monitored (self->evaluation)
         : monitor < 0 ? train_progress_loss (self->progress)
                       : step_log_metrics (self->log)[monitor];
}

static gboolean
report_early_stop (EpochEnd *self, GError **error)
{
  const LoomTrainerWatch *watch = &self->progress->watch;
  const int monitor = self->model->spec->monitor;
  LoomJson *json;

  if (!watch->patience_exhausted)
    return TRUE;
  self->early_stop (watch, self->owner);
  json = run_event_new ("early_stop");
  loom_json_int (json, "step", self->progress->step);
  loom_json_int (json, "epoch", self->progress->epoch + 1);
  loom_json_string (json, "monitor", monitor < 0 ? "loss" : self->log->metric_name[monitor]);
  loom_json_exact (json, "best", watch->best);
  loom_json_int (json, "best_epoch", watch->best_epoch);
  return run_folder_add_event (self->folder, json, error);
}

static gboolean
add_event (EpochEnd *self, GError **error)
{
  LoomJson *json = run_event_new ("epoch");

  loom_json_int (json, "epoch", self->progress->epoch + 1);
  loom_json_int (json, "step", self->progress->step);
  loom_json_exact (json, "loss", train_progress_loss (self->progress));
  return run_folder_add_event (self->folder, json, error);
}

static gboolean
save (EpochEnd *self, GError **error)
{
  const gint64 elapsed = loom_monotonic () - self->log->clock.start_time;
  const gboolean is_due = checkpoints_fit_epoch (self->checkpoints, elapsed) || epoch_end_is_last (self);
  g_autoptr (GError) lost = NULL;

  if (rank_group_first_says (self->group, self->model->state, is_due, &lost))
    return checkpoints_write (self->checkpoints, self->progress, error);
  if (lost == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&lost));
  return FALSE;
}

gboolean
epoch_end_run (EpochEnd *self, gboolean *yielded, GError **error)
{
  const LoomTrainSpec *spec = self->model->spec;
  TrainProgress *progress = self->progress;
  const LoomSplit split = train_data_validation (self->data);
  LoomTrainerWatch watch = progress->watch;
  double validation;

  if (!validate (self, split, yielded, error))
    return FALSE;
  if (*yielded)
    return TRUE;
  validation = self->evaluation->loss;
  if (spec->keep_best && train_watch_epoch (spec, &watch, progress->epoch + 1, monitored (self, split != LOOM_N_SPLITS))
      && !checkpoints_write_weights (self->checkpoints, "weights-best.safetensors", error))
    return FALSE;
  if ((progress->epoch + 1 >= spec->epochs || watch.patience_exhausted) && !test (self, split, yielded, error))
    return FALSE;
  if (*yielded)
    return TRUE;
  if (!add_event (self, error))
    return FALSE;
  progress->watch = watch;
  if (!report_early_stop (self, error))
    return FALSE;
  loom_schedule_observe (&spec->schedule, &progress->plateau,
                         split != LOOM_N_SPLITS ? validation : train_progress_loss (progress));
  train_progress_end_epoch (progress);
  return save (self, error);
}

gboolean
epoch_end_repeat (EpochEnd *self, GError **error)
{
  const LoomTrainSpec *spec = self->model->spec;
  const gboolean watches = spec->schedule.klass != NULL && spec->schedule.klass->watches_loss;
  const gboolean evaluates = watches || spec->keep_best;
  const LoomSplit split = evaluates ? train_data_validation (self->data) : LOOM_N_SPLITS;
  TrainProgress *progress = self->progress;
  gboolean yielded;

  if (!validate (self, split, &yielded, error))
    return FALSE;
  if (spec->keep_best)
    train_watch_epoch (spec, &progress->watch, progress->epoch + 1, monitored (self, split != LOOM_N_SPLITS));
  loom_schedule_observe (&spec->schedule, &progress->plateau,
                         split != LOOM_N_SPLITS ? self->evaluation->loss : train_progress_loss (progress));
  train_progress_end_epoch (progress);
  return TRUE;
}

gboolean
epoch_end_evaluate (EpochEnd *self, gboolean *yielded, GError **error)
{
  LoomSplit split;

  if (self->model->spec->dataset_node < 0)
    return evaluation_run (self->evaluation, LOOM_SPLIT_TRAIN, yielded, error);
  split = train_data_validation (self->data);
  return validate (self, split, yielded, error) && (*yielded || test (self, split, yielded, error));
}
