/* The loss and the metrics of the last steps. */
#include "engine/train/recent-steps.h"

#include <math.h>

static void
block_clear (StepBlock *block)
{
  block->steps = 0;
  block->loss = block->samples = 0;
  metric_sums_clear (block->metrics);
}

void
recent_steps_init (RecentSteps *recent, const LoomTrainSpec *spec, const LoomStep *step, gint64 steps_per_epoch)
{
  const gint64 n = loom_train_recent_steps (steps_per_epoch);

  recent->n_blocks = n > 1 ? 2 : 1;
  recent->length = n / recent->n_blocks;
  for (int i = 0; i < 2; i++)
    recent->block[i].metrics = metric_sums_new (spec, step);
  recent->both = metric_sums_new (spec, step);
}

void
recent_steps_clear (RecentSteps *recent)
{
  for (int i = 0; i < 2; i++)
    g_clear_pointer (&recent->block[i].metrics, metric_sums_free);
  g_clear_pointer (&recent->both, metric_sums_free);
}

/* The block of the step that is being computed. */
static StepBlock *
newest (RecentSteps *recent)
{
  if (recent->is_full)
    {
      const StepBlock older = recent->block[1];

      recent->block[1] = recent->block[0];
      recent->block[0] = older;
      block_clear (&recent->block[0]);
      recent->is_full = FALSE;
    }
  return &recent->block[0];
}

MetricSums *
recent_steps_metrics (RecentSteps *recent)
{
  return newest (recent)->metrics;
}

void
recent_steps_count (RecentSteps *recent, double loss, double samples, gint64 left)
{
  StepBlock *block = newest (recent);

  block->steps++;
  block->loss += loss * samples;
  block->samples += samples;
  recent->is_full = left % recent->length == 0;
}

void
recent_steps_values (RecentSteps *recent, LoomTrainerStep *step, double *metric)
{
  double loss = 0, samples = 0;

  metric_sums_clear (recent->both);
  for (int i = recent->n_blocks - 1; i >= 0; i--)
    {
      step->recent_steps += recent->block[i].steps;
      loss += recent->block[i].loss;
      samples += recent->block[i].samples;
      metric_sums_merge (recent->both, recent->block[i].metrics);
    }
  step->recent_loss = samples > 0 ? loss / samples : NAN;
  metric_sums_values (recent->both, metric);
}
