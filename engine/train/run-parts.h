/* Lists the parts of a run that need plans of their own: training steps by batch size, and evaluations. So it can be
 * checked before the first step whether all of them fit into memory and can be divided into stages. */
#pragma once

#include "engine/train/train-data.h"

typedef struct
{
  const char *name; /* "An evaluation" */
  gint64 batch;
  gboolean training;
} RunPart;

#define RUN_MAX_PARTS 6

/* Lists the parts of a run with this batch, the full step first: batches of other sizes for training, and evaluations.
 * Returns their number. */
guint run_parts_find (const TrainData *data, const LoomTrainSpec *spec, gint64 batch, RunPart parts[RUN_MAX_PARTS]);
/* Partitions the steps of the other parts into stages, too, after the full step's plan, so that errors of a pipeline
 * are reported before the first step. Their plans are made at the first use. */
gboolean run_parts_try_stages (const TrainData *data, const TrainModel *model, const RankGroup *group, gint64 batch,
                               GError **error);
