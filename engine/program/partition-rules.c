/* The sharding rules of most primitives. A rule reads the shardings that the operands have, and chooses for each
 * operand one with which a rank can compute its part alone. The default is whole.
 *
 * Other rules: update (partition-update.c), loops (partition-loops.c), visit and orders of rows (partition-visit.c),
 * attention (prim-attention.c), collectives (prim-collective.c). If weights are split, the choices of
 * partition-weights.c come first. */
#include "engine/program/partition-sharding.h"

static const LoomSharding pending = { .kind = LOOM_SHARDING_PARTIAL };

static LoomSharding
split (int axis)
{
  return (LoomSharding){ .kind = LOOM_SHARDING_SPLIT, .axis = axis };
}

/* The same sharding along another axis. */
static LoomSharding
split_like (LoomSharding sharding, int axis)
{
  return (LoomSharding){ LOOM_SHARDING_SPLIT, axis, sharding.blocks };
}

static gboolean
is_split (const LoomShardingCall *call, guint k)
{
  return k < call->n_in && call->have[k].kind == LOOM_SHARDING_SPLIT;
}

static gboolean
is_split_at (const LoomShardingCall *call, guint k, int axis)
{
  return is_split (call, k) && call->have[k].axis == axis && call->have[k].blocks <= 1;
}

static gboolean
is_pending (const LoomShardingCall *call, guint k)
{
  return k < call->n_in && call->have[k].kind == LOOM_SHARDING_PARTIAL;
}

static gboolean
is_present (const LoomTensorDesc *d)
{
  return d->dtype != LOOM_N_DTYPES;
}

static void
set_results (LoomShardingCall *call, LoomSharding sharding)
{
  for (guint o = 0; o < call->n_out; o++)
    call->result[o] = sharding;
}

/* ---- element by element ------------------------------------------------------ */

/* The axis of the result along which operand k is split, counted from the last one, as in broadcasting; 0: none. */
static int
axis_from_end (const LoomShardingCall *call, guint k)
{
  return is_split (call, k) ? call->in[k].rank - call->have[k].axis : 0;
}

/* TRUE if the operation is linear in its partial operands, so that its result is partial: a sum of partial values, or
 * the product of one with a whole scalar. */
static gboolean
passes_sums (const LoomShardingCall *call, LoomScalarOp op)
{
  switch (op)
    {
    case LOOM_SCALAR_ID:
    case LOOM_SCALAR_NEG:
      return is_pending (call, 0);
    case LOOM_SCALAR_ADD:
    case LOOM_SCALAR_SUB:
      return is_pending (call, 0) && is_pending (call, 1);
    case LOOM_SCALAR_MUL:
      return (is_pending (call, 0) && call->have[1].kind == LOOM_SHARDING_REPLICATED)
             || (is_pending (call, 1) && call->have[0].kind == LOOM_SHARDING_REPLICATED);
    case LOOM_SCALAR_DIV:
      return is_pending (call, 0) && call->have[1].kind == LOOM_SHARDING_REPLICATED;
    default:
      return FALSE;
    }
}

void
loom_shard_elementwise (LoomShardingCall *call, LoomScalarOp op)
{
  LoomSharding sharding = { 0 };
  gboolean passes = loom_dtype_is_float (call->out[0].dtype) && passes_sums (call, op);
  int from_end = 0;

  if (loom_shard_update (call, op, passes))
    return;
  if (passes)
    {
      for (guint k = 0; k < call->n_in; k++)
        call->want[k] = call->have[k];
      call->result[0] = pending;
      return;
    }
  for (guint k = 0; k < call->n_in && from_end == 0; k++)
    {
      from_end = axis_from_end (call, k);
      sharding = call->have[k];
    }
  if (from_end == 0)
    return;
  for (guint k = 0; k < call->n_in; k++)
    {
      int axis = call->in[k].rank - from_end;

      if (axis >= 0 && call->in[k].dim[axis] != 1)
        call->want[k] = split_like (sharding, axis);
    }
  call->result[0] = split_like (sharding, call->out[0].rank - from_end);
}

void
loom_shard_same (LoomShardingCall *call)
{
  gboolean stays = is_split (call, 0)
                   || (is_pending (call, 0) && loom_dtype_is_float (call->in[0].dtype)
                       && loom_dtype_is_float (call->out[0].dtype));

  if (!stays)
    return;
  for (guint k = 0; k < call->n_in; k++)
    call->want[k] = call->have[k];
  set_results (call, call->have[0]);
}

void
loom_shard_convert (LoomShardingCall *call)
{
  if (call->have[0].kind == LOOM_SHARDING_FLAT)
    {
      call->want[0] = call->have[0];
      set_results (call, call->have[0]);
    }
  else
    loom_shard_same (call);
}

/* ---- reductions ---------------------------------------------------------------- */

void
loom_shard_reduce (LoomShardingCall *call)
{
  const LoomReduceAttrs *a = call->attrs;

  if (a->op == LOOM_REDUCE_SUM && is_pending (call, 0))
    {
      call->want[0] = pending;
      call->result[0] = pending;
    }
  if (!is_split (call, 0))
    return;
  if ((a->axes >> call->have[0].axis & 1) == 0)
    {
      call->want[0] = call->have[0];
      call->result[0] = call->have[0];
    }
  else if (a->op == LOOM_REDUCE_SUM)
    {
      call->want[0] = call->have[0];
      call->result[0] = pending;
    }
}

/* Splits along any axis but `axis`, along which every rank needs all elements. */
static void
shard_except_axis (LoomShardingCall *call, int axis)
{
  if (!is_split (call, 0) || call->have[0].axis == axis)
    return;
  for (guint k = 0; k < call->n_in; k++)
    if (is_present (&call->in[k]))
      call->want[k] = call->have[0];
  set_results (call, call->have[0]);
}

void
loom_shard_argreduce (LoomShardingCall *call)
{
  shard_except_axis (call, ((const LoomArgReduceAttrs *)call->attrs)->axis);
}

void
loom_shard_cumsum (LoomShardingCall *call)
{
  shard_except_axis (call, ((const LoomCumsumAttrs *)call->attrs)->axis);
}

/* For operands that are indexed along an axis; they are split along another one. */
static void
shard_by_index (LoomShardingCall *call, int axis)
{
  for (guint k = 0; k < call->n_in; k++)
    {
      LoomSharding sharding = call->have[k];
      gboolean same = sharding.kind == LOOM_SHARDING_SPLIT && sharding.axis != axis;

      for (guint i = 0; same && i < call->n_in; i++)
        same = call->in[i].rank == call->in[k].rank && call->in[i].dim[sharding.axis] == call->in[k].dim[sharding.axis];
      if (!same)
        continue;
      for (guint i = 0; i < call->n_in; i++)
        call->want[i] = sharding;
      call->result[0] = sharding;
      return;
    }
}

void
loom_shard_gather (LoomShardingCall *call)
{
  shard_by_index (call, ((const LoomGatherAttrs *)call->attrs)->axis);
}

void
loom_shard_scatter (LoomShardingCall *call)
{
  shard_by_index (call, ((const LoomScatterAttrs *)call->attrs)->axis);
}

void
loom_shard_softmax (LoomShardingCall *call)
{
  shard_except_axis (call, ((const LoomSoftmaxAttrs *)call->attrs)->axis);
}

/* ---- products ------------------------------------------------------------------- */

/* The axis of a product's operand that is summed over. */
static int
summed_axis (const LoomTensorDesc *d, gboolean second, gboolean transposed)
{
  return d->rank - (second != transposed ? 2 : 1);
}

static void
shard_leading (LoomShardingCall *call, int from_end)
{
  for (guint k = 0; k < 2; k++)
    {
      int axis = call->in[k].rank - from_end;

      if (axis >= 0 && call->in[k].dim[axis] != 1)
        call->want[k] = split (axis);
    }
  call->result[0] = split (call->out[0].rank - from_end);
}

/* The operand whose sharding takes precedence: a weight, because weights are not exchanged and the other operand can
 * be. */
static guint
first_factor (const LoomShardingCall *call)
{
  return call->is_weight[1] && !call->is_weight[0] ? 1 : 0;
}

void
loom_shard_matmul (LoomShardingCall *call)
{
  const LoomMatmulAttrs *a = call->attrs;
  const gboolean trans[2] = { a->trans_a, a->trans_b };

  for (guint i = 0; i < 2; i++)
    {
      guint k = i ^ first_factor (call);
      const LoomTensorDesc *d = &call->in[k];
      int axis = call->have[k].axis;

      if (!is_split (call, k))
        continue;
      if (axis < d->rank - 2)
        {
          if (call->have[k].blocks > 1)
            return;
          shard_leading (call, d->rank - axis);
          return;
        }
      if (axis == summed_axis (d, k == 1, trans[k]))
        {
          guint other = 1 - k;

          if (a->act != LOOM_SCALAR_ID)
            return;
          call->want[k] = call->have[k];
          call->want[other] = split_like (call->have[k], summed_axis (&call->in[other], other == 1, trans[other]));
          /* The bias is partial too: one rank adds it, or each rank adds its summand. */
          if (a->has_bias)
            call->want[2] = pending;
          call->result[0] = pending;
          return;
        }
      call->want[k] = call->have[k];
      call->result[0] = split_like (call->have[k], call->out[0].rank - (k == 0 ? 2 : 1));
      /* The bias is split like the columns of the second operand. */
      if (k == 1 && a->has_bias)
        call->want[2] = split_like (call->have[k], call->in[2].rank - 1);
      return;
    }
  if (is_pending (call, 0) && call->have[1].kind == LOOM_SHARDING_REPLICATED && !a->has_bias
      && a->act == LOOM_SCALAR_ID)
    {
      call->want[0] = pending;
      call->result[0] = pending;
    }
}

/* x or g, w, [bias] → y or dx */
void
loom_shard_conv (LoomShardingCall *call)
{
  if (!is_split_at (call, 0, 0))
    return;
  call->want[0] = split (0);
  call->result[0] = split (0);
}

/* g, x → dw, [dbias] */
void
loom_shard_conv_weight_grad (LoomShardingCall *call)
{
  if (!is_split_at (call, 0, 0) && !is_split_at (call, 1, 0))
    return;
  call->want[0] = call->want[1] = split (0);
  set_results (call, pending);
}

/* ---- samples on the first axis ------------------------------------------------- */

void
loom_shard_samples (LoomShardingCall *call)
{
  gint64 n = call->in[0].rank > 0 ? call->in[0].dim[0] : 0;
  gboolean any = FALSE;

  for (guint k = 0; k < call->n_in; k++)
    any = any || is_split_at (call, k, 0);
  if (!any || n == 0)
    return;
  for (guint k = 0; k < call->n_in; k++)
    if (is_present (&call->in[k]) && call->in[k].rank > 0 && call->in[k].dim[0] == n)
      call->want[k] = split (0);
  set_results (call, split (0));
}

/* logits [N, C, d…], target [N, d…], [lse, g of the targets' shape] */
void
loom_shard_cross_entropy (LoomShardingCall *call)
{
  int axis = is_split (call, 0) ? call->have[0].axis : -1;
  int of_samples;

  for (guint k = 1; k < call->n_in && axis < 0; k++)
    if (is_split (call, k))
      axis = call->have[k].axis == 0 ? 0 : call->have[k].axis + 1;
  for (guint k = 0; k < call->n_in; k++)
    if (is_split (call, k) && call->have[k].blocks > 1)
      return;
  if (axis < 0 || axis == 1)
    return;
  of_samples = axis == 0 ? 0 : axis - 1;
  for (guint k = 0; k < call->n_in; k++)
    call->want[k] = split (k == 0 ? axis : of_samples);
  for (guint o = 0; o < call->n_out; o++)
    call->result[o] = split (call->out[o].rank == call->in[0].rank ? axis : of_samples);
}

/* ---- normalisation -------------------------------------------------------------- */

/* x, [weight, bias] → y, mean, var: statistics of the rank's samples, as torch.nn.BatchNorm2d under
 * DistributedDataParallel. */
void
loom_shard_batch_norm (LoomShardingCall *call)
{
  if (call->of_weights || !is_split_at (call, 0, 0))
    return;
  call->want[0] = split (0);
  call->result[0] = split (0);
  call->result[1] = call->result[2] = (LoomSharding){ .kind = LOOM_SHARDING_LOCAL };
}

/* g, x, mean, var, [weight], [bias] → dx, [dweight, dbias] */
void
loom_shard_batch_norm_grad (LoomShardingCall *call)
{
  if (call->of_weights || !is_split_at (call, 1, 0))
    return;
  call->want[0] = call->want[1] = split (0);
  for (guint k = 2; k < 4; k++)
    if (call->have[k].kind == LOOM_SHARDING_LOCAL)
      call->want[k] = call->have[k];
  call->result[0] = split (0);
  for (guint o = 1; o < call->n_out; o++)
    call->result[o] = pending;
}

/* x, mean, var, [weight, bias] → y */
void
loom_shard_batch_norm_apply (LoomShardingCall *call)
{
  if (!is_split_at (call, 0, 0))
    return;
  call->want[0] = split (0);
  for (guint k = 1; k < 3; k++)
    if (call->have[k].kind == LOOM_SHARDING_LOCAL)
      call->want[k] = call->have[k];
  call->result[0] = split (0);
}

static gboolean
is_leading (const LoomShardingCall *call, guint k)
{
  const LoomNormAttrs *a = call->attrs;

  return is_split (call, k) && call->have[k].axis < call->in[k].rank - a->axes;
}

/* x, [weight, bias] → y, mean, rstd; these have the leading axes of x */
void
loom_shard_layer_norm (LoomShardingCall *call)
{
  if (!is_leading (call, 0))
    return;
  call->want[0] = call->have[0];
  set_results (call, call->have[0]);
}

/* g, x, mean, rstd, [weight] → dx, [dweight, dbias] */
void
loom_shard_layer_norm_grad (LoomShardingCall *call)
{
  guint k = is_leading (call, 1) ? 1 : 0;

  if (!is_leading (call, k))
    return;
  for (guint i = 0; i < 4; i++)
    call->want[i] = call->have[k];
  call->result[0] = call->have[k];
  for (guint o = 1; o < call->n_out; o++)
    call->result[o] = pending;
}

/* ---- rows by index ---------------------------------------------------------------- */

/* table [R, …], index → y [index…, …] */
void
loom_shard_gather_rows (LoomShardingCall *call)
{
  if (is_split (call, 1))
    {
      call->want[1] = call->have[1];
      call->result[0] = call->have[1];
    }
  else if (is_split (call, 0) && call->have[0].axis > 0)
    {
      call->want[0] = call->have[0];
      call->result[0] = split_like (call->have[0], call->in[1].rank + call->have[0].axis - 1);
    }
}

/* index, g [index…, …] → table */
void
loom_shard_scatter_add_rows (LoomShardingCall *call)
{
  guint k = is_split (call, 0) ? 0 : 1;

  if (!is_split (call, k))
    return;
  if (call->have[k].axis >= call->in[0].rank)
    {
      call->want[k] = call->have[k];
      call->result[0] = split_like (call->have[k], call->have[k].axis - call->in[0].rank + 1);
      return;
    }
  call->want[0] = call->want[1] = call->have[k];
  call->result[0] = pending;
}

/* ---- shapes ------------------------------------------------------------------------- */

void
loom_shard_permute (LoomShardingCall *call)
{
  const LoomPermuteAttrs *a = call->attrs;

  loom_shard_same (call);
  for (int i = 0; is_split (call, 0) && i < call->out[0].rank; i++)
    if (a->perm[i] == call->have[0].axis)
      call->result[0] = split_like (call->have[0], i);
}

/* The axis of the reshaped result that has the operand's samples, and its blocks; −1: none. */
static int
find_axis (const LoomShardingCall *call, gint64 *blocks)
{
  const LoomTensorDesc *x = &call->in[0], *y = &call->out[0];
  gint64 outer = MAX (call->have[0].blocks, 1), at = 1;

  for (int i = 0; i < call->have[0].axis; i++)
    outer *= x->dim[i];
  for (int i = 0; i < y->rank && at <= outer; at *= y->dim[i++])
    {
      *blocks = outer / at;
      if (at * y->dim[i] > outer && (*blocks == 1 || y->rank < LOOM_MAX_RANK) && outer % at == 0
          && y->dim[i] % (*blocks * call->samples) == 0)
        return i;
    }
  return -1;
}

void
loom_shard_reshape (LoomShardingCall *call)
{
  gint64 blocks = 1;
  int axis;

  if (!is_split (call, 0))
    {
      loom_shard_same (call);
      return;
    }
  axis = find_axis (call, &blocks);
  if (axis < 0)
    return;
  call->want[0] = call->have[0];
  call->result[0] = (LoomSharding){ LOOM_SHARDING_SPLIT, axis, blocks };
}

void
loom_shard_expand (LoomShardingCall *call)
{
  loom_shard_same (call);
  if (is_split (call, 0))
    call->result[0] = split_like (call->have[0], call->have[0].axis + call->out[0].rank - call->in[0].rank);
}

static gboolean
is_left_alone (const LoomTensorDesc *x, const LoomTensorDesc *y, int axis, const int64_t *start, const int64_t *step)
{
  return x->dim[axis] == y->dim[axis] && start[axis] == 0 && (step[axis] == 1 || step[axis] == 0);
}

/* The number of whole blocks of the split axis that a slice or pad covers from `start` on; 0 if it cuts a block. */
static gint64
count_blocks (const LoomShardingCall *call, const int64_t *start, const int64_t *step)
{
  const LoomTensorDesc *x = &call->in[0], *y = &call->out[0];
  int axis = call->have[0].axis;
  gint64 size = is_split (call, 0) ? x->dim[axis] / MAX (call->have[0].blocks, 1) : 0;

  if (size == 0 || (step[axis] != 1 && step[axis] != 0) || start[axis] % size != 0 || y->dim[axis] % size != 0)
    return 0;
  return y->dim[axis] / size;
}

static void
take_blocks (LoomShardingCall *call, gint64 blocks)
{
  call->want[0] = call->have[0];
  call->result[0] = (LoomSharding){ LOOM_SHARDING_SPLIT, call->have[0].axis, blocks };
}

void
loom_shard_slice (LoomShardingCall *call)
{
  const LoomSliceTo *a = call->attrs;
  gint64 blocks = count_blocks (call, a->kernel.start, a->kernel.step);

  if (blocks > 0)
    {
      take_blocks (call, blocks);
      return;
    }
  if (!is_split (call, 0)
      || is_left_alone (&call->in[0], &call->out[0], call->have[0].axis, a->kernel.start, a->kernel.step))
    loom_shard_same (call);
}

void
loom_shard_pad (LoomShardingCall *call)
{
  const LoomPadTo *a = call->attrs;
  gint64 blocks = count_blocks (call, a->kernel.start, a->kernel.step);

  if (blocks > 0)
    {
      take_blocks (call, blocks);
      return;
    }
  if (is_split (call, 0)
          ? is_left_alone (&call->in[0], &call->out[0], call->have[0].axis, a->kernel.start, a->kernel.step)
          : a->kernel.value == 0)
    loom_shard_same (call);
}

void
loom_shard_concat (LoomShardingCall *call)
{
  const LoomConcatAttrs *a = call->attrs;
  LoomSharding sharding = { LOOM_SHARDING_REPLICATED, -1, 0 };

  for (guint k = 0; k < call->n_in && sharding.axis < 0; k++)
    if (is_split (call, k))
      sharding = call->have[k];
  if (sharding.axis < 0 || sharding.axis == a->axis)
    return;
  for (guint k = 0; k < call->n_in; k++)
    call->want[k] = sharding;
  call->result[0] = sharding;
}
