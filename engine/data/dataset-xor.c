/* Exclusive or: four corners of a square, opposite ones alike, which no straight line
 * separates (Minsky and Papert, "Perceptrons", 1969). */
#include "engine/data/loom-dataset-private.h"

#define STREAM 2

static const char *const target_types[] = { "class", "float", NULL };

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("200", "100"),
  { .name = "noise",
    .type = LOOM_DATASET_FLOAT,
    .def = "0.1",
    .minimum = 0,
    .maximum = 10,
    .doc = "Standard deviation of what is added to each of the two inputs; with 0, four samples are the truth table." },
  { .name = "target_type",
    .type = LOOM_DATASET_ENUM,
    .def = "class",
    .choices = target_types,
    .doc = "class: y i64 [B]; float: y f32 [B,1], for losses with one output." },
  { .name = NULL },
};

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 two = 2, one = 1;
  gboolean is_class = g_str_equal (loom_option_string (klass, options, "target_type"), "class");

  loom_info_add_port (info, "x", LOOM_F32, 1, &two);
  loom_info_add_port (info, "y", is_class ? LOOM_I64 : LOOM_F32, is_class ? 0 : 1, &one);
  loom_info_set_generated (info, klass, options);
  info->n_classes = 2;
  return TRUE;
}

/* Samples go round the corners (0,0), (1,0), (0,1), (1,1). */
static void
make (const LoomGenerator *generator, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  double noise = *(const double *)generator->data;
  int a = (int)(i & 1), b = (int)(i >> 1 & 1);

  loom_tensor_set (row[0], 2 * i, a + noise * loom_sample_normal (random));
  loom_tensor_set (row[0], 2 * i + 1, b + noise * loom_sample_normal (random));
  loom_tensor_set (row[1], i, a ^ b);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  LoomDatasetInfo info = { 0 };
  double noise = loom_option_float (klass, options, "noise");
  const LoomGenerator generator = { .klass = klass, .options = options, .info = &info, .data = &noise };

  if (!describe (klass, options, &info, error))
    return NULL;
  return loom_table_generate (&generator, STREAM, make, error);
}

const LoomDatasetClass loom_dataset_xor = {
  .name = "xor",
  .title = "Exclusive or",
  .doc = "Four corners of a square, opposite ones in one class.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
