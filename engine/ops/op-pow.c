/* Power: y = xᵉ with a number or a tensor as exponent. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The base." },
  { "exponent", "The exponent; broadcasts with the input.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("exponent", FLOAT, ""), .doc = "The exponent as a number, used if the port exponent is not wired." },
  { NULL },
};

/* Powers of integers are integers, unless the exponent is negative. */
static void
infer (LoomInfer *ctx)
{
  if (loom_infer_input (ctx, 1) == NULL && loom_infer_is_set (ctx, "exponent")
      && loom_infer_float (ctx, "exponent") < 0)
    loom_op_infer_division (ctx);
  else
    loom_op_infer_binary (ctx);
}

/* Squares and square roots use cheaper formulas. */
static void
lower (LoomLower *ctx)
{
  double exponent = loom_infer_is_set (loom_lower_infer (ctx), "exponent")
                        ? loom_infer_float (loom_lower_infer (ctx), "exponent")
                        : 0;

  if (exponent == 2.0)
    loom_op_emit_unary (ctx, LOOM_SCALAR_SQUARE);
  else if (exponent == 0.5)
    loom_op_emit_unary (ctx, LOOM_SCALAR_SQRT);
  else if (exponent == -0.5)
    loom_op_emit_unary (ctx, LOOM_SCALAR_RSQRT);
  else
    loom_op_lower_binary (ctx);
}

static const LoomSample samples[] = {
  { .params = "exponent=2", .inputs = { "f32:B,3" } },
  { .params = "exponent=3", .inputs = { "f32:B,3" } },
  { .params = "exponent=0.5", .inputs = { "f32:B,3" }, .range = "positive" },
  { .params = "exponent=-1.5", .inputs = { "f32:" }, .range = "positive" },
  { .inputs = { "f32:B,3", "f32:3" }, .range = "positive" },
  { .inputs = { "f32:B,1", "f32:1,4" }, .range = "positive" },
  { .params = "exponent=2", .inputs = { "f32:0" } },
  { .params = "exponent=3", .inputs = { "i64:B,3" }, .range = "class:5" },
  { .params = "exponent=-1", .inputs = { "i64:B,3" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_pow = {
  .name = "pow",
  .title = "Power",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-pow-symbolic",
  .synonyms = "power square exponent **",
  .doc = "Raises each element to a power.",
  .details = "Exponent 2 is the square, ½ the square root, -1 the reciprocal. A negative base needs an integer "
             "exponent; other exponents result in NaN.",
  .formula = "y = xᵉ",
  .reference = "torch.pow",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .scalar = LOOM_SCALAR_POW,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
