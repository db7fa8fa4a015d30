/* The tables of attributes of <train> and its children; see loom-attributes.h. */
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

/* The names of descriptors, whose first member is the name; made once. */
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
  { .spec = { LOOM_PARAM ("loss", STRING, NULL), .doc = "The value to minimise" }, .refers = LOOM_REFERS_PORT },
  { .spec = { LOOM_PARAM ("optimizer", STRING, "sgd"), .doc = "The algorithm that computes a step from gradients" },
    .names = optimizer_names },
  { .spec = { LOOM_PARAM ("epochs", INT, "1"), LOOM_RANGE (0, 1e9),
              .doc = "The number of passes over the training samples" } },
  { .spec = { LOOM_PARAM ("batch_size", INT, "32"), LOOM_RANGE (1, 1e9), .doc = "The number of samples in a batch" } },
  { .spec = { LOOM_PARAM ("seed", INT, "0"), LOOM_RANGE (0, (double)G_MAXINT64),
              .doc = "The seed of weights, order of samples and dropout" } },
  { .spec = { LOOM_PARAM ("precision", ENUM, "f32"), .choices = WORDS ("f32", "bf16", "f16", "f64"),
              .doc = "The type in which large products are computed; weights stay f32. bf16 halves the memory of "
                     "activations, f64 needs the device ref." } },
  /* Any text, because the devices depend on the machine. */
  { .spec = { LOOM_PARAM ("device", STRING, "cpu"), .doc = "The device that computes the run" } },
  { .spec = { LOOM_PARAM ("accumulate", INT, "1"), LOOM_RANGE (1, 1e6),
              .doc = "The number of batches whose gradients are accumulated for a step" } },
  { .spec = { LOOM_PARAM ("lr_batch_size", INT, ""), LOOM_RANGE (1, 1e9),
              .doc = "The batch size that lr refers to; the rate is scaled in proportion to the actual one" } },
  { .spec = { LOOM_PARAM ("betas", FLOATS, ""), .maximum = 1, .length = 2,
              .doc = "beta1 and beta2 of Adam and its variants, such as “0.9,0.999”" } },
  { .spec = { LOOM_PARAM ("ema", FLOAT, ""), LOOM_RANGE (0, 1),
              .doc = "Decay of a moving average of the weights, such as 0.999; validation uses the average" } },
  { .spec
    = { LOOM_PARAM ("patience", INT, ""), LOOM_RANGE (1, 1e9),
        .doc = "The number of epochs without improvement after which training ends; the best weights are kept" } },
  { .spec = { LOOM_PARAM ("folds", INT, ""), LOOM_RANGE (2, 1e9),
              .doc = "Cross-validation: the number of folds into which the seed divides the training samples" } },
  { .spec = { LOOM_PARAM ("fold", INT, ""), LOOM_RANGE (1, 1e9),
              .doc = "The number of the fold that validates, from 1; the others train" } },
  { .spec = { LOOM_PARAM ("min_delta", FLOAT, "0"), LOOM_RANGE (0, 1e30),
              .doc = "The least improvement that counts as a better epoch" } },
  /* Setting it also keeps the best weights, so “loss” is not its default. */
  { .spec = { LOOM_PARAM ("monitor", STRING, ""),
              .doc = "The value that early stopping watches: loss, or a metric’s name" } },
  { .spec
    = { LOOM_PARAM ("weights", STRING, ""), .doc = "A safetensors file with initial weights, relative to the graph" } },
  { .spec = { LOOM_PARAM ("match", STRING, ""),
              .doc = "The weights to load from the file: patterns separated by commas, such as block*,fc1" },
    .refers = LOOM_REFERS_WEIGHTS },
  { .spec = { LOOM_PARAM ("adapter", STRING, ""),
              .doc = "A file, or folder, with factors of LoRA in PEFT's names, with which the layers begin" } },
  { .spec = { LOOM_PARAM ("drop_last", ENUM, "auto"), .choices = WORDS ("auto", "true", "false"),
              .doc = "If true, an incomplete last batch of an epoch is dropped. auto drops it only if it is a single "
                     "sample and the net has a batch norm." } },
  { .spec = { LOOM_PARAM ("sample_weights", STRING, ""),
              .doc = "Weights for drawing samples with replacement: balanced draws each class equally often; numbers, "
                     "such as 1,1,5, weight the classes; weight reads the data set’s port of this name. Without it an "
                     "epoch has each sample once." } },
  { .spec = { LOOM_PARAM ("offload", ENUM, "none"), .choices = WORDS ("none", "optimizer"),
              .doc = "optimizer keeps the optimiser’s state in host memory and computes the update there, which saves "
                     "memory of a GPU; each step copies gradients to the host and weights back." } },
  { .spec
    = { LOOM_PARAM ("tf32", BOOL, "false"),
        .doc = "On a GPU with TF32, products round their f32 operands to TF32: faster, with ten bits of mantissa." } },
  { .spec = { LOOM_PARAM ("algorithm", ENUM, "auto"), .choices = WORDS ("auto", "direct"),
              .doc = "auto allows Winograd’s algorithm for convolutions, which needs fewer multiplications and has "
                     "larger rounding errors; direct forbids it in every layer." } },
  { { NULL } },
};

static const LoomAttribute of_schedule[] = {
  { .spec = { LOOM_PARAM ("type", STRING, "constant"), .doc = "How the learning rate changes" },
    .names = schedule_names },
  { .spec = { LOOM_PARAM ("warmup_steps", INT, "0"), LOOM_RANGE (0, 1e12),
              .doc = "The learning rate rises from 0 over this many steps" } },
  { .spec = { LOOM_PARAM ("interval", ENUM, "step"), .choices = WORDS ("step", "epoch"),
              .doc = "The unit of the schedule’s numbers: steps or epochs" } },
  /* TRUE for schedules with milestones. */
  { .spec = { LOOM_PARAM ("milestones", INTS, NULL), LOOM_RANGE (0, 1e12),
              .doc = "The steps or epochs at which the rate falls, or the next schedule begins: whole numbers in "
                     "ascending order" } },
  /* TRUE for schedules with a formula. */
  { .spec = { LOOM_PARAM ("formula", STRING, NULL),
              .doc = "The rate's factor, computed from step, epoch, steps and epochs; with numbers, functions and "
                     "“a if condition else b” as in an expression" } },
  { { NULL } },
};

static const LoomAttribute of_clip[] = {
  { .spec = { LOOM_PARAM ("norm", FLOAT, "0"), LOOM_RANGE (0, 1e12),
              .doc = "The largest norm of all gradients together; longer ones are scaled down. 0: no clipping" },
    .alias = "max_norm" },
  { .spec = { LOOM_PARAM ("value", FLOAT, "0"), LOOM_RANGE (0, 1e12),
              .doc = "The largest absolute value of a gradient’s element; larger ones are clipped. 0: no clipping" } },
  { { NULL } },
};

static const LoomAttribute of_parallel[] = {
  { .spec
    = { LOOM_PARAM ("strategy", ENUM, "data"), .choices = WORDS (RECIPE_STRATEGIES),
        .doc = "data divides the batch among ranks; zero1 also shards the optimiser’s state, zero2 also gradients, "
               "zero3 also weights. server: rank 0 stores the weights, and the other ranks push gradients to it" } },
  { .spec
    = { LOOM_PARAM ("staleness", INT, "0"), LOOM_RANGE (0, 1e6),
        .doc = "With strategy server: the number of steps by which a rank may be ahead of the slowest one; 0: all "
               "ranks wait for each other" } },
  { .spec
    = { LOOM_PARAM ("min_ranks", INT, "0"), LOOM_RANGE (0, 1e6),
        .doc
        = "The least number of ranks with which a run continues from its newest checkpoint after a rank is lost; 0: "
          "the run ends" } },
  { .spec = { LOOM_PARAM ("data", INT, "0"), LOOM_RANGE (0, 4096),
              .doc = "The number of ranks among which a batch is divided; 0: all that the other axes leave" } },
  { .spec = { LOOM_PARAM ("tensor", INT, "0"), LOOM_RANGE (0, 4096),
              .doc = "The number of ranks among which weights of nodes with split are divided; 0: one, or all that "
                     "data leaves" } },
  { .spec = { LOOM_PARAM ("split", STRING, ""),
              .doc = "The split of nodes that set none themselves: PATTERN=WAY, separated by commas: "
                     "\"**.fc1=column,**.fc2=row\"" } },
  { .spec = { LOOM_PARAM ("pipeline", INT, "0"), LOOM_RANGE (0, LOOM_MAX_STAGES),
              .doc = "The number of pipeline stages of the net, each on its own ranks; 0: no pipeline" } },
  { .spec = { LOOM_PARAM ("microbatches", INT, "0"), LOOM_RANGE (0, 1024),
              .doc = "The number of micro-batches of a batch in a pipeline, at most one for each sample; 0: four for "
                     "each stage" } },
  { .spec = { LOOM_PARAM ("schedule", ENUM, "1f1b"), .choices = WORDS ("gpipe", "1f1b"),
              .doc = "gpipe computes all forward passes before the backward passes; 1f1b alternates one forward and "
                     "one backward pass, which keeps fewer activations" } },
  { .spec = { LOOM_PARAM ("bucket_mb", FLOAT, "25"), LOOM_RANGE (0, 1e6),
              .doc = "The size in megabytes of the buckets in which gradients are exchanged; 0: each tensor alone" } },
  { .spec
    = { LOOM_PARAM ("reduce_dtype", ENUM, "f32"), .choices = WORDS ("f32", "bf16"),
        .doc = "The type in which f32 gradients are exchanged: bf16 halves the bytes and rounds the gradients of each "
               "rank; f64 gradients stay f64" } },
  { .spec = { LOOM_PARAM ("sync_batch_norm", BOOL, "false"),
              .doc = "If true, batch norms compute statistics over the whole batch instead of each rank's part" } },
  { { NULL } },
};

/* Ranges of lr and weight_decay are those of the optimiser. */
static const LoomAttribute of_group[] = {
  { .spec = { LOOM_PARAM ("match", STRING, NULL),
              .doc = "Paths of weights: * matches any characters except a point, ** any characters, ? one. A weight "
                     "belongs to the first group that matches it." },
    .refers = LOOM_REFERS_WEIGHTS },
  { .spec = { LOOM_PARAM ("lr", FLOAT, ""), .doc = "The learning rate of these weights" } },
  { .spec = { LOOM_PARAM ("weight_decay", FLOAT, ""), .doc = "The weight decay of these weights" } },
  { .spec = { LOOM_PARAM ("adamw", BOOL, ""),
              .doc = "With the optimizer muon: if true, these matrices take AdamW’s step, too" } },
  { .spec = { LOOM_PARAM ("frozen", BOOL, "false"),
              .doc = "If true, these weights are not trained, and no gradient is computed for them." } },
  { { NULL } },
};

static const LoomAttribute of_metric[] = {
  { .spec = { LOOM_PARAM ("type", STRING, NULL), .doc = "The metric to compute" },
    .names = metric_names,
    .refers = LOOM_REFERS_METRIC },
  { .spec = { LOOM_PARAM ("input", STRING, NULL), .doc = "The prediction." }, .refers = LOOM_REFERS_PORT },
  { .spec = { LOOM_PARAM ("target", STRING, NULL), .doc = "The target." }, .refers = LOOM_REFERS_PORT },
  { .spec = { LOOM_PARAM ("name", STRING, ""), .doc = "The name in charts and files" } },
  { .spec = { LOOM_PARAM ("k", INT, "5"), LOOM_RANGE (1, 1e9),
              .doc = "The number of largest logits among which the right class must be." },
    .takes = LOOM_METRIC_K },
  /* In the order of LoomAverage. */
  { .spec = { LOOM_PARAM ("average", ENUM, "macro"), .choices = WORDS ("macro", "micro", "binary"),
              .doc = "macro averages over classes, micro over all samples; binary is class 1 of two." },
    .takes = LOOM_METRIC_AVERAGE },
  { .spec = { LOOM_PARAM ("threshold", FLOAT, "0.5"), LOOM_RANGE (-1e30, 1e30),
              .doc = "A single logit above this predicts the class 1." },
    .takes = LOOM_METRIC_THRESHOLD },
  { { NULL } },
};

/* The other attributes of <graph> identify the file; no edit sets them. */
static const LoomAttribute of_graph[] = {
  { .spec = { LOOM_PARAM ("strict_devices", BOOL, "false"),
              .doc = "If true, a wire between nodes on two devices is an error, as in PyTorch, instead of a copy" } },
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
