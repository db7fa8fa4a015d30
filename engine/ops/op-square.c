/* Square: y = x². */
#include "engine/ops/op-private.h"

/* Yes and no become numbers, as in PyTorch. */
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
  .doc = "Multiplies every element by itself.",
  .details = "Makes errors positive and large ones count more. Its slope grows with the number: 2x.",
  .formula = "y = x²",
  .reference = "torch.square",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = infer,
  .scalar = LOOM_SCALAR_SQUARE,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
