/* Division: y = a / b, with broadcasting. */
#include "engine/ops/op-private.h"

static const char *const roundings[] = { "none", "trunc", "floor", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("other", FLOAT, ""), .doc = "A number used as the second operand if the port other is not wired." },
  { LOOM_PARAM ("rounding_mode", ENUM, "none"), .choices = roundings,
    .doc = "“trunc” rounds the result towards zero, “floor” rounds it down.", .advanced = TRUE },
  { NULL },
};

static gboolean
is_exact (const LoomInfer *ctx)
{
  return g_str_equal (loom_infer_string (ctx, "rounding_mode"), "none");
}

/* Rounded quotients of integers are integers. */
static void
infer (LoomInfer *ctx)
{
  if (is_exact (ctx))
    loom_op_infer_division (ctx);
  else
    loom_op_infer_rounded_division (ctx);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomScalarOp op = is_exact (infer_ctx)                                                    ? LOOM_SCALAR_DIV
                    : g_str_equal (loom_infer_string (infer_ctx, "rounding_mode"), "floor") ? LOOM_SCALAR_DIV_FLOOR
                                                                                            : LOOM_SCALAR_DIV_TRUNC;

  loom_op_emit_binary (ctx, op);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4", "f32:B,3,4" }, .range = "positive" },
  { .inputs = { "f32:B,3,1", "f32:4" }, .range = "positive" },
  { .inputs = { "f32:", "f32:2,3" }, .range = "positive" },
  { .inputs = { "f32:0,3", "f32:3" }, .range = "positive" },
  { .params = "other=2.5", .inputs = { "f32:B,3" } },
  { .params = "other=2", .inputs = { "i64:B,3" }, .range = "class:9" },
  { .params = "other=0.7 rounding_mode=trunc", .inputs = { "f32:B,3" } },
  { .params = "other=2 rounding_mode=floor", .inputs = { "i64:B,3" }, .range = "class:9" },
  { NULL },
};

const LoomOp loom_op_div = {
  .name = "div",
  .title = "Divide",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-div-symbolic",
  .synonyms = "divide quotient /",
  .doc = "Divides two tensors, or a tensor by a number, element by element.",
  .details
  = "Integers become floats unless the result is rounded. Division of floats by zero returns infinity or NaN; a "
    "rounded division of integers by zero is an error that reports its index. Shapes broadcast: counted from the "
    "right, a dimension of size 1 is repeated to the size of the other operand. The operation divided by.",
  .formula = "y = a / b",
  .reference = "torch.div",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
