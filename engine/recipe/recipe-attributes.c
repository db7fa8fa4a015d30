/* The table of attributes of <train> and its children; see the header. */
#include "engine/recipe/loom-attributes.h"

#include <string.h>

#include "engine/ops/loom-reserved.h"
#include "engine/program/loom-optimizer.h"
#include "engine/recipe/loom-schedule.h"
#include "engine/recipe/recipe-private.h"

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* ---- names that other tables have ---------------------------------------- */

G_STATIC_ASSERT (G_STRUCT_OFFSET (LoomOptimizer, name) == 0 && G_STRUCT_OFFSET (LoomScheduleClass, name) == 0
                 && G_STRUCT_OFFSET (LoomMetric, name) == 0);

/* The names of descriptors, each of which begins with its own; made once. */
static const char *const *
names_of (gconstpointer const *descriptors, gsize *made)
{
  if (g_once_init_enter (made))
    {
      GPtrArray *names = g_ptr_array_new ();

      for (; *descriptors != NULL; descriptors++)
        g_ptr_array_add (names, *(char *const *)*descriptors);
      g_ptr_array_add (names, NULL);
      g_once_init_leave (made, (gsize)g_ptr_array_free (names, FALSE));
    }
  return (const char *const *)*made;
}

static const char *const *
optimizer_names (void)
{
  static gsize made = 0;

  return names_of ((gconstpointer const *)loom_optimizers (), &made);
}

static const char *const *
schedule_names (void)
{
  static gsize made = 0;

  return names_of ((gconstpointer const *)loom_schedules (), &made);
}

static const char *const *
metric_names (void)
{
  static gsize made = 0;

  return names_of ((gconstpointer const *)loom_metrics (), &made);
}

/* ---- the tables ----------------------------------------------------------- */

static const LoomAttribute of_train[] = {
  { .spec = { .name = "loss", .type = LOOM_PARAM_STRING, .doc = "The number that is to become small" },
    .refers = LOOM_REFERS_PORT },
  { .spec
    = { .name = "optimizer", .type = LOOM_PARAM_STRING, .def = "sgd", .doc = "How a step follows from gradients" },
    .names = optimizer_names },
  { .spec = { .name = "epochs",
              .type = LOOM_PARAM_INT,
              .def = "1",
              .minimum = 0,
              .maximum = 1e9,
              .doc = "How often every sample is seen" } },
  { .spec = { .name = "batch_size",
              .type = LOOM_PARAM_INT,
              .def = "32",
              .minimum = 1,
              .maximum = 1e9,
              .doc = "Samples in one step" } },
  { .spec = { .name = "seed",
              .type = LOOM_PARAM_INT,
              .def = "0",
              .minimum = 0,
              .maximum = (double)G_MAXINT64,
              .doc = "Same seed, same numbers" } },
  { .spec = { .name = "precision",
              .type = LOOM_PARAM_ENUM,
              .def = "f32",
              .choices = WORDS ("f32", "bf16", "f16", "f64"),
              .doc = "What products are computed in; weights stay f32. bf16 is half the memory, f64 needs the device "
                     "ref." } },
  /* Any text: which devices there are depends on the machine. */
  { .spec = { .name = "device", .type = LOOM_PARAM_STRING, .def = "cpu", .doc = "Where the run is computed" } },
  { .spec = { .name = "accumulate",
              .type = LOOM_PARAM_INT,
              .def = "1",
              .minimum = 1,
              .maximum = 1e6,
              .doc = "The gradients of this many batches are added up before a step is taken" } },
  { .spec = { .name = "lr_batch_size",
              .type = LOOM_PARAM_INT,
              .def = "",
              .minimum = 1,
              .maximum = 1e9,
              .doc = "The learning rate is meant for this batch size and grows with a larger one" } },
  { .spec = { .name = "betas",
              .type = LOOM_PARAM_FLOATS,
              .def = "",
              .maximum = 1,
              .length = 2,
              .doc = "beta1 and beta2 of Adam and its variants, as “0.9,0.999”" } },
  { .spec = { .name = "ema",
              .type = LOOM_PARAM_FLOAT,
              .def = "",
              .minimum = 0,
              .maximum = 1,
              .doc = "Decay of a moving average of the weights, such as 0.999; it is what is validated" } },
  { .spec = { .name = "patience",
              .type = LOOM_PARAM_INT,
              .def = "",
              .minimum = 1,
              .maximum = 1e9,
              .doc = "Training ends after this many epochs without a better one, and the best weights are kept" } },
  { .spec = { .name = "folds",
              .type = LOOM_PARAM_INT,
              .def = "",
              .minimum = 2,
              .maximum = 1e9,
              .doc = "Cross-validation: the training samples are dealt into this many parts by the seed" } },
  { .spec = { .name = "fold",
              .type = LOOM_PARAM_INT,
              .def = "",
              .minimum = 1,
              .maximum = 1e9,
              .doc = "Which of the folds validates, from 1; the others train" } },
  { .spec = { .name = "min_delta",
              .type = LOOM_PARAM_FLOAT,
              .def = "0",
              .minimum = 0,
              .maximum = 1e30,
              .doc = "By how much an epoch must be better to count" } },
  /* Setting it also keeps the best weights, so “loss” is no default. */
  { .spec = { .name = "monitor", .type = LOOM_PARAM_STRING, .def = "", .doc = "The loss, or a metric’s name" } },
  { .spec = { .name = "weights",
              .type = LOOM_PARAM_STRING,
              .def = "",
              .doc = "A safetensors file to begin from, relative to the graph" } },
  { .spec = { .name = "match",
              .type = LOOM_PARAM_STRING,
              .def = "",
              .doc = "Which weights are taken from it: patterns with commas, such as block*,fc1" },
    .refers = LOOM_REFERS_WEIGHTS },
  { .spec = { .name = "drop_last",
              .type = LOOM_PARAM_ENUM,
              .def = "auto",
              .choices = WORDS ("auto", "true", "false"),
              .doc = "Whether an epoch’s last batch is left out where it is short. auto leaves out a single sample "
                     "that a batch norm would learn nothing from." } },
  { .spec = { .name = "sample_weights",
              .type = LOOM_PARAM_STRING,
              .def = "",
              .doc = "How often samples are drawn, with replacement: balanced, each class as often as the others, a "
                     "number for each class, such as 1,1,5, or weight, by the data set’s port of this name. Without it "
                     "an epoch has each sample once." } },
  { .spec = { .name = "offload",
              .type = LOOM_PARAM_ENUM,
              .def = "none",
              .choices = WORDS ("none", "optimizer"),
              .doc = "optimizer: its states lie in host memory and its step is made there, which leaves their room on "
                     "a GPU free; gradients go down and weights up in each step." } },
  { .spec
    = { .name = "tf32",
        .type = LOOM_PARAM_BOOL,
        .def = "false",
        .doc = "On a GPU that has TF32, products of f32 numbers are rounded to it on the way in: faster, with ten "
               "bits of mantissa." } },
  { .spec = { .name = "algorithm",
              .type = LOOM_PARAM_ENUM,
              .def = "auto",
              .choices = WORDS ("auto", "direct"),
              .doc = "auto lets convolutions be computed by Winograd’s algorithm, which multiplies less and rounds "
                     "more; direct forbids it in every layer." } },
  { { NULL } },
};

static const LoomAttribute of_schedule[] = {
  { .spec = { .name = "type", .type = LOOM_PARAM_STRING, .def = "constant", .doc = "How the learning rate changes" },
    .names = schedule_names },
  { .spec = { .name = "warmup_steps",
              .type = LOOM_PARAM_INT,
              .def = "0",
              .minimum = 0,
              .maximum = 1e12,
              .doc = "The learning rate rises from 0 over this many steps" } },
  { .spec = { .name = "interval",
              .type = LOOM_PARAM_ENUM,
              .def = "step",
              .choices = WORDS ("step", "epoch"),
              .doc = "What the course counts" } },
  /* Of the classes that have milestones. */
  { .spec = { .name = "milestones",
              .type = LOOM_PARAM_INTS,
              .minimum = 0,
              .maximum = 1e12,
              .doc = "Where the rate falls: whole numbers in ascending order" } },
  { { NULL } },
};

static const LoomAttribute of_clip[] = {
  { .spec = { .name = "norm",
              .type = LOOM_PARAM_FLOAT,
              .def = "0",
              .minimum = 0,
              .maximum = 1e12,
              .doc = "Longer gradients are shortened to this length; 0 leaves them alone" },
    .alias = "max_norm" },
  { .spec = { .name = "value",
              .type = LOOM_PARAM_FLOAT,
              .def = "0",
              .minimum = 0,
              .maximum = 1e12,
              .doc = "Each number of a gradient is kept within ± this; 0 leaves them alone" } },
  { { NULL } },
};

static const LoomAttribute of_parallel[] = {
  { .spec
    = { .name = "strategy",
        .type = LOOM_PARAM_ENUM,
        .def = "data",
        .choices = WORDS (RECIPE_STRATEGIES),
        .doc = "What each rank has a part of: data: the batch; zero1: states of the optimizer, too; zero2: and "
               "gradients; zero3: and weights. server: rank 0 has the weights, to which the others push gradients" } },
  { .spec
    = { .name = "staleness",
        .type = LOOM_PARAM_INT,
        .def = "0",
        .minimum = 0,
        .maximum = 1e6,
        .doc = "Of a server: how many steps a rank may be ahead of the slowest one; 0: all wait for one another" } },
  { .spec
    = { .name = "min_ranks",
        .type = LOOM_PARAM_INT,
        .def = "0",
        .minimum = 0,
        .maximum = 1e6,
        .doc
        = "If a rank is lost, the others continue from the newest checkpoint, down to this many; 0: the run ends" } },
  { .spec = { .name = "data",
              .type = LOOM_PARAM_INT,
              .def = "0",
              .minimum = 0,
              .maximum = 4096,
              .doc = "Ranks that have parts of a batch; 0: as many as there are" } },
  { .spec = { .name = "tensor",
              .type = LOOM_PARAM_INT,
              .def = "0",
              .minimum = 0,
              .maximum = 4096,
              .doc = "Ranks that have parts of the weights of nodes with split; 0: one, or as many as data leaves" } },
  { .spec = { .name = "split",
              .type = LOOM_PARAM_STRING,
              .def = "",
              .doc = "How nodes without a split of their own are split, as PATTERN=WAY with commas: "
                     "\"**.fc1=column,**.fc2=row\"" } },
  { .spec = { .name = "pipeline",
              .type = LOOM_PARAM_INT,
              .def = "0",
              .minimum = 0,
              .maximum = LOOM_MAX_STAGES,
              .doc = "Stages into which the net is cut, each for ranks of its own; 0: it is not cut" } },
  { .spec = { .name = "microbatches",
              .type = LOOM_PARAM_INT,
              .def = "0",
              .minimum = 0,
              .maximum = 1024,
              .doc = "Parts of a batch that go through the stages one after the other, at most one for each sample; 0: "
                     "four for each stage" } },
  { .spec = { .name = "schedule",
              .type = LOOM_PARAM_ENUM,
              .def = "1f1b",
              .choices = WORDS ("gpipe", "1f1b"),
              .doc = "What a stage does first: gpipe: all forward passes; 1f1b: one forward and one backward in turn, "
                     "which keeps fewer activations" } },
  { .spec = { .name = "bucket_mb",
              .type = LOOM_PARAM_FLOAT,
              .def = "25",
              .minimum = 0,
              .maximum = 1e6,
              .doc = "Megabytes of gradients that are exchanged in one call; 0: each tensor alone" } },
  { .spec
    = { .name = "reduce_dtype",
        .type = LOOM_PARAM_ENUM,
        .def = "f32",
        .choices = WORDS ("f32", "bf16"),
        .doc
        = "The type in which gradients of f32 travel: bf16 halves the bytes, and rounds what each rank sends; those of "
          "f64 stay f64" } },
  { .spec = { .name = "sync_batch_norm",
              .type = LOOM_PARAM_BOOL,
              .def = "false",
              .doc = "Batch norms take the statistics of the whole batch, not of a rank's part" } },
  { { NULL } },
};

/* Ranges of lr and weight_decay are those of the optimiser. */
static const LoomAttribute of_group[] = {
  { .spec = { .name = "match",
              .type = LOOM_PARAM_STRING,
              .doc = "Paths of weights: * is any characters without a point, ** any at all, ? one. The first group "
                     "that fits has a weight." },
    .refers = LOOM_REFERS_WEIGHTS },
  { .spec = { .name = "lr", .type = LOOM_PARAM_FLOAT, .def = "", .doc = "The learning rate of these weights" } },
  { .spec = { .name = "weight_decay", .type = LOOM_PARAM_FLOAT, .def = "", .doc = "The decay of these weights" } },
  { .spec = { .name = "frozen",
              .type = LOOM_PARAM_BOOL,
              .def = "false",
              .doc = "These weights stay as they are; no gradient is computed for them." } },
  { { NULL } },
};

static const LoomAttribute of_metric[] = {
  { .spec = { .name = "type", .type = LOOM_PARAM_STRING, .doc = "What is measured" },
    .names = metric_names,
    .refers = LOOM_REFERS_METRIC },
  { .spec = { .name = "input", .type = LOOM_PARAM_STRING, .doc = "What the network says." },
    .refers = LOOM_REFERS_PORT },
  { .spec = { .name = "target", .type = LOOM_PARAM_STRING, .doc = "What it should have said." },
    .refers = LOOM_REFERS_PORT },
  { .spec = { .name = "name", .type = LOOM_PARAM_STRING, .def = "", .doc = "What charts and files call it" } },
  { .spec
    = { .name = "k", .type = LOOM_PARAM_INT, .def = "5", .minimum = 1, .maximum = 1e9, .doc = "Of how many guesses." },
    .takes = LOOM_METRIC_K },
  /* In the order of LoomAverage. */
  { .spec = { .name = "average",
              .type = LOOM_PARAM_ENUM,
              .def = "macro",
              .choices = WORDS ("macro", "micro", "binary"),
              .doc = "The mean over classes, over all samples, or class 1 of two." },
    .takes = LOOM_METRIC_AVERAGE },
  { .spec = { .name = "threshold",
              .type = LOOM_PARAM_FLOAT,
              .def = "0.5",
              .minimum = -1e30,
              .maximum = 1e30,
              .doc = "Above it a single score means yes." },
    .takes = LOOM_METRIC_THRESHOLD },
  { { NULL } },
};

/* The other attributes of <graph> identify the file; no edit sets them. */
static const LoomAttribute of_graph[] = {
  { .spec = { .name = "strict_devices",
              .type = LOOM_PARAM_BOOL,
              .def = "false",
              .doc = "A wire between nodes on two devices is an error, as in PyTorch, and not a copy" } },
  { { NULL } },
};

const LoomAttribute *
loom_attributes (LoomTag tag)
{
  static const LoomAttribute none[] = { { { NULL } } };
  static const LoomAttribute *const tables[LOOM_N_TAGS]
      = { [LOOM_TAG_GRAPH] = of_graph,  [LOOM_TAG_TRAIN] = of_train, [LOOM_TAG_SCHEDULE] = of_schedule,
          [LOOM_TAG_CLIP] = of_clip,    [LOOM_TAG_GROUP] = of_group, [LOOM_TAG_PARALLEL] = of_parallel,
          [LOOM_TAG_METRIC] = of_metric };

  g_return_val_if_fail (tag < LOOM_N_TAGS, none);

  return tables[tag] != NULL ? tables[tag] : none;
}

const LoomAttribute *
loom_attribute (LoomTag tag, const char *name)
{
  for (const LoomAttribute *a = loom_attributes (tag); a->spec.name != NULL; a++)
    if (strcmp (a->spec.name, name) == 0 || g_strcmp0 (a->alias, name) == 0)
      return a;
  return NULL;
}
