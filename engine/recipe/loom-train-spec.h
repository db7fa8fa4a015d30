/* <train> as a struct, checked and with defaults. */
#pragma once

#include "engine/recipe/loom-metric.h"
#include "engine/net/loom-net.h"
#include "engine/recipe/loom-schedule.h"
#include "engine/program/loom-optimizer.h"
#include "engine/program/loom-partition.h"
#include "engine/program/loom-pipeline.h"

typedef struct
{
  const LoomMetric *metric;
  LoomMetricOptions options;
  LoomNetSource input, target;
  char *name; /* in events: the type, if the file has no name */
} LoomMetricSpec;

/* <group>: parameters by their paths. */
typedef struct
{
  char *match;  /* `*`, `**` and `?`; everything below a match matches, too */
  char *prefix; /* "group1.", of its scalar slots */
  gboolean frozen;
  guint64 own;   /* bit k: the group sets hyper[k] */
  double *hyper; /* all, in the optimiser's order */
} LoomTrainGroup;

/* A node op="scheduled": a number that the trainer sets before each step. */
typedef enum
{
  LOOM_SCHEDULED_LINEAR,
  LOOM_SCHEDULED_EXPONENTIAL,
  LOOM_SCHEDULED_INVERSE_SIGMOID
} LoomScheduledKind;

typedef struct
{
  char *slot; /* the name of its scalar slot */
  LoomScheduledKind kind;
  double start, end, k;
  gint64 steps; /* of the linear schedule; 0: all steps of the run */
} LoomScheduled;

/* The value after `steps` steps of a run. */
double loom_scheduled_at (const LoomScheduled *scheduled, gint64 step, gint64 total_steps);

/* The treatment of an incomplete last batch of an epoch. */
typedef enum
{
  LOOM_DROP_LAST_AUTO, /* kept, unless it has one sample and a norm cannot be trained with one */
  LOOM_DROP_LAST_TRUE,
  LOOM_DROP_LAST_FALSE
} LoomDropLast;

/* A weight that is sharded over ranks, and the element that requests it. */
typedef struct
{
  LoomSplitWeight split; /* owns its weight's name */
  const char *node, *how;
  gint64 units;     /* units to divide, equally many per rank */
  const char *what; /* the name of the units, in the plural */
} LoomTrainSplit;

/* <parallel>: how a step is partitioned among ranks. */
typedef struct
{
  LoomShards shards;        /* zero1, zero2, zero3: what is sharded in addition to the batch */
  gint64 data;              /* number of ranks that the batch is divided among; 0: all */
  gint64 tensor;            /* number of ranks that weights are sharded over; 0: not set */
  GPtrArray *splits;        /* LoomTrainSplit: the sharded weights */
  double bucket_mb;         /* megabytes of gradients that are exchanged in one call */
  gboolean reduce_bf16;     /* gradients are exchanged as bf16 */
  gboolean sync_batch_norm; /* statistics of batch norms over all ranks */
  int pipeline;             /* stages; 0 or 1: none */
  int microbatches;         /* micro-batches of a step; 0: four per stage */
  LoomPipelineKind schedule;
  LoomStages *stages; /* the stage of each node; NULL until loom_stages_choose() */
  gboolean server;    /* rank 0 has the weights and optimiser states, the others push gradients to it */
  gint64 staleness;   /* of a server: number of steps that a rank may be ahead of the slowest */
} LoomParallel;

/* The minimum number of ranks for <parallel>: all of them if it sets the number of replicas, else those of one replica,
 * plus a parameter server. 1: no requirement. */
gint64 loom_parallel_least (const LoomParallel *parallel);

typedef struct
{
  LoomGraph *graph; /* with the <train> */
  LoomNet *net;     /* of the graph, from which those of each batch size are bound */
  LoomNetSource loss;
  const LoomOptimizer *optimizer;
  double *hyper; /* in the order of optimizer->hyper */
  gint64 epochs, batch_size;
  guint64 seed;
  char *device;        /* "cpu" */
  LoomDType precision; /* of products in a training step: F32, BF16 or F16 */
  gboolean offload;    /* optimiser states are in host memory, where the update is computed */
  gboolean tf32;       /* f32 products in TF32 if the device has it (PyTorch's allow_tf32); off by default */
  gboolean direct;     /* algorithm="direct": convolutions not by Winograd's algorithm */
  gboolean keep_all;   /* ignores recompute="…", to measure its saving. Never read from a file */
  gboolean gathers;    /* accumulates the gradients of a single batch as those of several. Never read from a file */
  double clip_norm, clip_value; /* 0: none */
  double lr_scale;              /* batch_size / lr_batch_size; hyper includes it */
  LoomSchedule schedule;
  GPtrArray *groups;    /* LoomTrainGroup */
  GHashTable *factors;  /* the names of the net's factors of LoRA; NULL: it has none */
  GPtrArray *metrics;   /* LoomMetricSpec */
  GPtrArray *scheduled; /* LoomScheduled */
  gboolean stateful; /* a layer continues from the state of the previous batch: a text is read in order, as batch_size
                        streams */
  int dataset_node;  /* the data set whose samples are an epoch; -1: none, an epoch is one step */
  gint64 accumulate; /* batches per step, whose gradients are accumulated: 1 or more */
  LoomDropLast drop_last;
  char *sample_weights; /* argument of loom_sample_weights(); NULL: every sample once per epoch */
  double ema;           /* decay of the weights' moving average; 0: none */
  gboolean keep_best;   /* keeps the weights of the best epoch in addition to the last ones */
  gint64 patience;      /* the run ends after this number of epochs without improvement; 0: never */
  double min_delta;     /* the smallest difference that is an improvement */
  gint64 folds,
      fold;    /* the fold of the training samples, from 1, that is used for validation; folds 0: no cross-validation */
  int monitor; /* the metric that compares epochs; -1: the loss */
  LoomParallel parallel;
  char *weights; /* a file with initial weights, relative to the graph's folder; NULL: none */
  char *match;   /* patterns of the weights that are loaded from it, separated by commas; NULL: all */
  char *adapter; /* a file with an adapter, loaded after the weights; NULL: none */
} LoomTrainSpec;

/* The words of `--strategy`, ending with NULL: those of the attribute of <parallel>, in the order of LoomShards and
 * `server`, then "tensor" for ranks with shards of weights, and "pipeline", "gpipe" and "1f1b" for as many stages as
 * ranks. */
const char *const *loom_strategies (void);
/* "data, zero1 … or 1f1b"; never freed. */
const char *loom_strategies_text (void);
/* Writes one of them into <train>'s <parallel>, which is added if missing: calls set for each attribute that changes;
 * value NULL: removed. */
typedef void (*LoomStrategySet) (LoomElement *parallel, const char *name, const char *value, gpointer data);
void loom_strategy_apply (LoomGraph *graph, LoomElement *train, const char *word, int ranks, LoomStrategySet set,
                          gpointer data);

/* Faults have <train>'s line and attribute. NULL if there are errors, no <train>, or one with weights but no loss,
 * which is no fault: it cannot be trained yet. */
LoomTrainSpec *loom_train_spec_new (const LoomGraph *graph, const LoomNet *net, LoomFaults *faults);
void loom_train_spec_free (LoomTrainSpec *spec);
/* Computes the positions of n ranks along the axes of a mesh. USAGE: too few or too many for the graph. SHAPE: a weight
 * has no equal shards for them. */
gboolean loom_train_spec_mesh (const LoomTrainSpec *spec, int ranks, int size[LOOM_MESH_AXES], GError **error);
/* TRUE if a pattern of <group> or match matches a path, or the path of something around it. */
gboolean loom_train_pattern_matches (const char *pattern, const char *path);
/* The number of the first group whose pattern matches a weight's path, from 1; 0: none. */
guint loom_train_spec_group_of (const LoomTrainSpec *spec, const char *path);
/* TRUE if the weight is a factor of LoRA. */
gboolean loom_train_spec_is_factor (const LoomTrainSpec *spec, const char *path);
/* TRUE if the weight is not trained: its group says so, or it is in no group and the net has factors of LoRA, which are
 * then trained in its place. */
gboolean loom_train_spec_freezes (const LoomTrainSpec *spec, const char *path);
/* TRUE if this weight is loaded from the file of initial weights. */
gboolean loom_train_spec_takes (const LoomTrainSpec *spec, const char *path);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomTrainSpec, loom_train_spec_free)

/* The number of latest steps over which training loss and metrics are averaged: a tenth of an epoch, 1 to 50. A mean
 * over the whole epoch would include steps with much older weights. At the end of an epoch it is exactly this number;
 * earlier it may be fewer. */
gint64 loom_train_recent_steps (gint64 steps_per_epoch);

/* The meaning of an output's numbers: determined by a loss that reads the port, else logits if a metric takes the
 * largest of them, else by its own operator. spec may be NULL. */
LoomOutputKind loom_train_output_kind (const LoomTrainSpec *spec, const LoomNet *net, const LoomNetSource *output);
