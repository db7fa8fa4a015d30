/* Undoes the commits of a step of several batches if one of them fails.
 *
 * Each batch commits the slots of the forward pass (running statistics, assignments of the graph) and is counted by the
 * metrics, so a fault of a later batch must undo that. A step of one batch commits all or nothing anyway. */
#pragma once

#include "engine/train/metric-sums.h"

typedef struct _Rollback Rollback;

/* For a step's program and its metrics. */
Rollback *rollback_new (const LoomProgram *program, const MetricSums *metrics);
void rollback_free (Rollback *self);
/* TRUE if values must be copied from the device, which requires waiting for it. */
gboolean rollback_has_slots (const Rollback *self);
/* Call before the first batch, and after one that has failed. recent: the metrics of the last steps. */
gboolean
rollback_save (Rollback *self, LoomState *state, const MetricSums *metrics, const MetricSums *recent, GError **error);
/* FALSE: some values could not be restored, as after the loss of a device. */
gboolean rollback_restore (const Rollback *self, LoomState *state, MetricSums *metrics, MetricSums *recent);
