/* Partitions a program among ranks: the program of the whole batch becomes each rank's program (program-partition.c,
 * partition-*.c). loom_program_replicate() puts these programs into one, for several devices of one process.
 *
 * Every value is whole (replicated: each rank has all of it), split (each rank has a part along one axis), or partial
 * (each rank has a summand, and the value is their sum). Inputs may be split along their first axis, so that each rank
 * has some of the samples (data parallelism). Weights may be split along one of theirs, so that each rank has some of
 * the features (tensor parallelism; Shoeybi et al. 2019, arXiv:1909.08053). With both, ranks form a mesh, and a program
 * is partitioned twice: first by weights, then, including the exchanges, by samples. A value that is needed in another
 * sharding is converted by a collective or a slice. So counts, means and losses are those of the whole batch.
 *
 * The state and results of the update may be sharded too (ZeRO; Rajbhandari et al. 2020, arXiv:1910.02054). */
#pragma once

#include "engine/program/loom-prim.h"
#include "kernels/comm.h"

/* What is sharded; each level includes those before it. */
typedef enum
{
  LOOM_SHARDS_NONE,
  LOOM_SHARDS_OPTIMIZER,  /* optimizer states and averages of weights (ZeRO-1) */
  LOOM_SHARDS_GRADIENTS,  /* gradients: exchanged as they are computed, each rank keeps its part of the sums (ZeRO-2) */
  LOOM_SHARDS_PARAMETERS, /* parameters: gathered before each use (ZeRO-3) */
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
  int rank, ranks;               /* of this rank along that axis */
  const LoomSplitWeight *splits; /* the split weights; their optimizer states are split in the same way */
  guint n_splits;
  LoomShards shards;
  gsize bucket;             /* bytes of gradients that are exchanged in one call; 0: each gradient separately */
  gboolean bf16;            /* f32 gradients are sent as bf16; sums are computed in f32 and rounded once */
  gboolean sync_batch_norm; /* batch norms use statistics of the whole batch; otherwise of the rank's samples */
  /* An output that each rank with its own samples also reports as a local version: its value if the whole batch
   * were like the rank's samples. It is the last output, LOOM_PARTITION_LOCAL. NULL: none. */
  const char *local_output;
} LoomPartition;

/* The program of one rank. Slots and outputs keep their indices. They are whole on every rank, except slots that are
 * split or sharded (LoomSlot.part, LoomSlot.is_shard) and accumulated gradients, of which each rank has a summand if
 * gradients are not sharded. Inputs whose first axis is the samples are split. All ranks run the same instructions in
 * the same order. */
LoomProgram *loom_program_partition (const LoomProgram *p, const LoomPartition *partition);

/* Puts the programs of all parts into one program for these devices (two or more, NULL-terminated):
 * torch.nn.DataParallel. The first device has the slots, the whole inputs, the exchanges and the update. Batch norms
 * use the samples of their device. NULL if the program needs exchanges other than reductions. */
LoomProgram *loom_program_replicate (const LoomProgram *p, gint64 samples, const char *const *devices);

/* The body of a scan for one of several equal parts of its samples, all of which it computes without the other parts.
 * NULL if it mixes samples, draws random numbers, or has no samples that can be divided so. is_split: receives by
 * operand, then by result, whether a part has only its samples, which are the first axis of a row or of a value that is
 * the same for all rows. */
LoomProgram *loom_program_part_of_scan (const LoomScanAttrs *scan, int part, int parts, gboolean *is_split);
