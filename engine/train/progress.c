/* The progress of a run. */
#include "engine/train/progress.h"

#include <math.h>

void
train_progress_init (TrainProgress *self)
{
  self->plateau = (LoomPlateau)LOOM_PLATEAU_INIT;
  self->watch.best = NAN;
}

void
train_progress_clear (TrainProgress *progress)
{
  g_clear_pointer (&progress->metrics, metric_sums_free);
  g_clear_pointer (&progress->group_lr, g_free);
  g_clear_pointer (&progress->parent, g_free);
}

void
train_progress_begin_epoch (TrainProgress *progress)
{
  progress->loss_sum = progress->sample_sum = 0;
  metric_sums_clear (progress->metrics);
}

void
train_progress_end_epoch (TrainProgress *progress)
{
  progress->epoch++;
  progress->batch = 0;
  epoch_division_begin (&progress->division, progress->step);
}

void
train_progress_count (TrainProgress *progress, double loss, double samples)
{
  progress->step++;
  progress->batch++;
  progress->loss_sum += loss * samples;
  progress->sample_sum += samples;
}

double
train_progress_loss (const TrainProgress *progress)
{
  return progress->loss_sum / progress->sample_sum;
}

/* As in early stopping of torch and Keras: an epoch is better if its value improves the best by more than min_delta; a
 * NaN never is. */
gboolean
train_watch_epoch (const LoomTrainSpec *spec, LoomTrainerWatch *watch, gint64 epoch, double value)
{
  const LoomMetricSpec *metric = spec->monitor >= 0 ? spec->metrics->pdata[spec->monitor] : NULL;
  double gain = metric != NULL && metric->metric->higher_is_better ? value - watch->best : watch->best - value;
  gboolean better = !isnan (value) && (isnan (watch->best) || gain > spec->min_delta);

  if (better)
    {
      watch->best = value;
      watch->best_epoch = epoch;
      watch->epochs_since_best = 0;
    }
  else
    watch->epochs_since_best++;
  watch->patience_exhausted = spec->patience > 0 && watch->epochs_since_best >= spec->patience;
  return better;
}
