/* The sharding of a value over ranks (LoomSharding), and the declarations of the rules by which primitives choose
 * it. */
#pragma once

#include "engine/program/loom-partition.h"
#include "engine/program/prim-private.h"

typedef enum
{
  LOOM_SHARDING_REPLICATED,
  LOOM_SHARDING_SPLIT,   /* split: along `axis`, of samples or features, into parts of equal size */
  LOOM_SHARDING_PARTIAL, /* partial: the value is the sum over the ranks */
  LOOM_SHARDING_FLAT,    /* flat: a range of the elements of the tensor, as divided by loom_comm_shard() */
  /* minimum: the value is the minimum over the ranks; a flag that is 1 if it is 1 on all ranks */
  LOOM_SHARDING_MINIMUM,
  /* local: statistics of a rank's own samples; the whole is the mean over ranks weighted by samples */
  LOOM_SHARDING_LOCAL
} LoomShardingKind;

typedef struct
{
  LoomShardingKind kind;
  int axis;
  /* the axis consists of this many blocks, each of which is split (positions of a sequence, each with all samples); 0:
   * it is one block */
  gint64 blocks;
} LoomSharding;

static inline gboolean
loom_sharding_equal (LoomSharding a, LoomSharding b)
{
  return a.kind == b.kind
         && (a.kind != LOOM_SHARDING_SPLIT || (a.axis == b.axis && MAX (a.blocks, 1) == MAX (b.blocks, 1)));
}

/* The arguments of a sharding rule: an instruction of the original program. A rule sets `result` and may change `want`;
 * by default results are whole, and operands are wanted whole. */
struct _LoomShardingCall
{
  const void *attrs;
  guint n_in, n_out;
  const LoomTensorDesc *in, *out; /* an absent operand or unwanted result has dtype LOOM_N_DTYPES */
  const LoomSharding *have;       /* by operand: its sharding */
  const gboolean *is_zero;        /* by operand: it is a constant 0 */
  const gboolean *is_weight;      /* by operand: it is state, which should not be exchanged */
  /* of the whole batch; if weights are split, the number of ranks. An axis can be split if its size is a multiple of
   * it */
  gint64 samples;
  gboolean of_weights;     /* weights are split, and all ranks have the same samples */
  gboolean divides_update; /* the instruction is part of an update that is sharded */
  gboolean divides_norm;   /* the norm of gradients is summed by shards, even if the update is not sharded */
  gboolean keeps_sums;     /* each rank accumulates its own sums, which another program exchanges */
  LoomSharding *want;      /* by operand: the sharding in which the instruction reads it */
  LoomSharding *result;
};

/* ---- partition-rules.c: rules of families of primitives ----------------- */

void loom_shard_elementwise (LoomShardingCall *call, LoomScalarOp op);
void loom_shard_same (LoomShardingCall *call);    /* the result is operand 0 in another type, or detached */
void loom_shard_convert (LoomShardingCall *call); /* the same, also for flat shards */
/* Permutations of rows, and instructions that use them. The rules only mark them for partition-visit.c; by default
 * operands are whole. */
void loom_shard_order (LoomShardingCall *call);
void loom_shard_visit (LoomShardingCall *call);
void loom_shard_reduce (LoomShardingCall *call);
void loom_shard_argreduce (LoomShardingCall *call);
void loom_shard_matmul (LoomShardingCall *call);
void loom_shard_conv (LoomShardingCall *call);
void loom_shard_conv_weight_grad (LoomShardingCall *call);
void loom_shard_samples (
    LoomShardingCall *call); /* operands and results with samples on the first axis, split like the first operand */
void loom_shard_softmax (LoomShardingCall *call);
void loom_shard_cross_entropy (LoomShardingCall *call);
void loom_shard_batch_norm (LoomShardingCall *call);
void loom_shard_batch_norm_grad (LoomShardingCall *call);
void loom_shard_batch_norm_apply (LoomShardingCall *call);
void loom_shard_layer_norm (LoomShardingCall *call);
void loom_shard_layer_norm_grad (LoomShardingCall *call);
void loom_shard_gather_rows (LoomShardingCall *call);
void loom_shard_scatter_add_rows (LoomShardingCall *call);
void loom_shard_permute (LoomShardingCall *call);
void loom_shard_reshape (LoomShardingCall *call);
void loom_shard_expand (LoomShardingCall *call);
void loom_shard_slice (LoomShardingCall *call);
void loom_shard_pad (LoomShardingCall *call);
void loom_shard_concat (LoomShardingCall *call);
void loom_shard_cumsum (LoomShardingCall *call);
void loom_shard_gather (LoomShardingCall *call);
void loom_shard_scatter (LoomShardingCall *call);

/* ---- partition-update.c: rules of the update ---------------------------- */

void loom_shard_grad_stats (LoomShardingCall *call);
void loom_shard_step (LoomShardingCall *call);
/* for LoomStepAttrs, some of whose steps need norms of whole tensors */
void loom_shard_step_by_kind (LoomShardingCall *call);
/* TRUE for the step of an optimizer, of either kind. */
gboolean loom_sharding_is_step (const LoomPrim *prim);
/* Chooses the shardings of element-wise instructions on shards or accumulated sums; FALSE if it is none. */
gboolean loom_shard_update (LoomShardingCall *call, LoomScalarOp op, gboolean passes_sums);
