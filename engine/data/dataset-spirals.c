/* Two interleaved spirals: the smallest picture of why a network needs hidden layers (after Lang and Witbrock,
 * "Learning to tell two spirals apart", 1988). */
#include <math.h>

#include "engine/data/loom-dataset-private.h"

#define STREAM 1

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("1000", "500"),
  { LOOM_OPTION ("noise", FLOAT, "0.02"), LOOM_RANGE (0, 10),
    .doc = "The standard deviation of the noise on each coordinate; the spirals have radius 1." },
  { LOOM_OPTION ("turns", FLOAT, "1.5"), LOOM_RANGE (0.1, 10),
    .doc = "The number of turns of each spiral around the centre." },
  LOOM_TARGET_TYPE_PARAM,
  { .name = NULL },
};

typedef struct
{
  double noise, turns;
} Spirals;

/* Samples alternate between the spirals. The square root of a uniform number spreads
 * them evenly along an arm, whose length grows with the square of its radius. */
static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  const Spirals *spirals = data;
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
  Spirals spirals = {
    .noise = loom_option_float (klass, options, "noise"),
    .turns = loom_option_float (klass, options, "turns"),
  };

  return loom_table_generate (klass, options, STREAM, make, &spirals, error);
}

const LoomDatasetClass loom_dataset_spirals = {
  .name = "spirals",
  .title = "Two spirals",
  .doc = "Points in the plane on two interleaved spirals; the class is the spiral.",
  .params = params,
  .describe = loom_info_set_points,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
