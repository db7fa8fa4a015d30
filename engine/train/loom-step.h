/* The program of one step: what training, evaluation, benchmarks and the listings share.
 *
 * A graph with a <train> becomes, for one batch size, a net with every symbol bound and a program: forward, metrics,
 * and for training also backward and update. Training at another batch size is another step over the same state. */
#pragma once

#include "engine/plan/loom-mesh.h"
#include "engine/recipe/loom-train-spec.h"

G_BEGIN_DECLS

typedef struct
{
  LoomNet *net;
  LoomProgram *program;
  LoomProgram *update; /* where the spec accumulates, what ends a step: updates from what was gathered; else NULL */
  gint64 batch;
  gboolean reports_own; /* loom_step_divide() adds LOOM_PARTITION_LOCAL, this rank's own loss, where it has one */
  guint n_terms;        /* of the loss, where batches are put together by what each of them counts; 0: by samples */
  gboolean *is_counted; /* of each term: it has a count, else it is a mean over samples */
  guint n_metrics;
  gint64 *metric_count; /* things that one batch sums, for each metric */
  guint *metric_size;   /* statistics that it gives */
} LoomStep;

/* Program outputs are "loss" (rank 0), "metric.NAME" for each of the spec's metrics (statistics of the batch), and for
 * training "finite" and "grad_norm". Training commits nothing that is not finite: parameters by the optimiser's own
 * rule, running statistics by a selection here. Where the spec accumulates, the program only gathers gradients (see
 * loom_emit_accumulate), and its random numbers differ by the slot LOOM_STEP_RNG. */
#define LOOM_STEP_RNG "accumulate_batch"
/* Outputs of term t of the loss (LoomStep.n_terms): LOOM_STEP_SUM "t" and, where it is counted, LOOM_STEP_COUNT "t". */
#define LOOM_STEP_SUM   "loss.sum."
#define LOOM_STEP_COUNT "loss.count."
LoomStep *
loom_step_new (const LoomGraph *graph, const LoomTrainSpec *spec, gint64 batch, gboolean training, GError **error);
void loom_step_free (LoomStep *step);
/* The number of micro-batches into which each of n replicas of a pipeline cuts its part of a batch. */
int loom_step_microbatches (const LoomTrainSpec *spec, gint64 batch, int replicas);
/* The step's programs become the part of one of several ranks, that of this place of a mesh. With a pipeline the spec
 * has its stages already (loom-stages.h), and the errors are those of loom_program_pipeline(). */
gboolean loom_step_divide (LoomStep *step, const LoomTrainSpec *spec, const LoomMesh *mesh, GError **error);
/* The path of a node that learns nothing from a batch of this size (a norm that would see one value a channel), for
 * which loom_step_new() refuses to train, unless the spec has no epochs. NULL: none. (transfer full) */
char *loom_step_lone (const LoomGraph *graph, const LoomTrainSpec *spec, gint64 batch);
/* An evaluation's program reads the moving averages of weights instead of the weights, where has() knows the average's
 * slot. */
void loom_step_use_averages (LoomProgram *p, gboolean (*has) (gpointer data, const char *slot), gpointer data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomStep, loom_step_free)

/* Appends gradients of `of` for every trainable parameter that the program reads, but for those of the spec's frozen
 * groups. seed is what the gradient of `of` itself is; 0: one. The arrays are of LoomValue and of int (slot indices),
 * in the order of slots; a gradient is 0 where nothing reaches. */
gboolean loom_step_parameter_gradients (LoomProgram *p, LoomValue of, LoomValue seed, const LoomTrainSpec *spec,
                                        GArray **slots, GArray **grads, GError **error);

G_END_DECLS
