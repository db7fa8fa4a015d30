/* Largest elements along any dimensions; equals share the gradient. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_extreme (ctx, TRUE);
}

const LoomOp loom_op_amax = {
  .name = "amax",
  .title = "Largest along",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-max-symbolic",
  .doc = "Finds the largest elements along some dimensions, or of all.",
  .details = "Like max, but along several dimensions at once and without positions. Where several elements are "
             "equally large each gets its share of the gradient.",
  .formula = "y = max x",
  .reference = "torch.amax",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = loom_op_infer_extreme,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_extreme,
};
