/* <train> as a struct: checked, with defaults. */
#pragma once

#include "engine/recipe/loom-metric.h"
#include "engine/net/loom-net.h"
#include "engine/recipe/loom-schedule.h"
#include "engine/program/loom-optimizer.h"
#include "engine/program/loom-partition.h"
#include "engine/program/loom-pipeline.h"

G_BEGIN_DECLS

typedef struct
{
  const LoomMetric *metric;
  LoomMetricOptions options;
  LoomNetSource input, target;
  char *name; /* as in events: the type, if the file sets no name */
} LoomMetricSpec;

/* <group>: parameters by their paths. */
typedef struct
{
  char *match;  /* `*`, `**` and `?`; what stands below a match matches, too */
  char *prefix; /* "group1.", of its scalar slots */
  gboolean frozen;
  guint64 own;   /* bit k: hyper[k] is its own */
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
  char *slot; /* the scalar that it is */
  LoomScheduledKind kind;
  double start, end, k;
  gint64 steps; /* of a linear one; 0: all of the run */
} LoomScheduled;

/* After `steps` steps of a run. */
double loom_scheduled_at (const LoomScheduled *scheduled, gint64 step, gint64 total_steps);

/* The treatment of an incomplete last batch of an epoch. */
typedef enum
{
  LOOM_DROP_LAST_AUTO, /* kept, unless it has one sample and a norm learns nothing from one */
  LOOM_DROP_LAST_TRUE,
  LOOM_DROP_LAST_FALSE
} LoomDropLast;

/* A weight that ranks have shards of, and the element that requests it. */
typedef struct
{
  LoomSplitWeight split; /* its weight is owned */
  const char *node, *how;
  gint64 units;     /* each rank has equally many of them */
  const char *what; /* the name of the units, in the plural */
} LoomTrainSplit;

/* <parallel>: how a step is divided among ranks. */
typedef struct
{
  LoomShards shards;        /* the parts of the update that are divided, too: strategies zero1, zero2, zero3 */
  gint64 data;              /* ranks that have shards of a batch; 0: all */
  gint64 tensor;            /* ranks that have shards of weights; 0: not set */
  GPtrArray *splits;        /* LoomTrainSplit: of these weights */
  double bucket_mb;         /* millions of bytes of gradients that are exchanged in one call */
  gboolean reduce_bf16;     /* gradients travel as bf16 */
  gboolean sync_batch_norm; /* statistics of batch norms over all ranks */
  int pipeline;             /* stages; 0 or 1: none */
  int microbatches;         /* micro-batches of a step; 0: four per stage */
  LoomPipelineKind schedule;
  LoomStages *stages; /* the stage of each node; NULL until loom_stages_choose() */
  gboolean server;    /* rank 0 has weights and states of the optimiser, the others push gradients to it */
  gint64 staleness;   /* steps that a rank may be ahead of the slowest one then */
} LoomParallel;

/* The least number of ranks for <parallel>: all of them if it sets the number of replicas, else those of one replica,
 * plus a parameter server. 1: no requirement. */
gint64 loom_parallel_least (const LoomParallel *parallel);

typedef struct
{
  LoomNetSource loss;
  const LoomOptimizer *optimizer;
  double *hyper; /* optimizer->hyper order */
  gint64 epochs, batch_size;
  guint64 seed;
  char *device;        /* "cpu" */
  LoomDType precision; /* of products in a training step: F32, BF16 or F16 */
  gboolean offload;    /* optimiser states are in host memory, where the update is computed, too */
  gboolean tf32;       /* f32 products in TF32 if the device has it (PyTorch's allow_tf32); off by default */
  gboolean direct;     /* algorithm="direct": convolutions not by Winograd's algorithm */
  gboolean keep_all;   /* recompute="…" is ignored, for comparison with its saving. Never read from a file */
  gboolean gathers;    /* gradients of one batch are accumulated as those of several are. Never read from a file */
  double clip_norm, clip_value; /* 0: none */
  double lr_scale;              /* batch_size / lr_batch_size: in hyper already */
  LoomSchedule schedule;
  GPtrArray *groups;  /* LoomTrainGroup */
  GPtrArray *metrics; /* LoomMetricSpec */
  GPtrArray *scheduled; /* LoomScheduled */
  gboolean stateful;    /* a layer continues from the state of the batch before: a text is read in order, in batch_size
                           streams */
  int dataset_node;   /* the dataset whose samples make an epoch; -1: the loss depends on none, an epoch is one step */
  gint64 accumulate;  /* batches whose gradients make a step: 1 or more */
  LoomDropLast drop_last;
  char *sample_weights; /* as loom_sample_weights() takes it; NULL: every sample once an epoch */
  double ema;         /* decay of the weights' moving average; 0: none */
  gboolean keep_best; /* the weights of the best epoch are kept in addition to the last ones */
  gint64 patience;    /* epochs without a better one after which it ends; 0: never */
  double min_delta;   /* the least improvement that counts */
  gint64 folds, fold; /* the fold of the training samples, from 1, that validates; folds 0: no cross-validation */
  int monitor;        /* the metric that compares epochs; -1: the loss */
  LoomParallel parallel;
  char *weights;      /* a file to begin from; NULL: none. Relative to the graph's folder */
  char *match;        /* patterns of the weights that are taken from it, with commas; NULL: all */
} LoomTrainSpec;

/* The words of `--strategy`, ending with NULL: those of <parallel>'s attribute, in the order of LoomShards and
 * `server`, then "tensor" for ranks that have parts of weights and "pipeline", "gpipe" and "1f1b" for
 * stages, as many as there are ranks. */
const char *const *loom_strategies (void);
/* "data, zero1 … or 1f1b"; never freed. */
const char *loom_strategies_text (void);
/* Writes one of them into <train>'s <parallel>, which is added if missing: set is called for each attribute that
 * changes; value NULL: it is removed. */
typedef void (*LoomStrategySet) (LoomElement *parallel, const char *name, const char *value, gpointer data);
void loom_strategy_apply (LoomGraph *graph, LoomElement *train, const char *word, int ranks, LoomStrategySet set,
                          gpointer data);

/* Faults name <train>'s line and attribute. NULL if there are errors, no <train>, or one that names weights
 * and no loss, which is no fault: there is nothing to train yet. */
LoomTrainSpec *loom_train_spec_new (const LoomGraph *graph, const LoomNet *net, LoomFaults *faults);
void loom_train_spec_free (LoomTrainSpec *spec);
/* The positions of n ranks along the axes of a mesh. USAGE: too few or too many for the graph. SHAPE: a weight has
 * no equal shards for them. */
gboolean loom_train_spec_mesh (const LoomTrainSpec *spec, int ranks, int size[LOOM_MESH_AXES], GError **error);
/* The first group that a weight's path matches, counted from 1; 0 where none does. */
guint loom_train_spec_group_of (const LoomTrainSpec *spec, const char *path);
/* TRUE if this weight is to be taken from the file that training begins from. */
gboolean loom_train_spec_takes (const LoomTrainSpec *spec, const char *path);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomTrainSpec, loom_train_spec_free)

/* The number of latest steps over which training loss and metrics are averaged: a tenth of an epoch, 1 to 50. A mean
 * over the whole epoch would contain steps with much older weights. At the end of an epoch it is exactly this number;
 * earlier it may be fewer. */
gint64 loom_train_recent_steps (gint64 steps_per_epoch);

/* The meaning of an output's numbers: that of a loss on the port, else logits if a metric takes the largest of them,
 * else that of their own operator. spec may be NULL. */
LoomOutputKind loom_train_output_kind (const LoomTrainSpec *spec, const LoomNet *net, const LoomNetSource *output);

G_END_DECLS
