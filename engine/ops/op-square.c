/* Square: y = x². */
#include "engine/ops/op-private.h"

/* Bools become integers, as in PyTorch. */
static void
infer (LoomInfer *ctx)
{
  const LoomType *t = loom_infer_input (ctx, 0);

  loom_infer_output (ctx, 0, t->dtype == LOOM_BOOL ? LOOM_I64 : t->dtype, &t->shape);
}

const LoomOp loom_op_square = {
  .name = "square",
  .title = "Square",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-square-symbolic",
  .doc = "Computes the square of each element.",
  .details = "The derivative is 2x.",
  .formula = "y = x²",
  .reference = "torch.square",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = infer,
  .scalar = LOOM_SCALAR_SQUARE,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
