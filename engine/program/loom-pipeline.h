/* Dividing a program among the stages of a pipeline: one program for the whole batch becomes the program of each rank,
 * which computes the nodes of its stage alone, for one micro-batch after the other.
 *
 * Values are divided among micro-batches as loom-partition.h divides them among ranks: each is whole, split along its
 * samples, or the sum of what micro-batches have. So counts, means and losses are those of the whole batch, and a
 * weight's gradient is the sum over micro-batches in their order, whatever the schedule is. What a stage needs of
 * another one is sent as soon as it is made and received just before it is needed; what depends on the data alone each
 * stage computes for itself. A weight that nodes of several stages read belongs to the first of them, which sends it to
 * the others and adds up its gradients. Each rank has the slots of its stage alone (LoomSlot.is_placed).
 *
 * Every rank's order of calls is a part of one order in time, that of the schedule's slots: so no rank waits for
 * another one that waits for it. Where sends never wait (kernels/comm.h) a stage takes what it is sent when it needs
 * it. Where a send waits for its receive, as NCCL's do, stages meet behind each slot: what it made is sent and received
 * in the same order on both sides, a pass before it is needed as a rule. */
#pragma once

#include "engine/program/loom-program.h"

G_BEGIN_DECLS

/* ---- schedules ------------------------------------------------------------- */

typedef enum
{
  LOOM_PIPELINE_GPIPE, /* all forward passes, then all backward passes (Huang et al. 2019, arXiv:1811.06965) */
  LOOM_PIPELINE_1F1B   /* one of each in turn, as soon as there is one (PipeDream-flush; Narayanan et al. 2021,
                          arXiv:2104.04473, section 2.2) */
} LoomPipelineKind;

/* One pass of a micro-batch through a stage. */
typedef struct
{
  int slot; /* in which it runs where each pass takes one, in either direction */
  int stage, micro;
  gboolean backward;
} LoomPipelineEvent;

/* All of a step, by slot and then by stage, in (transfer full) an array of LoomPipelineEvent. Without training there
 * are forward passes alone. */
GArray *loom_pipeline_schedule (LoomPipelineKind kind, int stages, int micros, gboolean training);
/* The share of slots in which a stage has nothing to do, counted: (K-1)/(M+K-1) for K stages and M micro-batches
 * (Huang et al. 2019, section 2.3). */
double loom_pipeline_bubble (const GArray *schedule, int stages);
/* The most micro-batches of which a stage keeps what its backward pass needs. */
int loom_pipeline_in_flight (const GArray *schedule, int stage);

/* ---- stages ------------------------------------------------------------------ */

/* Who computes what. */
typedef struct
{
  int n;
  GHashTable *node; /* path → GINT_TO_POINTER (stage + 1); nodes without a line belong to those that they follow */
  GHashTable *slot; /* name → likewise: filled by the first program that is asked, and the same for all others */
  gboolean meet;    /* a send waits for its receive: stages exchange behind each slot */
} LoomStages;

LoomStages *loom_stages_new (int n);
void loom_stages_free (LoomStages *stages);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomStages, loom_stages_free)
/* path is copied. */
void loom_stages_set (LoomStages *stages, const char *path, int stage);
int loom_stages_get (const LoomStages *stages, const char *path); /* -1: it has none */

/* Decides which stage has which slots, of a program that is not divided among ranks, so that all ranks of a stage think
 * alike: each may read others of them once parts are divided further. Errors are those of loom_program_pipeline(). */
gboolean loom_stages_own (LoomStages *stages, const LoomProgram *p, GError **error);

typedef struct
{
  gint64 samples; /* of the batch, or of a replica's part of it */
  int micros;     /* micro-batches; no more are made than there are samples */
  int stage;      /* of this rank; its number is that of the rank along LOOM_MESH_PIPELINE */
  LoomPipelineKind kind;
  LoomStages *stages;
} LoomPipeline;

/* The program of one stage, of a program that may be one rank's part of the whole already (loom-partition.h): what
 * replicas of a stage exchange they exchange once in a step, of all micro-batches together, and what ranks with parts
 * of weights do for each sample, once for each micro-batch. Slots, inputs and outputs keep their indices; inputs are
 * whole batches, and outputs whole on every rank. Errors, the same on all ranks: SHAPE where a node reads what a later
 * stage makes, where one needs all micro-batches of what the pipeline is still computing, or where what an optimiser
 * does belongs to no stage. */
LoomProgram *loom_program_pipeline (const LoomProgram *p, const LoomPipeline *options, GError **error);

G_END_DECLS
