/* Which epoch was best, and whether it is time to end: after torch's and Keras's early stopping.
 *
 * An epoch is better where its value beats the best by more than min_delta; one that is not a number never is. */
#include "engine/train/trainer-private.h"

#include <math.h>

gboolean
trainer_watch_epoch (const LoomTrainSpec *spec, LoomTrainerWatch *watch, gint64 epoch, double value)
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
