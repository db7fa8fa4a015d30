/* The loss and the metrics of the last steps, as two blocks of steps: the newer one grows, and takes the place of the
 * older one when it is full. So nothing is kept of single steps, whose statistics may be large, and what is shown
 * covers between one and two blocks. Blocks end with the epoch, which has two whole ones at its end. */
#include "engine/train/trainer-private.h"

#include <math.h>

static void
block_clear (TrainerBlock *block)
{
  block->steps = 0;
  block->loss = block->samples = 0;
  trainer_metrics_clear (block->metrics);
}

void
trainer_recent_init (TrainerRecent *recent, const LoomTrainSpec *spec, const LoomStep *step, gint64 steps_per_epoch)
{
  const gint64 n = loom_train_recent_steps (steps_per_epoch);

  recent->n_blocks = n > 1 ? 2 : 1;
  recent->length = n / recent->n_blocks;
  for (int i = 0; i < 2; i++)
    recent->block[i].metrics = trainer_metrics_new (spec, step);
  recent->both = trainer_metrics_new (spec, step);
}

void
trainer_recent_clear (TrainerRecent *recent)
{
  for (int i = 0; i < 2; i++)
    g_clear_pointer (&recent->block[i].metrics, trainer_metrics_free);
  g_clear_pointer (&recent->both, trainer_metrics_free);
}

/* The block of the step that is being taken. */
static TrainerBlock *
newest (TrainerRecent *recent)
{
  if (recent->is_full)
    {
      const TrainerBlock older = recent->block[1];

      recent->block[1] = recent->block[0];
      recent->block[0] = older;
      block_clear (&recent->block[0]);
      recent->is_full = FALSE;
    }
  return &recent->block[0];
}

TrainerMetrics *
trainer_recent_metrics (TrainerRecent *recent)
{
  return newest (recent)->metrics;
}

void
trainer_recent_step (TrainerRecent *recent, double loss, double samples, gint64 left)
{
  TrainerBlock *block = newest (recent);

  block->steps++;
  block->loss += loss * samples;
  block->samples += samples;
  recent->is_full = left % recent->length == 0;
}

void
trainer_recent_values (TrainerRecent *recent, LoomTrainerStep *step, double *metric)
{
  double loss = 0, samples = 0;

  trainer_metrics_clear (recent->both);
  for (int i = recent->n_blocks - 1; i >= 0; i--)
    {
      step->recent_steps += recent->block[i].steps;
      loss += recent->block[i].loss;
      samples += recent->block[i].samples;
      trainer_metrics_merge (recent->both, recent->block[i].metrics);
    }
  step->recent_loss = samples > 0 ? loss / samples : NAN;
  trainer_metrics_values (recent->both, metric);
}
