/* Min: the smallest element, of all or along a dimension with its position. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_found (ctx, FALSE);
}

const LoomOp loom_op_min = {
  .name = "min",
  .title = "Minimum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-min-symbolic",
  .doc = "Finds the smallest element, of all or along a dimension.",
  .details = "With a dimension it also says where the smallest stands: the nearest neighbour, when elements "
             "are distances. The gradient goes to the winner alone; over a whole tensor equal winners share "
             "it.",
  .formula = "y = min x",
  .reference = "torch.min",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_found,
  .dynamic_outputs = loom_op_outputs_found,
  .params = loom_op_param_searched,
  .infer = loom_op_infer_found,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_searched,
};
