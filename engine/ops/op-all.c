/* All: whether every element is true, over all or some dimensions. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_tested_along (ctx, LOOM_SCALAR_EQ); /* Every element is true if no element is 0. */
}

const LoomOp loom_op_all = {
  .name = "all",
  .title = "All",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-symbolic",
  .doc = "Tests whether all elements are true.",
  .details = "Reduces all dimensions, or those in dim, to a bool. A number is true unless it is 0; over no elements "
             "the result is true. Not differentiable.",
  .formula = "y = x₁ ∧ x₂ ∧ …",
  .reference = "torch.all",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = loom_op_infer_tested_along,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_tested_along,
};
