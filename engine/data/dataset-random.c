/* Independent normal numbers for x and y: the two-layer lesson memorises them, and they are a placeholder of any width
 * if only the speed of a network matters. */
#include "engine/data/loom-dataset-private.h"

#define STREAM 4

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("64", "64"),
  { LOOM_OPTION ("in_features", INT, "1000"), LOOM_RANGE (1, 10000000), .doc = "The number of features of x." },
  { LOOM_OPTION ("out_features", INT, "10"), LOOM_RANGE (1, 10000000), .doc = "The number of features of y." },
  { .name = NULL },
};

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 in_features = loom_option_int (klass, options, "in_features");
  const gint64 out_features = loom_option_int (klass, options, "out_features");

  loom_info_add_port (info, "x", LOOM_F32, 1, &in_features);
  loom_info_add_port (info, "y", LOOM_F32, 1, &out_features);
  loom_info_set_generated (info, klass, options);
  info->n_classes = 0;
  return TRUE;
}

static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  for (int p = 0; p < 2; p++)
    {
      gint64 width = row[p]->dim[1];
      float *values = (float *)row[p]->data + i * width;

      for (gint64 k = 0; k < width; k++)
        values[k] = loom_sample_normal (random);
    }
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  return loom_table_generate (klass, options, STREAM, make, NULL, error);
}

const LoomDatasetClass loom_dataset_random = {
  .name = "random",
  .title = "Random numbers",
  .doc = "x and y from the normal distribution, independent of each other: a task of memorisation.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
