/* The composite of softmax and cross-entropy: the loss per sample, and log Σ exp, with which the gradient is one pass.
 *
 * logits [N, C, d…], target [N, d…] of classes; loss and lse [N, d…]. */
#include "engine/program/partition-sharding.h"

/* The shape without the class axis: [N, d…]. */
static LoomTensorDesc
per_sample (const LoomTensorDesc *logits)
{
  LoomTensorDesc d = *logits;

  d.rank = logits->rank - 1;
  for (int i = 1; i < d.rank; i++)
    d.dim[i] = logits->dim[i + 1];
  return d;
}

static gboolean
check (const LoomTensorDesc *in, char **why)
{
  LoomTensorDesc sample;

  if (in[0].rank < 2 || !loom_dtype_is_float (in[0].dtype) || in[1].dtype != LOOM_I64)
    return loom_prim_refuse (why, "needs float logits [N, C, …] and i64 targets");
  sample = per_sample (&in[0]);
  return loom_desc_same_shape (&sample, &in[1])
         || loom_prim_refuse (why, "the shapes of logits and targets do not match");
}

static gboolean
infer_cross_entropy (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                     char **why)
{
  if (!loom_prim_arity (n_in, 2, why) || !check (in, why))
    return FALSE;
  out[0] = out[1] = per_sample (&in[0]);
  *n_out = 2;
  return TRUE;
}

static gboolean
infer_cross_entropy_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                          char **why)
{
  if (!loom_prim_arity (n_in, 4, why) || !check (in, why))
    return FALSE;
  if (!loom_desc_same_shape (&in[1], &in[2]) || !loom_desc_same_shape (&in[1], &in[3]))
    return loom_prim_refuse (why, "lse and g must have the targets' shape");
  out[0] = in[0];
  *n_out = 1;
  return TRUE;
}

/* [N, d…] → [N, 1, d…] */
static LoomValue
with_class_axis (LoomProgram *p, LoomValue v)
{
  LoomTensorDesc d = *value_desc (p, v);
  gint64 dims[LOOM_MAX_RANK];

  dims[0] = d.dim[0];
  dims[1] = 1;
  for (int i = 1; i < d.rank; i++)
    dims[i + 1] = d.dim[i];
  return loom_reshape (p, v, d.rank + 1, dims);
}

/* softmax from logits and lse */
static LoomValue
probabilities (LoomProgram *p, LoomValue logits, LoomValue lse)
{
  return loom_unary (p, LOOM_SCALAR_EXP, loom_binary (p, LOOM_SCALAR_SUB, logits, with_class_axis (p, lse)));
}

static gboolean
gradient_cross_entropy (const LoomGradCall *call)
{
  LoomProgram *p = call->p;
  const LoomInstr *instr = call->instr;
  LoomValue in[4] = { instr->in[0], instr->in[1], instr->out[1], call->grad[0] }, sum = 0;

  if (call->grad[0] != 0)
    sum = loom_emit (p, loom_prim ("cross_entropy_grad"), instr->attrs, 4, in, NULL);
  if (call->grad[1] != 0)
    {
      LoomValue d = loom_binary (p, LOOM_SCALAR_MUL, probabilities (p, instr->in[0], instr->out[1]),
                                 with_class_axis (p, call->grad[1]));

      sum = sum != 0 ? loom_binary (p, LOOM_SCALAR_ADD, sum, d) : d;
    }
  call->in_grad[0] = sum;
  return TRUE;
}

/* 1 at the target's class, 0 elsewhere, in the logits' type. */
static LoomValue
one_hot (LoomProgram *p, LoomValue logits, LoomValue target)
{
  LoomTensorDesc x = *value_desc (p, logits);
  LoomIotaTo iota = { .kernel = { .axis = 0, .start = 0, .step = 1 }, .dtype = LOOM_I64, .to = { 1, { x.dim[1] } } };
  LoomValue classes = loom_emit (p, loom_prim ("iota"), &iota, 0, NULL, NULL);
  gint64 dims[LOOM_MAX_RANK];

  for (int i = 0; i < x.rank; i++)
    dims[i] = i == 1 ? x.dim[1] : 1;
  classes = loom_reshape (p, classes, x.rank, dims);
  return loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, with_class_axis (p, target), classes), x.dtype);
}

/* 1 where the target is not ignored, 0 elsewhere, in the targets' shape. */
static LoomValue
counted (LoomProgram *p, const LoomCrossEntropyAttrs *a, LoomValue target)
{
  return loom_binary (p, LOOM_SCALAR_NE, target, loom_const (p, LOOM_I64, (double)a->ignore_index));
}

static void
expand_cross_entropy (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  LoomTensorDesc x = *value_desc (p, in[0]);
  LoomTensorDesc sample = per_sample (&x);
  LoomValue top = loom_detach (p, loom_reduce (p, LOOM_REDUCE_MAX, in[0], 1u << 1, TRUE));
  LoomValue e = loom_unary (p, LOOM_SCALAR_EXP, loom_binary (p, LOOM_SCALAR_SUB, in[0], top));
  LoomValue lse = loom_binary (
      p, LOOM_SCALAR_ADD, loom_unary (p, LOOM_SCALAR_LOG, loom_reduce (p, LOOM_REDUCE_SUM, e, 1u << 1, TRUE)), top);
  LoomValue hit = one_hot (p, in[0], in[1]), picked, loss;

  lse = loom_reshape (p, lse, sample.rank, sample.dim);
  /* A selection instead of a product, because an infinite logit of another class times 0 would be NaN. */
  picked = loom_ternary (p, LOOM_SCALAR_SELECT, hit, in[0], loom_const (p, x.dtype, 0));
  picked = loom_reduce (p, LOOM_REDUCE_SUM, picked, 1u << 1, FALSE);
  loss = loom_binary (p, LOOM_SCALAR_SUB, lse, picked);
  out[0] = loom_ternary (p, LOOM_SCALAR_SELECT, counted (p, instr->attrs, in[1]), loss, loom_const (p, x.dtype, 0));
  out[1] = lse;
}

static void
expand_cross_entropy_grad (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  LoomDType dtype = value_desc (p, in[0])->dtype;
  LoomValue g = loom_ternary (p, LOOM_SCALAR_SELECT, counted (p, instr->attrs, in[1]), in[3], loom_const (p, dtype, 0));
  LoomValue d = loom_binary (p, LOOM_SCALAR_SUB, probabilities (p, in[0], in[2]), one_hot (p, in[0], in[1]));

  out[0] = loom_binary (p, LOOM_SCALAR_MUL, d, with_class_axis (p, g));
}

static double
flops_cross_entropy (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return 4.0 * (double)loom_desc_count (&in[0]);
}

static const LoomAttr cross_entropy_attrs[]
    = { LOOM_ATTR ("ignore_index", INT, LoomCrossEntropyAttrs, ignore_index),
        LOOM_ATTR ("classes", INT, LoomCrossEntropyAttrs, classes, LOOM_ATTR_UNLESS (0)), LOOM_ATTR_LAST };

const LoomPrim loom_prim_cross_entropy = { LOOM_PRIM_ROW ("cross_entropy", COMPOSITE, 2),
                                           .sharding = loom_shard_cross_entropy,
                                           .doc = "-log softmax of the target's class, and log Σ exp, per sample.",
                                           LOOM_PRIM_ATTRS (LoomCrossEntropyAttrs, cross_entropy_attrs),
                                           .infer = infer_cross_entropy,
                                           .gradient = gradient_cross_entropy,
                                           .expand = expand_cross_entropy,
                                           .flops = flops_cross_entropy,
                                           .precision = LOOM_PRECISION_F32 };

const LoomPrim loom_prim_cross_entropy_grad = { LOOM_PRIM_ROW ("cross_entropy_grad", COMPOSITE, 1),
                                                .sharding = loom_shard_cross_entropy,
                                                .doc = "(softmax - onehot)·g",
                                                LOOM_PRIM_ATTRS (LoomCrossEntropyAttrs, cross_entropy_attrs),
                                                .infer = infer_cross_entropy_grad,
                                                .expand = expand_cross_entropy_grad,
                                                .flops = flops_cross_entropy };
