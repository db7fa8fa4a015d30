/* Two spirals around each other: the smallest picture of why a network needs hidden
 * layers (after Lang and Witbrock, "Learning to tell two spirals apart", 1988). */
#include <math.h>

#include "engine/data/loom-dataset-private.h"

#define STREAM 1

static const char *const target_types[] = { "class", "float", NULL };

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("1000", "500"),
  { .name = "noise",
    .type = LOOM_DATASET_FLOAT,
    .def = "0.02",
    .minimum = 0,
    .maximum = 10,
    .doc = "Standard deviation of what is added to each coordinate; the spirals have radius 1." },
  { .name = "turns",
    .type = LOOM_DATASET_FLOAT,
    .def = "1.5",
    .minimum = 0.1,
    .maximum = 10,
    .doc = "How often each spiral winds around the centre." },
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

typedef struct
{
  double noise, turns;
} Spirals;

/* Samples alternate between the spirals. The square root of a uniform number spreads
 * them evenly along an arm, whose length grows with the square of its radius. */
static void
make (const LoomGenerator *generator, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  const Spirals *spirals = generator->data;
  int which = (int)(i % 2);
  double radius = sqrt (loom_sample_uniform (random));
  double angle = 2 * G_PI * spirals->turns * radius + G_PI * which;

  loom_tensor_set (row[0], 2 * i, radius * cos (angle) + spirals->noise * loom_sample_normal (random));
  loom_tensor_set (row[0], 2 * i + 1, radius * sin (angle) + spirals->noise * loom_sample_normal (random));
  loom_tensor_set (row[1], i, which);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  LoomDatasetInfo info = { 0 };
  Spirals spirals = {
    .noise = loom_option_float (klass, options, "noise"),
    .turns = loom_option_float (klass, options, "turns"),
  };
  const LoomGenerator generator = { .klass = klass, .options = options, .info = &info, .data = &spirals };

  if (!describe (klass, options, &info, error))
    return NULL;
  return loom_table_generate (&generator, STREAM, make, error);
}

const LoomDatasetClass loom_dataset_spirals = {
  .name = "spirals",
  .title = "Two spirals",
  .doc = "Points in the plane on two spirals wound into each other; which spiral is the class.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
