/* Exclusive or: four corners of a square, of which opposite ones have the same class; no straight line separates the
 * classes (Minsky and Papert, "Perceptrons", 1969). */
#include "engine/data/loom-dataset-private.h"

#define STREAM 2

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("200", "100"),
  { LOOM_OPTION ("noise", FLOAT, "0.1"), LOOM_RANGE (0, 10),
    .doc = "The standard deviation of the noise on each of the two inputs; with 0, four samples are the truth table." },
  LOOM_TARGET_TYPE_PARAM,
  { .name = NULL },
};

/* Samples go round the corners (0,0), (1,0), (0,1), (1,1). */
static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  double noise = *(const double *)data;
  int a = (int)(i & 1), b = (int)(i >> 1 & 1);

  loom_tensor_set (row[0], 2 * i, a + noise * loom_sample_normal (random));
  loom_tensor_set (row[0], 2 * i + 1, b + noise * loom_sample_normal (random));
  loom_tensor_set (row[1], i, a ^ b);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  double noise = loom_option_float (klass, options, "noise");

  return loom_table_generate (klass, options, STREAM, make, &noise, error);
}

const LoomDatasetClass loom_dataset_xor = {
  .name = "xor",
  .title = "Exclusive or",
  .doc = "The four corners of a square; opposite corners have the same class.",
  .params = params,
  .describe = loom_info_set_points,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
