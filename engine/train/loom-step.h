/* The program of one step: shared by training, evaluation, benchmarks and listings.
 *
 * A graph with a <train> becomes, for one batch size, a net with every symbol bound and a program: forward, metrics,
 * and for training also backward and update. Training at another batch size is another step over the same state. */
#pragma once

#include "engine/plan/loom-mesh.h"
#include "engine/recipe/loom-train-spec.h"

typedef struct
{
  LoomNet *net;
  LoomProgram *program;
  LoomProgram *update; /* if the spec accumulates: the update from the accumulated gradients; else NULL */
  gint64 batch;
  gboolean reports_own; /* loom_step_divide() adds LOOM_PARTITION_LOCAL, this rank's own loss, if it has one */
  guint n_terms;        /* of the loss, if batches are combined by the counts of the terms; 0: by samples */
  gboolean *is_counted; /* of each term: it has a count, else it is a mean over samples */
  guint n_metrics;
  gint64 *metric_count; /* for each metric, the number of elements in the sum of one batch */
  guint *metric_size;   /* number of its statistics */
} LoomStep;

/* Builds the step of the graph from which the spec was read; an error if it has changed since. Program outputs are
 * "loss" (rank 0), "metric.NAME" for each of the spec's metrics (statistics of the batch), and for training "finite"
 * and "grad_norm". Training commits no values that are not finite: parameters by the optimiser's own rule, running
 * statistics by a selection here. If the spec accumulates, the program only accumulates gradients (see
 * loom_emit_accumulate), and its random numbers differ by the slot LOOM_STEP_RNG. */
#define LOOM_STEP_RNG "accumulate_batch"
/* Outputs of term t of the loss (LoomStep.n_terms): LOOM_STEP_SUM "t" and, if it is counted, LOOM_STEP_COUNT "t". */
#define LOOM_STEP_SUM   "loss.sum."
#define LOOM_STEP_COUNT "loss.count."
LoomStep *loom_step_new (const LoomTrainSpec *spec, gint64 batch, gboolean training, GError **error);
void loom_step_free (LoomStep *step);
/* The number of micro-batches into which each of n replicas of a pipeline divides its shard of a batch. */
int loom_step_microbatches (const LoomTrainSpec *spec, gint64 batch, int replicas);
/* Partitions the step's programs for the rank at this position of a mesh. With a pipeline the spec must have its stages
 * (loom-stages.h), and errors are those of loom_program_pipeline(). */
gboolean loom_step_divide (LoomStep *step, const LoomTrainSpec *spec, const LoomMesh *mesh, GError **error);
/* The path of a node that cannot be trained with a batch of this size (a norm with one value per channel), for which
 * loom_step_new() refuses to train, unless the spec has no epochs. NULL: none, or the graph has changed. (transfer full) */
char *loom_step_lone (const LoomTrainSpec *spec, gint64 batch);
/* Makes an evaluation's program read the moving averages of weights instead of the weights, if has() knows the
 * average's slot. */
void loom_step_use_averages (LoomProgram *p, gboolean (*has) (gpointer data, const char *slot), gpointer data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomStep, loom_step_free)

/* Appends gradients of `of` for every trainable parameter that the program reads, except those of the spec's frozen
 * groups. seed is the gradient of `of` itself; 0: one. The arrays are of LoomValue and of int (slot indices), in the
 * order of slots; a gradient is 0 if no path reaches the parameter. */
gboolean loom_step_parameter_gradients (LoomProgram *p, LoomValue of, LoomValue seed, const LoomTrainSpec *spec,
                                        GArray **slots, GArray **grads, GError **error);

/* TRUE for a parameter that the program reads and that the optimizer changes: it is not frozen. */
gboolean loom_step_trains (const LoomProgram *p, int slot, const LoomTrainSpec *spec);
/* Emits the optimizer's step over n parameters, then the weights' moving averages. A gradient of 0 is none. */
gboolean loom_step_emit_update (LoomProgram *p, const LoomTrainSpec *spec, LoomValue loss, guint n, const int *slot,
                                const LoomValue *grad, GError **error);
