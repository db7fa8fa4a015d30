/* Softmax and log-softmax along an axis as composites, so that back ends can compute them in one pass; expand() has the
 * formulas in core primitives. */
#include "engine/program/partition-sharding.h"
#include "engine/program/position-rules.h"

static gboolean
infer_softmax (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomSoftmaxAttrs *a = attrs;

  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  if (a->axis < 0 || a->axis >= in[0].rank || !loom_dtype_is_float (in[0].dtype))
    return loom_prim_refuse (why, "needs floats and an axis inside rank %d", in[0].rank);
  out[0] = in[0];
  *n_out = 1;
  return TRUE;
}

static gboolean
infer_softmax_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                    char **why)
{
  if (!loom_prim_arity (n_in, 2, why) || !infer_softmax (attrs, 1, in, out, n_out, why))
    return FALSE;
  return loom_desc_same_shape (&in[0], &in[1]) || loom_prim_refuse (why, "g and y must have one shape");
}

static gboolean
gradient_softmax (const LoomGradCall *call)
{
  LoomValue in[2] = { call->grad[0], call->instr->out[0] };

  call->in_grad[0] = loom_emit (call->p, loom_prim ("softmax_grad"), call->instr->attrs, 2, in, NULL);
  return TRUE;
}

/* The maximum is subtracted first, so that exponentials do not overflow. It cancels out, so it needs no gradient. */
static void
expand_softmax (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  const LoomSoftmaxAttrs *a = instr->attrs;
  guint32 axis = 1u << a->axis;
  LoomValue top = loom_detach (p, loom_reduce (p, LOOM_REDUCE_MAX, in[0], axis, TRUE));
  LoomValue shifted = loom_binary (p, LOOM_SCALAR_SUB, in[0], top);
  LoomValue e = loom_unary (p, LOOM_SCALAR_EXP, shifted);
  LoomValue sum = loom_reduce (p, LOOM_REDUCE_SUM, e, axis, TRUE);

  if (a->log)
    out[0] = loom_binary (p, LOOM_SCALAR_SUB, shifted, loom_unary (p, LOOM_SCALAR_LOG, sum));
  else
    out[0] = loom_binary (p, LOOM_SCALAR_DIV, e, sum);
}

/* softmax: y·(g - Σ g·y); log_softmax: g - eʸ·Σ g. */
static void
expand_softmax_grad (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  const LoomSoftmaxAttrs *a = instr->attrs;
  guint32 axis = 1u << a->axis;
  LoomValue g = in[0], y = in[1], sum;

  if (a->log)
    {
      sum = loom_reduce (p, LOOM_REDUCE_SUM, g, axis, TRUE);
      out[0] = loom_binary (p, LOOM_SCALAR_SUB, g,
                            loom_binary (p, LOOM_SCALAR_MUL, loom_unary (p, LOOM_SCALAR_EXP, y), sum));
      return;
    }
  sum = loom_reduce (p, LOOM_REDUCE_SUM, loom_binary (p, LOOM_SCALAR_MUL, g, y), axis, TRUE);
  out[0] = loom_binary (p, LOOM_SCALAR_MUL, y, loom_binary (p, LOOM_SCALAR_SUB, g, sum));
}

static double
flops_softmax (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return 5.0 * (double)loom_desc_count (&in[0]);
}

static const LoomAttr softmax_attrs[] = { LOOM_ATTR ("axis", INT, LoomSoftmaxAttrs, axis),
                                          LOOM_ATTR ("log", FLAG, LoomSoftmaxAttrs, log), LOOM_ATTR_LAST };

const LoomPrim loom_prim_softmax = { LOOM_PRIM_ROW ("softmax", COMPOSITE, 1),
                                     .separates_positions = loom_positions_softmax,
                                     .sharding = loom_shard_softmax,
                                     .doc = "Exponentials scaled to a sum of 1 along an axis, or their logarithms.",
                                     LOOM_PRIM_ATTRS (LoomSoftmaxAttrs, softmax_attrs),
                                     .infer = infer_softmax,
                                     .gradient = gradient_softmax,
                                     .expand = expand_softmax,
                                     .flops = flops_softmax,
                                     .precision = LOOM_PRECISION_F32 };

const LoomPrim loom_prim_softmax_grad = { LOOM_PRIM_ROW ("softmax_grad", COMPOSITE, 1),
                                          .sharding = loom_shard_softmax,
                                          .doc = "The gradient of softmax from its result.",
                                          LOOM_PRIM_ATTRS (LoomSoftmaxAttrs, softmax_attrs),
                                          .infer = infer_softmax_grad,
                                          .expand = expand_softmax_grad,
                                          .flops = flops_softmax };
