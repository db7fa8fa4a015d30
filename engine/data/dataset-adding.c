/* The adding problem (Hochreiter and Schmidhuber, "Long short-term memory", 1997, section 5.4, in the form of Le,
 * Jaitly and Hinton, "A simple way to initialize recurrent networks of rectified linear units", 2015): a long sequence
 * of random numbers, two of them marked; the target is the sum of these two.
 *
 * Each half has one mark. The constant prediction 1 has a mean squared error of 1/6; a lower error shows that the
 * network has learned. */
#include "engine/data/loom-dataset-private.h"

#define STREAM 7

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("5000", "500"),
  { LOOM_OPTION ("length", INT, "50"), LOOM_RANGE (2, 100000), .doc = "T, the number of steps of a sequence." },
  { .name = NULL },
};

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 dims[] = { loom_option_int (klass, options, "length"), 2 }, one = 1;

  loom_info_add_port (info, "x", LOOM_F32, 2, dims);
  loom_info_add_port (info, "y", LOOM_F32, 1, &one);
  loom_info_set_generated (info, klass, options);
  info->n_classes = 0;
  return TRUE;
}

/* x is (T, 2): a number from 0 to 1, and 1 if it is marked. */
static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  const gint64 length = *(const gint64 *)data, half = length / 2;
  float *x = (float *)row[0]->data + i * length * 2;
  const gint64 marked[2]
      = { loom_sample_below (random, (guint32)half), half + loom_sample_below (random, (guint32)(length - half)) };

  for (gint64 t = 0; t < length; t++)
    {
      x[2 * t] = loom_sample_uniform (random);
      x[2 * t + 1] = t == marked[0] || t == marked[1];
    }
  loom_tensor_set (row[1], i, x[2 * marked[0]] + x[2 * marked[1]]);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  const gint64 length = loom_option_int (klass, options, "length");

  return loom_table_generate (klass, options, STREAM, make, &length, error);
}

const LoomDatasetClass loom_dataset_adding = {
  .name = "adding",
  .title = "Adding problem",
  .doc = "Long sequences of numbers, two of which are marked; the target is the sum of these two.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
