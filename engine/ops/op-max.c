/* Max: the largest element, of all or along a dimension with its position. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_found (ctx, TRUE);
}

const LoomOp loom_op_max = {
  .name = "max",
  .title = "Maximum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-max-symbolic",
  .doc = "Finds the largest element, of all or along a dimension.",
  .details
  = "With a dimension it also says where the largest stands: along the classes of a classifier that position is "
    "the answer. The gradient goes to the winner alone; over a whole tensor equal winners share it.",
  .formula = "y = max x",
  .reference = "torch.max",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_found,
  .dynamic_outputs = loom_op_outputs_found,
  .params = loom_op_param_searched,
  .infer = loom_op_infer_found,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_searched,
};
