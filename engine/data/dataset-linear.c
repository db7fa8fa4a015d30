/* A straight line (or plane) with noise: y = x·w + b + ε, for the first lesson. */
#include "engine/data/loom-dataset-private.h"

#define STREAM 3

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("200", "100"),
  { LOOM_OPTION ("n_features", INT, "1"), LOOM_RANGE (1, 100000), .doc = "The number of features of x." },
  { LOOM_OPTION ("weight", FLOATS, "2"), .doc = "The true weights w: a number for each feature, or one for all." },
  { LOOM_OPTION ("bias", FLOAT, "1"), .doc = "The true b." },
  { LOOM_OPTION ("noise", FLOAT, "0.1"), LOOM_RANGE (0, 1000), .doc = "The standard deviation of the noise on y." },
  { .name = NULL },
};

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 n_features = loom_option_int (klass, options, "n_features"), one = 1;
  g_autofree double *weight = loom_option_floats (klass, options, "weight", n_features, error);

  if (weight == NULL)
    return FALSE;
  loom_info_add_port (info, "x", LOOM_F32, 1, &n_features);
  loom_info_add_port (info, "y", LOOM_F32, 1, &one);
  loom_info_set_generated (info, klass, options);
  info->n_classes = 0;
  return TRUE;
}

typedef struct
{
  gint64 n_features;
  const double *weight;
  double bias, noise;
} Line;

/* x is uniform in [-1, 1). */
static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  const Line *line = data;
  float *x = (float *)row[0]->data + i * line->n_features;
  double y = line->bias;

  for (gint64 k = 0; k < line->n_features; k++)
    {
      x[k] = 2 * loom_sample_uniform (random) - 1;
      y += line->weight[k] * x[k];
    }
  loom_tensor_set (row[1], i, y + line->noise * loom_sample_normal (random));
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_autofree double *weight = NULL;
  Line line = {
    .n_features = loom_option_int (klass, options, "n_features"),
    .bias = loom_option_float (klass, options, "bias"),
    .noise = loom_option_float (klass, options, "noise"),
  };

  line.weight = weight = loom_option_floats (klass, options, "weight", line.n_features, error);
  if (weight == NULL)
    return NULL;
  return loom_table_generate (klass, options, STREAM, make, &line, error);
}

const LoomDatasetClass loom_dataset_linear = {
  .name = "linear",
  .title = "Line with noise",
  .doc = "y = x·w + b with noise, and x uniform between -1 and 1.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
