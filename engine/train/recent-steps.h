/* The loss and the metrics of the last steps, as two blocks of steps: the newer one grows, and replaces the older one
 * when it is full. So nothing is kept of single steps, whose statistics may be large, and the figures cover between one
 * and two blocks. Blocks end with the epoch, which has two whole ones at its end. */
#pragma once

#include "engine/train/metric-sums.h"

G_BEGIN_DECLS

typedef struct
{
  gint64 steps;
  double loss, samples; /* weighted by samples; their sum */
  MetricSums *metrics;
} StepBlock;

typedef struct
{
  int n_blocks;  /* that are reported: 1 or 2 */
  gint64 length; /* steps of a block */
  gboolean is_full;
  StepBlock block[2]; /* the newer one first */
  MetricSums *both;
} RecentSteps;

void recent_steps_init (RecentSteps *recent, const LoomTrainSpec *spec, const LoomStep *step, gint64 steps_per_epoch);
void recent_steps_clear (RecentSteps *recent);
/* The metrics of the block that the step being computed is counted in. */
MetricSums *recent_steps_metrics (RecentSteps *recent);
/* The step is over; `left` others follow in the epoch. */
void recent_steps_count (RecentSteps *recent, double loss, double samples, gint64 left);
/* Sets recent_steps and recent_loss, and the metrics' values. */
void recent_steps_values (RecentSteps *recent, LoomTrainerStep *step, double *metric);

G_END_DECLS
