/* ReLU6: min(max(x, 0), 6). */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomValue x = loom_op_operand (ctx, 0), y;

  y = loom_op_clamp_to (ctx, x, 0, LOOM_SCALAR_GT, LOOM_SCALAR_MAX);
  loom_lower_output (ctx, 0, loom_op_clamp_to (ctx, y, 6, LOOM_SCALAR_LT, LOOM_SCALAR_MIN));
}

const LoomOp loom_op_relu6 = {
  .name = "relu6",
  .title = "ReLU6",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-clamp-symbolic",
  .doc = "Applies a ReLU that is limited to 6.",
  .details = "The limited range suits low-precision arithmetic, so it is used in networks for mobile devices.",
  .formula = "y = min(max(x, 0), 6)",
  .reference = "torch.nn.ReLU6",
  .source = "Krizhevsky, “Convolutional Deep Belief Networks on CIFAR-10”, 2010",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .lower = lower,
  .samples = loom_op_samples_away0,
};
