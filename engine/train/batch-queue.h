/* The next batch of an epoch, fetched and uploaded to the device while a step is computed there.
 *
 * It is the batch that the loader returns next anyway, so the order of samples is that of a run without prefetching. An
 * error of the next batch is reported with the next step. */
#pragma once

#include "engine/train/step-plan.h"

typedef struct
{
  LoomLoader *loader;
  gboolean prefetches;    /* a device computes while the host continues */
  const LoomBatch *batch; /* fetched, but not consumed yet; NULL: none */
  const StepPlan *fed;    /* the plan to whose inputs it was uploaded */
  GError *error;          /* the error of fetching it */
} BatchQueue;

/* An optimiser that evaluates the loss itself (has_driver) sets the inputs itself. */
gboolean
batch_queue_init (BatchQueue *self, LoomLoader *loader, const StepPlan *plan, gboolean has_driver, GError **error);
/* Drops the fetched batch; call before moving the loader. */
void batch_queue_drop (BatchQueue *self);
/* Fetches the next batch while a step of the plan is computed. */
void batch_queue_fetch (BatchQueue *self, StepPlan *plan);
/* The batch of the next step, which stays the next one: batch `first` of this epoch, read if it has not been fetched.
 */
const LoomBatch *batch_queue_peek (BatchQueue *self, gint64 epoch, gint64 first, GError **error);
/* The next batch, as loom_loader_next(). */
const LoomBatch *batch_queue_next (BatchQueue *self, GError **error);
/* Sets the plan's inputs to the batch, unless they are set already. */
void batch_queue_feed (BatchQueue *self, StepPlan *plan, const LoomBatch *batch);
