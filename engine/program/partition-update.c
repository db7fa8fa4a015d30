/* Partitions the update: each rank has a range of the elements of every tensor.
 *
 * Element-wise instructions work on such ranges as on whole tensors. For a step that scales by the norm of a tensor,
 * the tensors are gathered one at a time, so the memory needed is that of the largest. The sum of squares of all
 * gradients is always a sum over ranges, so its bits do not depend on what is sharded. */
#include "engine/program/partition-state.h"

#include "kernels/optim.h"

static const LoomSharding pending = { .kind = LOOM_SHARDING_PARTIAL }, shard = { .kind = LOOM_SHARDING_FLAT };

static gboolean
has_kind (const LoomShardingCall *call, LoomShardingKind kind)
{
  for (guint k = 0; k < call->n_in; k++)
    if (call->have[k].kind == kind)
      return TRUE;
  return FALSE;
}

static void
want_all (LoomShardingCall *call, guint n, LoomSharding sharding)
{
  for (guint k = 0; k < n; k++)
    call->want[k] = sharding;
}

/* Gradients → the sum of their squares, and whether all are finite. While gradients are accumulated, each rank sums
 * only its own, because no step uses the result. */
void
loom_shard_grad_stats (LoomShardingCall *call)
{
  if (call->keeps_sums && has_kind (call, LOOM_SHARDING_PARTIAL))
    want_all (call, call->n_in, pending);
  else if (call->divides_update || call->divides_norm)
    want_all (call, call->n_in, shard);
  else
    return;
  call->result[0] = pending;
  call->result[1] = (LoomSharding){ .kind = LOOM_SHARDING_MINIMUM };
}

/* The operands and results of a parameter have the parameter's sharding. */
static void
shard_step_of_parts (LoomShardingCall *call, guint n)
{
  for (guint k = 0; k < n + call->n_out; k++)
    if (call->have[k % n].kind == LOOM_SHARDING_SPLIT)
      call->want[k] = call->have[k % n];
  for (guint o = 0; o < call->n_out; o++)
    if (call->have[o % n].kind == LOOM_SHARDING_SPLIT)
      call->result[o] = call->have[o % n];
}

/* p…, g…, each state…, scalars → p…, each state… */
void
loom_shard_step (LoomShardingCall *call)
{
  guint n = (guint) * (const int *)call->attrs;

  if (call->of_weights)
    shard_step_of_parts (call, n);
  if (!call->divides_update && !has_kind (call, LOOM_SHARDING_FLAT))
    return;
  want_all (call, n + call->n_out, shard);
  for (guint o = 0; o < call->n_out; o++)
    call->result[o] = shard;
}

/* TRUE if the step is scaled by norms of whole tensors. */
static gboolean
takes_whole (const LoomStepAttrs *a)
{
  return a->kind == LOOM_STEP_LAMB || a->kind == LOOM_STEP_LARS;
}

void
loom_shard_step_by_kind (LoomShardingCall *call)
{
  const LoomStepAttrs *a = call->attrs;
  guint n = (guint)a->n;

  if (!takes_whole (a))
    {
      loom_shard_step (call);
      return;
    }
  if (call->of_weights || (!call->divides_update && !has_kind (call, LOOM_SHARDING_FLAT)))
    return;
  /* Gradients and states are shards, and are gathered one tensor at a time. */
  want_all (call, n + call->n_out, shard);
  for (guint o = 0; o < call->n_out; o++)
    call->result[o] = shard;
  for (guint k = 0; k < n; k++)
    if (call->have[k].kind == LOOM_SHARDING_REPLICATED)
      call->want[k] = call->result[k] = call->have[k];
}

/* Writes the step of tensor t alone: gathers parameter, gradient and states, and takes the shards of its results. */
static void
write_step_of (const Partition *self, guint i, guint t, const LoomValue *in, LoomValue *out)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);
  LoomStepAttrs attrs = *(const LoomStepAttrs *)instr->attrs;
  guint n = (guint)attrs.n, lists = 1 + instr->n_out / n, scalars = instr->n_in - lists * n;
  LoomValue operand[2 + LOOM_STEP_MAX_STATES + LOOM_STEP_MAX_SCALARS + 3], own[2 + LOOM_STEP_MAX_STATES],
      all[2 + LOOM_STEP_MAX_STATES], result[1 + LOOM_STEP_MAX_STATES];
  const LoomTensorDesc *whole[2 + LOOM_STEP_MAX_STATES];
  guint count = 0;

  for (guint l = 0; l < lists; l++)
    if (self->want[i][l * n + t].kind == LOOM_SHARDING_FLAT)
      {
        own[count] = in[l * n + t];
        whole[count++] = desc_from (self, instr->in[l * n + t]);
      }
  partition_unshard (self, count, whole, own, all);
  count = 0;
  for (guint l = 0; l < lists; l++)
    operand[l] = self->want[i][l * n + t].kind == LOOM_SHARDING_FLAT ? all[count++] : in[l * n + t];
  for (guint k = 0; k < scalars; k++)
    operand[lists + k] = in[lists * n + k];
  attrs.n = 1;
  loom_emit (self->r.to, instr->prim, &attrs, lists + scalars, operand, result);
  for (guint l = 0; l < lists - 1; l++)
    out[l * n + t] = self->have[instr->out[l * n + t]].kind == LOOM_SHARDING_FLAT
                         ? partition_slice_shard (self, result[l])
                         : result[l];
}

gboolean
partition_write_step (const Partition *self, guint i, const LoomValue *in, LoomValue *out)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);
  const LoomStepAttrs *a = instr->attrs;

  if (instr->prim->sharding != loom_shard_step_by_kind || !takes_whole (a)
      || self->want[i][a->n].kind != LOOM_SHARDING_FLAT)
    return FALSE;
  for (guint t = 0; t < (guint)a->n; t++)
    write_step_of (self, i, t, in, out);
  return TRUE;
}

gboolean
loom_sharding_is_step (const LoomPrim *prim)
{
  return prim->sharding == loom_shard_step || prim->sharding == loom_shard_step_by_kind;
}

/* TRUE if every operand has the result's shape or is a scalar. */
static gboolean
is_flat (const LoomShardingCall *call)
{
  for (guint k = 0; k < call->n_in; k++)
    if (call->in[k].rank != 0 && !loom_desc_same_shape (&call->in[k], &call->out[0]))
      return FALSE;
  return call->out[0].rank > 0;
}

gboolean
loom_shard_update (LoomShardingCall *call, LoomScalarOp op, gboolean passes_sums)
{
  gboolean sums = has_kind (call, LOOM_SHARDING_PARTIAL);

  if (!is_flat (call))
    return FALSE;
  if (has_kind (call, LOOM_SHARDING_FLAT) || (call->divides_update && sums && !call->keeps_sums))
    {
      for (guint k = 0; k < call->n_in; k++)
        if (call->in[k].rank > 0)
          call->want[k] = shard;
      call->result[0] = shard;
      return TRUE;
    }
  if (!call->keeps_sums || !sums || passes_sums)
    return FALSE;
  if (op == LOOM_SCALAR_ADD && call->in[0].rank > 0 && call->in[1].rank > 0)
    want_all (call, 2, pending);
  else if (op == LOOM_SCALAR_SELECT && call->have[0].kind == LOOM_SHARDING_REPLICATED && call->in[0].rank == 0)
    {
      for (guint k = 1; k < 3; k++)
        if (!call->is_zero[k] && call->in[k].rank == 0)
          return FALSE;
      for (guint k = 1; k < 3; k++)
        if (!call->is_zero[k])
          call->want[k] = pending;
    }
  else
    return FALSE;
  call->result[0] = pending;
  return TRUE;
}
