/* Sums of a run's metrics over batches: statistics as doubles, and their values. All sizes are known when the first
 * step is planned, so no memory is allocated during training. */
#pragma once

#include "engine/train/loom-train-events.h"
#include "engine/train/step-plan.h"

typedef struct
{
  const LoomTrainSpec *spec;
  guint n;
  guint *size, *at; /* of each metric in total[] */
  double *total, *weight;
  double *batch; /* buffer for one batch's statistics */
} MetricSums;

MetricSums *metric_sums_new (const LoomTrainSpec *spec, const LoomStep *step);
void metric_sums_free (MetricSums *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MetricSums, metric_sums_free)
void metric_sums_clear (MetricSums *self);
/* Call after a run of the plan, which has the same metrics. */
gboolean metric_sums_add (MetricSums *self, StepPlan *plan, GError **error);
/* Adds the sums of another struct. */
void metric_sums_merge (MetricSums *self, const MetricSums *other);
/* The number of doubles that save and load copy. */
guint metric_sums_count (const MetricSums *self);
void metric_sums_save (const MetricSums *self, double *sums);
void metric_sums_load (MetricSums *self, const double *sums);
/* Adds sums that were saved. */
void metric_sums_merge_saved (MetricSums *self, const double *sums);
/* value[n] receives the values so far. */
void metric_sums_values (const MetricSums *self, double *value);
/* The number of rows and columns of metric i, 0 if it is no matrix. */
guint metric_sums_matrix (const MetricSums *self, guint i);
