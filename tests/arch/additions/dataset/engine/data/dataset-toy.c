/* Toy: whether a number is above one half. */
#include "engine/data/loom-dataset-private.h"

#define STREAM 77

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("40", "20"),
  LOOM_TARGET_TYPE_PARAM,
  { .name = NULL },
};

static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  double x = loom_sample_normal (random);

  loom_tensor_set (row[0], 2 * i, x);
  loom_tensor_set (row[0], 2 * i + 1, 1);
  loom_tensor_set (row[1], i, x > 0.5);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  return loom_table_generate (klass, options, STREAM, make, NULL, error);
}

const LoomDatasetClass loom_dataset_toy = {
  .name = "toy",
  .title = "Toy",
  .doc = "Numbers above one half, and others.",
  .params = params,
  .describe = loom_info_set_points,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
