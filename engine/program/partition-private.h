/* The sharding of a value over ranks (LoomShare), and the rules by which primitives choose it. */
#pragma once

#include "engine/program/loom-partition.h"
#include "engine/program/prim-private.h"

G_BEGIN_DECLS

typedef enum
{
  LOOM_SHARE_WHOLE,
  LOOM_SHARE_SPLIT,   /* along `axis`, of samples or features, each with the same number of elements */
  LOOM_SHARE_PENDING, /* partial: the value is the sum over the ranks */
  LOOM_SHARE_SHARD,   /* flat: a range of the elements of the tensor, as divided by loom_comm_part() */
  LOOM_SHARE_LEAST,   /* the value is the minimum over the ranks: 1 if all have 1 */
  LOOM_SHARE_LOCAL    /* statistics of a rank's own samples; elsewhere the mean over ranks weighted by samples */
} LoomShareKind;

typedef struct
{
  LoomShareKind kind;
  int axis;
  gint64 blocks; /* the axis consists of this many blocks, each of which is split (positions of a text, each with all
                    samples); 0: one */
} LoomShare;

static inline gboolean
loom_share_equal (LoomShare a, LoomShare b)
{
  return a.kind == b.kind
         && (a.kind != LOOM_SHARE_SPLIT || (a.axis == b.axis && MAX (a.blocks, 1) == MAX (b.blocks, 1)));
}

/* An instruction of the original program. A rule may change `want` and sets `result`; by default results are whole and
 * operands wanted whole. */
struct _LoomShareCall
{
  const void *attrs;
  guint n_in, n_out;
  const LoomTensorDesc *in, *out; /* an absent operand or unwanted result has dtype LOOM_N_DTYPES */
  const LoomShare *have;          /* of the operands */
  const gboolean *is_zero;        /* by operand: it is a constant 0 */
  const gboolean *is_weight;      /* by operand: it is state, which should not be exchanged */
  gint64 samples; /* of the whole batch, or the number of ranks if weights are split: an axis can be split if its size
                     is a multiple of it */
  gboolean of_weights;            /* weights are split, and all ranks have the same samples */
  gboolean divides_update;        /* the instruction is part of the update, of which each rank computes its shards */
  gboolean divides_norm;          /* the norm of gradients is summed by shards, even if the update is not sharded */
  gboolean keeps_sums;            /* each rank accumulates its own sums, which are exchanged elsewhere */
  LoomShare *want;                /* of the operands */
  LoomShare *result;
};

/* ---- partition-rules.c: rules of families of primitives ----------------- */

void loom_share_elementwise (LoomShareCall *call, LoomScalarOp op);
void loom_share_same (LoomShareCall *call);    /* the result is operand 0 in another type, or detached */
void loom_share_convert (LoomShareCall *call); /* the same, also for shards */
/* Permutations of rows and instructions that use one: marks for partition-visit.c; by default whole operands. */
void loom_share_order (LoomShareCall *call);
void loom_share_visit (LoomShareCall *call);
void loom_share_reduce (LoomShareCall *call);
void loom_share_argreduce (LoomShareCall *call);
void loom_share_matmul (LoomShareCall *call);
void loom_share_conv (LoomShareCall *call);
void loom_share_conv_weight_grad (LoomShareCall *call);
void loom_share_samples (
    LoomShareCall *call); /* operands and results with samples on the first axis, split like the first operand */
void loom_share_softmax (LoomShareCall *call);
void loom_share_cross_entropy (LoomShareCall *call);
void loom_share_batch_norm (LoomShareCall *call);
void loom_share_batch_norm_grad (LoomShareCall *call);
void loom_share_batch_norm_apply (LoomShareCall *call);
void loom_share_layer_norm (LoomShareCall *call);
void loom_share_layer_norm_grad (LoomShareCall *call);
void loom_share_gather_rows (LoomShareCall *call);
void loom_share_scatter_add_rows (LoomShareCall *call);
void loom_share_permute (LoomShareCall *call);
void loom_share_reshape (LoomShareCall *call);
void loom_share_expand (LoomShareCall *call);
void loom_share_slice (LoomShareCall *call);
void loom_share_pad (LoomShareCall *call);
void loom_share_concat (LoomShareCall *call);
void loom_share_cumsum (LoomShareCall *call);
void loom_share_gather (LoomShareCall *call);
void loom_share_scatter (LoomShareCall *call);

/* ---- partition-update.c: rules of the update ---------------------------- */

void loom_share_grad_stats (LoomShareCall *call);
void loom_share_step (LoomShareCall *call);
void loom_share_step_by_kind (LoomShareCall *call); /* of LoomStepAttrs, some of which need norms of tensors */
/* TRUE for the step of an optimizer, of either kind. */
gboolean loom_share_is_step (const LoomPrim *prim);
/* Handles element-wise instructions on shards or accumulated sums; FALSE: it is none. */
gboolean loom_share_update (LoomShareCall *call, LoomScalarOp op, gboolean passes_sums);

G_END_DECLS
