/* Dividing a program among ranks: one program for the whole batch becomes each rank's part of it.
 *
 * Every value is whole (each rank has all of it), split (each rank has a part along one axis), or pending (each rank
 * has a summand, and the value is their sum). What begins as split is a choice: inputs along their first axis, so that
 * each rank has some of the samples (data parallel), or weights along one of theirs, so that each rank has some of the
 * features (Shoeybi et al. 2019, arXiv:1909.08053). Ranks that do both lie in a mesh, and a program is divided twice:
 * first by weights, then, exchanges included, by samples. A primitive's `share` says in which form it takes its
 * operands and what its results then are; one without it takes whole operands. Where a value is wanted in another form
 * than it has, a collective or a slice stands between. So counts, means and losses are those of the whole batch,
 * whatever is divided how.
 *
 * What the update keeps and makes may be divided, too (ZeRO; Rajbhandari et al. 2020, arXiv:1910.02054): each rank then
 * has a range of the elements of every tensor, and updates that. */
#pragma once

#include "engine/program/loom-program.h"
#include "kernels/comm.h"

G_BEGIN_DECLS

/* What each rank has a part of; each includes those before it. */
typedef enum
{
  LOOM_SHARDS_NONE,
  LOOM_SHARDS_OPTIMIZER,  /* states of the optimiser, and averages of weights (ZeRO-1) */
  LOOM_SHARDS_GRADIENTS,  /* exchanged as they are made, each rank keeping its part of the sums (ZeRO-2) */
  LOOM_SHARDS_PARAMETERS, /* gathered where they are needed (ZeRO-3) */
} LoomShards;

/* A weight of which each rank has a part of one axis, which is a multiple of blocks · ranks: a part of each of so many
 * blocks that lie in it one behind the other, as those for queries, keys and values do. */
typedef struct
{
  char *weight;
  int axis;
  gint64 size; /* of that axis, whole */
  gint64 blocks;
} LoomSplitWeight;

#define LOOM_PARTITION_TOLD "own"

typedef struct
{
  LoomMeshAxis along; /* LOOM_MESH_DATA: samples are divided, LOOM_MESH_TENSOR: weights */
  gint64 samples; /* of the whole batch; where there are fewer than ranks, each rank computes all of it */
  int rank, ranks;               /* along that axis */
  const LoomSplitWeight *splits; /* of weights that are divided; the states of their optimiser are so, too */
  guint n_splits;
  LoomShards shards;
  gsize bucket;             /* bytes of gradients that are exchanged in one call; 0: each alone */
  gboolean bf16;            /* gradients of f32 travel as bf16; their sums are made in f32 and rounded once */
  gboolean sync_batch_norm; /* statistics of batch norms are those of the whole batch; else of the rank's samples */
  const char *told;         /* an output: what it would be if the whole batch were as the rank's own samples are is the
                             * last output, LOOM_PARTITION_TOLD, where ranks have samples of their own; NULL: none */
} LoomPartition;

/* The part of one rank. Slots and outputs keep their indices, and are whole on every rank but for slots of which it has
 * a part (LoomSlot.part, LoomSlot.is_shard), and for sums of gradients over several batches, of which each rank has a
 * summand where the gradients are not divided. Inputs whose first axis is the samples are a part of it. Scalars and
 * shapes that every rank has are as before, so all ranks run the same instructions in the same order. */
LoomProgram *loom_program_partition (const LoomProgram *p, const LoomPartition *partition);

/* All parts in one program, each on one of these devices (two or more, NULL-terminated) and what they exchange computed
 * on the first one, which has the slots, the inputs whole, and the update: torch.nn.DataParallel. Batch norms see the
 * samples of their device. NULL where more is exchanged than sums and their like. */
LoomProgram *loom_program_replicate (const LoomProgram *p, gint64 samples, const char *const *devices);

G_END_DECLS
