/* Smallest elements along any dimensions; equals share the gradient. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_extreme (ctx, FALSE);
}

const LoomOp loom_op_amin = {
  .name = "amin",
  .title = "Smallest along",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-min-symbolic",
  .doc = "Finds the smallest elements along some dimensions, or of all.",
  .details = "Like min, but along several dimensions at once and without positions. Where several elements are "
             "equally small each gets its share of the gradient.",
  .formula = "y = min x",
  .reference = "torch.amin",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = loom_op_infer_extreme,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_extreme,
};
