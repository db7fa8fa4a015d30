/* Maximum over all dimensions, or along one with its indices. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_with_index (ctx, TRUE);
}

const LoomOp loom_op_max = {
  .name = "max",
  .title = "Max",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-max-symbolic",
  .doc = "Returns the maximum of all elements, or along a dimension with its indices.",
  .details = "With dim, the gradient goes to the element at the returned index; without, it is divided evenly between "
             "all elements equal to the maximum.",
  .formula = "y = max x",
  .reference = "torch.max",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_with_index,
  .dynamic_outputs = loom_op_outputs_with_index,
  .params = loom_op_param_reduced_dim,
  .infer = loom_op_infer_with_index,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_reduced_dim,
};
