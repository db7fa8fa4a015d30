/* Measures the health of the net between two steps, for observers (loom-health.h).
 *
 * A separate, unfused plan computes the loss of a fixed batch in evaluation mode: as many samples as a step has, but 32
 * to 256, from all over the validation data. It also computes the gradients of all weights and ports over the run's
 * state, as snapshots do, applies the optimizer to these gradients, and drops what that would commit, so the run stays
 * the same. Every tensor is reduced on its device to one number, or one for each unit. Nodes inside loops report their
 * weights only. */
#pragma once

#include "engine/train/snapshots.h"

typedef struct _HealthReport HealthReport;

HealthReport *health_report_new (const SnapshotOwner *owner, GError **error);
void health_report_free (HealthReport *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HealthReport, health_report_free)
/* The lines of loom_health_to_text() for this state. (transfer full) */
char *health_report_text (HealthReport *self, StateCopy *of, GError **error);
