/* Partitions a program among ranks: the program of the whole batch becomes each rank's program (program-partition.c,
 * partition-*.c). loom_program_replicate() puts these programs into one, for several devices of one process.
 *
 * Every value is replicated (whole: each rank has all of it), split (each rank has a part along one axis), or partial
 * (each rank has a summand, and the value is their sum). Inputs may be split along their first axis, so that each rank
 * has some of the samples (data parallel), or weights along one of theirs, so that each rank has some of the features
 * (Shoeybi et al. 2019, arXiv:1909.08053). With both, ranks form a mesh, and a program is partitioned twice: first by
 * weights, then, with the exchanges, by samples. A primitive's sharding rule (LoomPrim.sharding) chooses the shardings
 * of its operands and results; a primitive without one takes whole operands. A value that is needed in another sharding
 * gets a collective or a slice. So counts, means and losses are those of the whole batch, however values are
 * partitioned.
 *
 * The state and results of the update may be sharded too (ZeRO; Rajbhandari et al. 2020, arXiv:1910.02054): each rank
 * has a range of the elements of every tensor and updates only that. */
#pragma once

#include "engine/program/loom-program.h"
#include "kernels/comm.h"

G_BEGIN_DECLS

/* What is sharded; each includes those before it. */
typedef enum
{
  LOOM_SHARDS_NONE,
  LOOM_SHARDS_OPTIMIZER,  /* optimizer states and averages of weights (ZeRO-1) */
  LOOM_SHARDS_GRADIENTS,  /* gradients: exchanged as they are computed, each rank keeps its part of the sums (ZeRO-2) */
  LOOM_SHARDS_PARAMETERS, /* parameters: gathered where they are needed (ZeRO-3) */
} LoomShards;

/* A weight that is split along one axis, whose size is a multiple of blocks · ranks. The axis consists of consecutive
 * blocks (such as queries, keys and values), and each rank has a part of every block. */
typedef struct
{
  char *weight;
  int axis;
  gint64 size; /* of the whole axis */
  gint64 blocks;
} LoomSplitWeight;

#define LOOM_PARTITION_LOCAL "own"

typedef struct
{
  LoomMeshAxis along;            /* LOOM_MESH_DATA: samples are split, LOOM_MESH_TENSOR: weights */
  gint64 samples;                /* of the whole batch; if fewer than ranks, each rank computes all of them */
  int rank, ranks;               /* along that axis */
  const LoomSplitWeight *splits; /* of split weights; their optimizer states are split alike */
  guint n_splits;
  LoomShards shards;
  gsize bucket;             /* bytes of gradients in one exchange; 0: each gradient separately */
  gboolean bf16;            /* f32 gradients are sent as bf16; sums are computed in f32 and rounded once */
  gboolean sync_batch_norm; /* batch norms use statistics of the whole batch; else of the rank's samples */
  const char
      *local_output; /* an output of which each rank with its own samples also reports a local version, computed as if
                the whole batch were like the rank's samples: the last output, LOOM_PARTITION_LOCAL; NULL: none */
} LoomPartition;

/* The program of one rank. Slots and outputs keep their indices. They are whole on every rank, except slots that are
 * split or sharded (LoomSlot.part, LoomSlot.is_shard) and accumulated gradients, of which each rank has a summand if
 * gradients are not sharded. Inputs whose first axis is the samples are split. All ranks run the same instructions in
 * the same order. */
LoomProgram *loom_program_partition (const LoomProgram *p, const LoomPartition *partition);

/* Puts all parts into one program on these devices (two or more, NULL-terminated): torch.nn.DataParallel. The first
 * device has the slots, the whole inputs, the exchanges and the update. Batch norms use the samples of their device.
 * NULL if the program needs exchanges other than sums and the like. */
LoomProgram *loom_program_replicate (const LoomProgram *p, gint64 samples, const char *const *devices);

G_END_DECLS
