/* Lowers dropout of elements and of whole channels: a mask with one element for each dropped unit, broadcast over
 * it. */
#include "engine/ops/op-layers.h"

const LoomPortSpec loom_op_port_dropped[] = {
  { "out", "The input with the dropped elements set." },
  { "mask", "1 for kept, 0 for dropped elements; broadcasts to the input.", LOOM_PORT_OPTIONAL },
  { NULL },
};

const LoomParamSpec loom_op_param_dropped[] = {
  { LOOM_PARAM ("p", FLOAT, "0.5"), LOOM_RANGE (0, 1),
    .doc = "The probability that an element (or channel) is dropped; may be changed while training runs.",
    .hyper = TRUE },
  { NULL },
};

void
loom_op_infer_dropout (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);

  if (!loom_op_needs_float (ctx, 0, "input", "scales the kept elements"))
    return;
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
  loom_infer_output (ctx, 1, x->dtype, &x->shape);
}

void
loom_op_infer_dropped (LoomInfer *ctx, int dims)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape mask = x->shape;

  if (!loom_op_space (ctx, dims, "For single elements use dropout.", "scales the kept elements"))
    return;
  for (int i = 2; i < mask.rank; i++)
    mask.dim[i] = loom_dim (1);
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
  loom_infer_output (ctx, 1, x->dtype, &mask);
}

double
loom_op_dropped_flops (const LoomInfer *ctx)
{
  return 2 * loom_op_output_count (ctx, 0);
}

/* The mask of the shape of output 1, 1 for kept elements; `scale` becomes 1/(1 - p), or 0 for p = 1. In evaluation
 * it returns 0, after it has set output 0 to the input and output 1 to ones. */
static LoomValue
dropout_mask (LoomLower *ctx, LoomValue *scale)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), rate, mask, keep;
  LoomDType dtype = loom_op_desc (ctx, x).dtype;
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 1, dims);

  if (!loom_lower_is_training (ctx))
    {
      loom_lower_output (ctx, 0, x);
      loom_lower_output (ctx, 1, loom_fill (p, dtype, rank, dims, 1));
      return 0;
    }
  rate = loom_cast (p, loom_lower_hyper (ctx, "p"), dtype);
  mask = loom_cast (
      p, loom_binary (p, LOOM_SCALAR_GE, loom_lower_random (ctx, LOOM_RANDOM_UNIFORM, 0, rank, dims), rate), dtype);
  keep = loom_binary (p, LOOM_SCALAR_SUB, loom_const (p, dtype, 1), rate);
  /* The guard returns zeros for p = 1, not 0/0. */
  *scale
      = loom_ternary (p, LOOM_SCALAR_SELECT, keep, loom_unary (p, LOOM_SCALAR_RECIP, keep), loom_const (p, dtype, 0));
  loom_lower_output (ctx, 1, mask);
  return mask;
}

void
loom_op_lower_dropout (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue scale, mask = dropout_mask (ctx, &scale);

  if (mask == 0)
    return;
  loom_lower_output (
      ctx, 0,
      loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_MUL, loom_lower_input (ctx, 0), mask), scale));
}

/* ---- alpha dropout ------------------------------------------------------ */

/* The limit of selu for x → -∞: −λα. */
#define LOWEST (-1.7580993408473766)

/* Dropped elements become the limit v; a and b then restore mean 0 and variance 1: with q = 1 - p, a = 1/√(q·(1 +
 * p·v²)) and b = -a·p·v. */
void
loom_op_lower_alpha_dropout (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), scale, mask = dropout_mask (ctx, &scale), rate, a, b, v;
  LoomDType dtype = loom_op_desc (ctx, x).dtype;
  LoomValue one = loom_const (p, dtype, 1), lowest = loom_const (p, dtype, LOWEST);

  if (mask == 0)
    return;
  rate = loom_cast (p, loom_lower_hyper (ctx, "p"), dtype);
  v = loom_ternary (p, LOOM_SCALAR_FMA, rate, loom_const (p, dtype, LOWEST * LOWEST), one);
  /* The scale is 1/q, or 0 for p = 1, which returns zeros as PyTorch does. */
  a = loom_unary (p, LOOM_SCALAR_SQRT, loom_binary (p, LOOM_SCALAR_DIV, scale, v));
  b = loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_MUL, a, rate), loom_const (p, dtype, -LOWEST));
  x = loom_ternary (p, LOOM_SCALAR_SELECT, mask, x, lowest);
  loom_lower_output (ctx, 0, loom_ternary (p, LOOM_SCALAR_FMA, x, a, b));
}

double
loom_op_alpha_dropout_flops (const LoomInfer *ctx)
{
  return 3 * loom_op_output_count (ctx, 0);
}
