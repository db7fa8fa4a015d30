/* Vector norm with any p, as torch.linalg.vector_norm. */
#include "engine/ops/op-private.h"

#include <math.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("p", STRING, "2"),
    .doc = "The order p of the norm: a number, inf for the largest magnitude or -inf for the smallest." },
  { LOOM_OP_DIMS ("dim"), .def = "", .doc = "The dimensions to reduce; if empty, all of them." },
  { LOOM_PARAM ("keepdim", BOOL, "false"), .doc = "Whether the result keeps the reduced dimensions with size 1." },
  { NULL },
};

/* The parameter is a text, because numbers in a graph are finite and p need not be. */
static gboolean
read_order (const LoomInfer *ctx, double *order)
{
  const char *text = loom_infer_string (ctx, "p");
  char *end;

  *order = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && !isnan (*order);
}

static void
infer (LoomInfer *ctx)
{
  guint32 axes;
  double order;

  if (!read_order (ctx, &order))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "p", "“%s” is not a number. Write p as 2, 0.5, inf or -inf.",
                        loom_infer_string (ctx, "p"));
      return;
    }
  if (!loom_op_axes (ctx, "dim", loom_infer_input (ctx, 0)->shape.rank, &axes)
      || (isinf (order) && !loom_op_has_elements (ctx, axes)))
    return;
  loom_op_infer_reduced (ctx);
}

/* |x|^p with derivative 0 at 0, where it would be infinite for p < 1. */
static LoomValue
power (LoomLower *ctx, LoomValue magnitude, double exponent)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue zero = loom_op_const_like (ctx, magnitude, 0), flat, safe;
  LoomValue e = loom_op_const_like (ctx, magnitude, exponent);

  if (exponent >= 1 || exponent < 0)
    return loom_binary (p, LOOM_SCALAR_POW, magnitude, e);
  flat = loom_binary (p, LOOM_SCALAR_EQ, magnitude, zero);
  safe = loom_ternary (p, LOOM_SCALAR_SELECT, flat, loom_op_const_like (ctx, magnitude, 1), magnitude);
  return loom_ternary (p, LOOM_SCALAR_SELECT, flat, zero, loom_binary (p, LOOM_SCALAR_POW, safe, e));
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), y;
  double order;

  g_return_if_fail (read_order (loom_lower_infer (ctx), &order));
  if (order == 2)
    y = loom_op_root (p, loom_op_reduce (ctx, LOOM_REDUCE_SUM, loom_unary (p, LOOM_SCALAR_SQUARE, x)));
  else if (order == 0)
    {
      LoomTensorDesc d = loom_op_desc (ctx, x);

      y = loom_binary (p, LOOM_SCALAR_NE, x, loom_op_const_like (ctx, x, 0));
      y = loom_op_reduce (ctx, LOOM_REDUCE_SUM, loom_cast (p, y, d.dtype));
    }
  else if (isinf (order))
    y = loom_op_reduce (ctx, order > 0 ? LOOM_REDUCE_MAX : LOOM_REDUCE_MIN, loom_unary (p, LOOM_SCALAR_ABS, x));
  else if (order == 1)
    y = loom_op_reduce (ctx, LOOM_REDUCE_SUM, loom_unary (p, LOOM_SCALAR_ABS, x));
  else
    {
      y = loom_op_reduce (ctx, LOOM_REDUCE_SUM, power (ctx, loom_unary (p, LOOM_SCALAR_ABS, x), order));
      y = power (ctx, y, 1 / order);
    }
  loom_lower_output (ctx, 0, y);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" } },
  { .params = "p=1 dim=1", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "p=3 dim=0,-1 keepdim=true", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "p=0.5", .inputs = { "f32:B,3" }, .range = "away0" },
  { .params = "p=inf dim=-1", .inputs = { "f32:B,3" }, .range = "distinct" },
  { .params = "p=-inf dim=-1", .inputs = { "f32:B,3" }, .range = "away0" },
  { .params = "p=0", .inputs = { "f32:B,3" }, .range = "away0" },
  { .inputs = { "f32:" }, .range = "away0" },
  { .params = "dim=1", .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_norm = {
  .name = "norm",
  .title = "Norm",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-norm-symbolic",
  .synonyms = "length euclidean magnitude",
  .doc = "Computes the p-norm of all elements, or along dimensions.",
  .details = "p = 2 is the Euclidean length, 1 the sum of magnitudes, inf the largest magnitude and 0 the number of "
             "nonzero elements. At a norm of 0 the gradient is 0.",
  .formula = "y = (Σ |x|ᵖ)^(1/p)",
  .reference = "torch.norm",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
