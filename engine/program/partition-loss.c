/* Partitions cross-entropy over classes, for a head that is split by columns or shares a split embedding table (Shoeybi
 * et al. 2019, arXiv:1909.08053, section 3). The logits are never gathered: each rank computes ln Σ exp of its own
 * logits, and the target's logit if it has that class. The ranks exchange three numbers for each sample: the maximum of
 * ln Σ exp, and two sums. */
#include "engine/program/partition-state.h"

/* Replaces targets whose class another rank has. Exact in a double, and no class number. */
#define NO_CLASS (-9007199254740992)

gboolean
partition_loss_choose (LoomShardingCall *call)
{
  if (call->have[0].kind != LOOM_SHARDING_SPLIT || call->have[0].axis != 1 || call->have[0].blocks > 1)
    return FALSE;
  call->want[0] = call->have[0];
  if (call->n_out == 1)
    call->result[0] = call->have[0];
  return TRUE;
}

static LoomValue
number (LoomProgram *p, double x)
{
  return loom_const (p, LOOM_I64, x);
}

static LoomValue
both (LoomProgram *p, LoomValue a, LoomValue b)
{
  return loom_binary (p, LOOM_SCALAR_AND, a, b);
}

/* 1 where a class number is in [first, end), else 0. */
static LoomValue
within (LoomProgram *p, LoomValue target, gint64 first, gint64 end)
{
  return both (p, loom_binary (p, LOOM_SCALAR_GE, target, number (p, (double)first)),
               loom_binary (p, LOOM_SCALAR_LT, target, number (p, (double)end)));
}

static LoomValue
where (LoomProgram *p, LoomValue holds, LoomValue a, LoomValue b)
{
  return loom_ternary (p, LOOM_SCALAR_SELECT, holds, a, b);
}

static LoomValue
zero_of (LoomProgram *p, LoomValue like)
{
  return loom_const (p, value_desc (p, like)->dtype, 0);
}

static LoomValue
counted (LoomProgram *p, const LoomInstr *instr, LoomValue target)
{
  const LoomCrossEntropyAttrs *a = instr->attrs;

  return loom_binary (p, LOOM_SCALAR_NE, target, number (p, (double)a->ignore_index));
}

/* logits, target → loss, ln Σ exp, both whole. An invalid class stays invalid, so that it is a fault. */
static void
write_loss (Partition *self, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  LoomProgram *p = self->r.to;
  const gint64 all = desc_from (self, instr->in[0])->dim[1], n = value_desc (p, in[0])->dim[1],
               first = partition_rows (self, all, self->own.first);
  const LoomCrossEntropyAttrs attrs = { .ignore_index = NO_CLASS };
  const LoomDType dtype = value_desc (p, in[0])->dtype, wide = dtype_computed (dtype);
  LoomValue target = in[1], counts = counted (p, instr, target), mine, own[2], part[2], sum[2], top, lse;

  mine = both (p, counts, within (p, target, first, first + n));
  target = where (p, mine, loom_binary (p, LOOM_SCALAR_SUB, target, number (p, (double)first)),
                  where (p, both (p, counts, loom_unary (p, LOOM_SCALAR_NOT, within (p, target, 0, all))), target,
                         number (p, NO_CLASS)));
  loom_emit (p, instr->prim, &attrs, 2, (LoomValue[]){ in[0], target }, own);
  for (guint k = 0; k < 2; k++)
    own[k] = loom_cast (p, own[k], wide);
  partition_all_reduce (self, LOOM_REDUCE_MAX, 1, &own[1], &top);
  part[0] = loom_unary (p, LOOM_SCALAR_EXP, loom_binary (p, LOOM_SCALAR_SUB, own[1], top));
  part[1] = where (p, mine, loom_binary (p, LOOM_SCALAR_SUB, own[1], own[0]), zero_of (p, own[1]));
  partition_all_reduce (self, LOOM_REDUCE_SUM, 2, part, sum);
  lse = loom_binary (p, LOOM_SCALAR_ADD, loom_unary (p, LOOM_SCALAR_LOG, sum[0]), top);
  out[0] = where (p, counts, loom_binary (p, LOOM_SCALAR_SUB, lse, sum[1]), zero_of (p, lse));
  out[0] = loom_cast (p, out[0], dtype);
  out[1] = loom_cast (p, lse, dtype);
}

/* [N, d…] → [N, 1, d…] */
static LoomValue
with_class_axis (LoomProgram *p, LoomValue v)
{
  const LoomTensorDesc d = *value_desc (p, v);
  gint64 dim[LOOM_MAX_RANK] = { d.dim[0], 1 };

  for (int i = 1; i < d.rank; i++)
    dim[i + 1] = d.dim[i];
  return loom_reshape (p, v, d.rank + 1, dim);
}

/* logits, target, ln Σ exp, g → the gradient of the rank's own logits: g·softmax, minus g at the target's class. */
static void
write_gradient (Partition *self, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  LoomProgram *p = self->r.to;
  const LoomTensorDesc x = *value_desc (p, in[0]);
  const LoomIotaTo iota
      = { .kernel = { .axis = 0,
                      .start = (double)partition_rows (self, desc_from (self, instr->in[0])->dim[1], self->own.first),
                      .step = 1 },
          .dtype = LOOM_I64,
          .to = { 1, { x.dim[1] } } };
  LoomValue classes = loom_emit (p, loom_prim ("iota"), &iota, 0, NULL, NULL), g, softmax, hit;
  gint64 dim[LOOM_MAX_RANK];

  for (int i = 0; i < x.rank; i++)
    dim[i] = i == 1 ? x.dim[1] : 1;
  classes = loom_reshape (p, classes, x.rank, dim);
  hit = loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, with_class_axis (p, in[1]), classes), x.dtype);
  softmax = loom_unary (p, LOOM_SCALAR_EXP, loom_binary (p, LOOM_SCALAR_SUB, in[0], with_class_axis (p, in[2])));
  g = where (p, counted (p, instr, in[1]), in[3], zero_of (p, in[3]));
  out[0] = loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_SUB, softmax, hit), with_class_axis (p, g));
}

gboolean
partition_loss_write (Partition *self, const LoomInstr *instr, LoomSharding logits, const LoomValue *in, LoomValue *out)
{
  if (logits.kind != LOOM_SHARDING_SPLIT || logits.axis != 1)
    return FALSE;
  (instr->n_out == 1 ? write_gradient : write_loss) (self, instr, in, out);
  return TRUE;
}
