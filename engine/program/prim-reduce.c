/* The primitives of reductions along axes: reduce (sum, minimum, maximum, product) and argreduce (argmax, argmin). The
 * result keeps the rank, with size 1 on reduced axes, so it broadcasts against the operand without a reshape, and
 * gradients are elementwise. */
#include "engine/program/partition-sharding.h"
#include "engine/program/position-rules.h"

static gboolean
infer_reduce (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomReduceAttrs *a = attrs;

  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  if (a->axes >> in[0].rank != 0)
    return loom_prim_refuse (why, "an axis of %#x is outside rank %d", a->axes, in[0].rank);
  out[0] = in[0];
  for (int i = 0; i < in[0].rank; i++)
    {
      if ((a->axes >> i & 1) == 0)
        continue;
      if (in[0].dim[i] == 0 && (a->op == LOOM_REDUCE_MAX || a->op == LOOM_REDUCE_MIN))
        return loom_prim_refuse (why, "there is no largest of no elements");
      out[0].dim[i] = 1;
    }
  *n_out = 1;
  return TRUE;
}

/* Several elements equal to the extreme divide the gradient evenly (torch.amax). */
static LoomValue
extreme_gradient (const LoomGradCall *call, guint32 axes)
{
  LoomProgram *p = call->p;
  LoomDType dtype = value_desc (p, call->grad[0])->dtype;
  LoomValue x = call->instr->in[0], hit = loom_binary (p, LOOM_SCALAR_EQ, x, call->instr->out[0]), count;

  /* NaN is the extreme if present, and equals nothing. */
  hit = loom_cast (p, loom_binary (p, LOOM_SCALAR_OR, hit, loom_unary (p, LOOM_SCALAR_ISNAN, x)), dtype);
  count = loom_reduce (p, LOOM_REDUCE_SUM, hit, axes, TRUE);

  return loom_binary (p, LOOM_SCALAR_MUL, hit, loom_binary (p, LOOM_SCALAR_DIV, call->grad[0], count));
}

/* ∂(Π x)/∂x is the product of the others: y/x for a nonzero factor; if exactly one factor is 0 only that one has a
 * derivative, and if two or more are 0 none has. */
static LoomValue
product_gradient (const LoomGradCall *call, guint32 axes)
{
  LoomProgram *p = call->p;
  LoomValue g = call->grad[0], x = call->instr->in[0];
  LoomDType dtype = value_desc (p, g)->dtype;
  LoomValue zero = loom_const (p, dtype, 0), one = loom_const (p, dtype, 1);
  LoomValue is_zero = loom_binary (p, LOOM_SCALAR_EQ, x, zero);
  LoomValue zeros = loom_reduce (p, LOOM_REDUCE_SUM, loom_cast (p, is_zero, dtype), axes, TRUE);
  LoomValue safe = loom_ternary (p, LOOM_SCALAR_SELECT, is_zero, one, x);
  LoomValue rest = loom_reduce (p, LOOM_REDUCE_PROD, safe, axes, TRUE);
  LoomValue at_zero = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_EQ, zeros, one), rest, zero);
  LoomValue off_zero = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_EQ, zeros, zero),
                                     loom_binary (p, LOOM_SCALAR_DIV, rest, safe), zero);

  return loom_binary (p, LOOM_SCALAR_MUL, g, loom_ternary (p, LOOM_SCALAR_SELECT, is_zero, at_zero, off_zero));
}

static gboolean
gradient_reduce (const LoomGradCall *call)
{
  const LoomReduceAttrs *a = call->instr->attrs;
  const LoomTensorDesc *x = value_desc (call->p, call->instr->in[0]);

  if (a->op == LOOM_REDUCE_SUM)
    call->in_grad[0] = loom_expand_to (call->p, call->grad[0], x->rank, x->dim);
  else if (a->op == LOOM_REDUCE_PROD)
    call->in_grad[0] = product_gradient (call, a->axes);
  else
    call->in_grad[0] = extreme_gradient (call, a->axes);
  return TRUE;
}

static gboolean
sum_over_iterations_reduce (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in,
                            const LoomValue *stack, LoomValue *sum)
{
  const LoomReduceAttrs *a = attrs;

  if (a->op != LOOM_REDUCE_SUM || in[0].rank == LOOM_MAX_RANK)
    return FALSE;
  if (p != NULL)
    *sum = loom_reduce (p, LOOM_REDUCE_SUM, stack[0], a->axes << 1 | 1, FALSE);
  return TRUE;
}

static double
flops_reduce (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return (double)loom_desc_count (&in[0]);
}

static const LoomAttr reduce_attrs[] = { LOOM_ATTR ("", WORD, LoomReduceAttrs, op, LOOM_ATTR_WORDS (loom_reduce_words)),
                                         LOOM_ATTR ("axes", AXES, LoomReduceAttrs, axes), LOOM_ATTR_LAST };

const LoomPrim loom_prim_reduce = { LOOM_PRIM_ROW ("reduce", CORE, 1),
                                    .separates_positions = loom_positions_reduce,
                                    .sharding = loom_shard_reduce,
                                    .doc = "Sum, largest, smallest or product along axes.",
                                    LOOM_PRIM_ATTRS (LoomReduceAttrs, reduce_attrs),
                                    .infer = infer_reduce,
                                    .gradient = gradient_reduce,
                                    .flops = flops_reduce,
                                    .precision = LOOM_PRECISION_F32,
                                    .sum_over_iterations = sum_over_iterations_reduce };

static gboolean
infer_argreduce (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomArgReduceAttrs *a = attrs;

  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  if (a->axis < 0 || a->axis >= in[0].rank)
    return loom_prim_refuse (why, "axis %d is outside rank %d", a->axis, in[0].rank);
  if (in[0].dim[a->axis] == 0)
    return loom_prim_refuse (why, "there is no largest of no elements");
  out[0] = in[0];
  out[0].dtype = LOOM_I64;
  out[0].dim[a->axis] = 1;
  *n_out = 1;
  return TRUE;
}

static const char *const argreduce_words[] = { "min", "max" };
static const LoomAttr argreduce_attrs[]
    = { LOOM_ATTR ("", WORD, LoomArgReduceAttrs, largest, LOOM_ATTR_WORDS (argreduce_words)),
        LOOM_ATTR ("axis", INT, LoomArgReduceAttrs, axis),
        LOOM_ATTR ("classes", INT, LoomArgReduceAttrs, classes, LOOM_ATTR_UNLESS (0)), LOOM_ATTR_LAST };

const LoomPrim loom_prim_argreduce = { LOOM_PRIM_ROW ("argreduce", CORE, 1),
                                       .separates_positions = loom_positions_argreduce,
                                       .sharding = loom_shard_argreduce,
                                       .doc = "First position of the largest or smallest element along an axis.",
                                       LOOM_PRIM_ATTRS (LoomArgReduceAttrs, argreduce_attrs),
                                       .infer = infer_argreduce,
                                       .gradient_is_zero = TRUE,
                                       .flops = flops_reduce };
