/* Partitions a program among pipeline stages: the program of the whole batch becomes the program of each rank, which
 * computes the nodes of its stage for one micro-batch after another.
 *
 * Values are split into micro-batches as loom-partition.h splits them among ranks: each is whole, split along its
 * samples, or the sum of the micro-batches' summands. So counts, means and losses are those of the whole batch, and a
 * weight's gradient is the sum over micro-batches in order, for every schedule. A value for another stage is sent as
 * soon as it is computed and received just before it is needed. A weight that nodes of several stages read belongs to
 * the first of them, which sends it to the others and sums its gradients.
 *
 * The calls of all ranks follow one global order, that of the schedule's time slots, so they cannot deadlock. If a send
 * waits for its receive, as in NCCL, stages exchange after each time slot in the same order on both sides. */
#pragma once

#include "engine/program/loom-program.h"

/* ---- schedules ------------------------------------------------------------- */

typedef enum
{
  LOOM_PIPELINE_GPIPE, /* all forward passes, then all backward passes (Huang et al. 2019, arXiv:1811.06965) */
  LOOM_PIPELINE_1F1B   /* alternates forward and backward passes as soon as possible (PipeDream-flush; Narayanan et al.
                          2021, arXiv:2104.04473, section 2.2) */
} LoomPipelineKind;

/* One pass of a micro-batch through a stage. */
typedef struct
{
  int slot; /* its time slot, if every pass takes one slot */
  int stage, micro;
  gboolean backward;
} LoomPipelineEvent;

/* The passes of a step, by slot, then by stage: an array of LoomPipelineEvent. (transfer full) Without training only
 * forward passes. */
GArray *loom_pipeline_schedule (LoomPipelineKind kind, int stages, int micros, gboolean training);
/* The fraction of slots in which a stage is idle, counted: (K-1)/(M+K-1) for K stages and M micro-batches (Huang et al.
 * 2019, section 2.3). */
double loom_pipeline_bubble (const GArray *schedule, int stages);
/* The maximum number of micro-batches whose activations a stage keeps at once. */
int loom_pipeline_in_flight (const GArray *schedule, int stage);

/* ---- stages ------------------------------------------------------------------ */

/* The assignment of nodes and slots to stages. */
typedef struct
{
  int n;
  /* path → GINT_TO_POINTER (stage + 1); a node without an entry belongs to the stage of the nodes before it */
  GHashTable *node;
  GHashTable *slot; /* name → the same; filled from the first program, valid for all others */
  gboolean meet;    /* a send waits for its receive, so stages exchange after each slot */
} LoomStages;

LoomStages *loom_stages_new (int n);
void loom_stages_free (LoomStages *stages);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomStages, loom_stages_free)
/* Assigns a node to a stage. path is copied. */
void loom_stages_set (LoomStages *stages, const char *path, int stage);
int loom_stages_get (const LoomStages *stages, const char *path); /* -1: the node has no entry */

/* Assigns slots to stages from the unpartitioned program, so that all ranks of a stage agree: after partitioning, ranks
 * may read different slots. Errors: see loom_program_pipeline(). */
gboolean loom_stages_assign_slots (LoomStages *stages, const LoomProgram *p, GError **error);

typedef struct
{
  gint64 samples; /* of the batch, or of a replica's part of the batch */
  int micros;     /* number of micro-batches, at most the number of samples */
  int stage;      /* of this rank: its coordinate along LOOM_MESH_PIPELINE */
  LoomPipelineKind kind;
  LoomStages *stages;
} LoomPipeline;

/* Makes the program of one stage. p may be partitioned already (loom-partition.h): then replicas of a stage exchange
 * once in a step, for all micro-batches together, and ranks with parts of weights exchange per-sample values once for
 * each micro-batch. Slots, inputs and outputs keep their indices; inputs are whole batches, and outputs are whole on
 * every rank. Errors, the same on all ranks: SHAPE if a node reads a result of a later stage, if a node needs all
 * micro-batches of a value that the pipeline is still computing, or if a part of the update belongs to no stage. */
LoomProgram *loom_program_pipeline (const LoomProgram *p, const LoomPipeline *options, GError **error);
