/* Rules by which primitives are divided among ranks. */
#pragma once

#include "engine/program/loom-partition.h"
#include "engine/program/prim-private.h"

G_BEGIN_DECLS

typedef enum
{
  LOOM_SHARE_WHOLE,
  LOOM_SHARE_SPLIT,   /* along `axis`, which counts samples or parts of features, each with equally many places */
  LOOM_SHARE_PENDING, /* the value is the sum of what the ranks have */
  LOOM_SHARE_SHARD,   /* flat: a range of the elements of the tensor, as loom_comm_part() divides them */
  LOOM_SHARE_LEAST,   /* the value is the least of what the ranks have: 1 where all have 1 */
  LOOM_SHARE_LOCAL    /* statistics of a rank's own samples; elsewhere the mean over ranks, weighed by samples */
} LoomShareKind;

typedef struct
{
  LoomShareKind kind;
  int axis;
  gint64
      blocks; /* the axis is so many blocks, each of which is split: places of a text, each with all samples; 0: one */
} LoomShare;

static inline gboolean
loom_share_equal (LoomShare a, LoomShare b)
{
  return a.kind == b.kind
         && (a.kind != LOOM_SHARE_SPLIT || (a.axis == b.axis && MAX (a.blocks, 1) == MAX (b.blocks, 1)));
}

/* An instruction of the undivided program. share() may change `want` and sets `out`; without a word, results
 * are whole and operands wanted so. */
struct _LoomShareCall
{
  const void *attrs;
  guint n_in, n_out;
  const LoomTensorDesc *in, *out; /* an absent operand has dtype LOOM_N_DTYPES, and so has an unwanted result */
  const LoomShare *have;          /* of the operands */
  const gboolean *is_zero;        /* likewise: it is a constant 0 */
  const gboolean *is_weight;      /* likewise: it is state, which is better not moved */
  gint64 samples;                 /* of the whole batch, or the number of ranks that have parts of weights: an axis can
                                     be split where its size is a multiple of it */
  gboolean of_weights;            /* these are parts of weights, and all ranks have the same samples */
  gboolean divides_update;        /* this is a part of the update, of which each rank makes its shards */
  gboolean divides_norm;          /* the norm of gradients is summed by shards, whether the update is or not */
  gboolean keeps_sums;            /* sums are added up by each rank for itself, and exchanged elsewhere */
  LoomShare *want;                /* of the operands */
  LoomShare *result;
};

/* ---- partition-rules.c: how families of primitives are divided ---------- */

void loom_share_elementwise (LoomShareCall *call, LoomScalarOp op);
void loom_share_same (LoomShareCall *call); /* the result is operand 0, under another type or barrier */
void loom_share_convert (LoomShareCall *call); /* the same, also of shards */
/* An order of rows, and what visits rows in one: marks for partition-visit.c; alone they take whole operands. */
void loom_share_order (LoomShareCall *call);
void loom_share_visit (LoomShareCall *call);
void loom_share_reduce (LoomShareCall *call);
void loom_share_argreduce (LoomShareCall *call);
void loom_share_matmul (LoomShareCall *call);
void loom_share_conv (LoomShareCall *call);
void loom_share_conv_weight_grad (LoomShareCall *call);
void loom_share_samples (LoomShareCall *call); /* everything that has samples in front, like the first operand */
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

/* ---- partition-update.c: how the update is ------------------------------ */

void loom_share_grad_stats (LoomShareCall *call);
void loom_share_step (LoomShareCall *call);
void loom_share_step_by_kind (LoomShareCall *call); /* the same of LoomStepAttrs, some of which take norms of tensors */
/* TRUE if it is the step of an optimiser, of either kind. */
gboolean loom_share_is_step (const LoomPrim *prim);
/* An element-wise instruction that shards or the sums of several batches decide on; FALSE: they do not. */
gboolean loom_share_update (LoomShareCall *call, LoomScalarOp op, gboolean passes_sums);

G_END_DECLS
