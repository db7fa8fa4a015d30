/* Metrics: what is watched beside the loss, a descriptor each.
 *
 * A metric is computed inside the program, as one more output of the step, so that watching it costs the run no work
 * on the host. It emits a sum over the batch and says how many things were summed; the mean over an epoch is the sum of
 * sums over the sum of counts, so short batches weigh what they hold. */
#pragma once

#include "engine/program/loom-prim.h"

G_BEGIN_DECLS

typedef struct
{
  const char *name; /* <metric type="…"/> */
  const char *doc;
  gboolean rising; /* larger is better */
  /* Whether it can be computed for these operands; on FALSE *why (free it) says what it needs. */
  gboolean (*check) (const LoomTensorDesc *input, const LoomTensorDesc *target, char **why);
  /* The sum over the batch, rank 0, in the program's float type. */
  LoomValue (*emit) (LoomProgram *p, LoomValue input, LoomValue target);
  /* How many things one batch sums. */
  gint64 (*count) (const LoomTensorDesc *input, const LoomTensorDesc *target);
} LoomMetric;

const LoomMetric *const *loom_metrics (void); /* NULL-terminated */
const LoomMetric *loom_metric (const char *name);

G_END_DECLS
