/* The loss and the metrics of the last steps, as two blocks of steps: the newer one grows, and replaces the older one
 * when it is full.
 *
 * So no figures of single steps are kept, whose statistics may be large, and the means cover between one and two
 * blocks. Blocks end with the epoch, at whose end there are two complete ones. */
#pragma once

#include "engine/train/metric-sums.h"

typedef struct
{
  gint64 steps;
  double loss, samples; /* sum weighted by samples; number of samples */
  MetricSums *metrics;
} StepBlock;

typedef struct
{
  int n_blocks;  /* in the reported means: 1 or 2 */
  gint64 length; /* steps of a block */
  gboolean is_full;
  StepBlock block[2]; /* the newer one first */
  MetricSums *both;
} RecentSteps;

void recent_steps_init (RecentSteps *recent, const LoomTrainSpec *spec, const LoomStep *step, gint64 steps_per_epoch);
void recent_steps_clear (RecentSteps *recent);
/* The metrics of the block of the current step. */
MetricSums *recent_steps_metrics (RecentSteps *recent);
/* Ends the step; `left` more follow in the epoch. */
void recent_steps_count (RecentSteps *recent, double loss, double samples, gint64 left);
/* Sets recent_steps and recent_loss, and the metrics' values. */
void recent_steps_values (RecentSteps *recent, LoomTrainerStep *step, double *metric);
