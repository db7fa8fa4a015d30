/* Sums of a run's metrics over batches: statistics as doubles, and the values that follow from them.
 *
 * All sizes are known when the first step is planned, so that nothing is allocated while the run trains. */
#pragma once

#include "engine/train/loom-train-events.h"
#include "engine/train/step-plan.h"

G_BEGIN_DECLS

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
/* After a run of the plan, which has the same metrics. */
gboolean metric_sums_add (MetricSums *self, StepPlan *plan, GError **error);
/* Adds the sums of another one. */
void metric_sums_merge (MetricSums *self, const MetricSums *other);
/* The number of doubles that save and load copy. */
guint metric_sums_count (const MetricSums *self);
void metric_sums_save (const MetricSums *self, double *sums);
void metric_sums_load (MetricSums *self, const double *sums);
/* Adds sums that another one has saved. */
void metric_sums_merge_saved (MetricSums *self, const double *sums);
/* value[n]: the values so far. */
void metric_sums_values (const MetricSums *self, double *value);
/* The rows and columns of the i-th metric, 0 if it is no matrix. */
guint metric_sums_matrix (const MetricSums *self, guint i);

G_END_DECLS
