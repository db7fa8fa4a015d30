/* Any: whether at least one element is true, over all or some dimensions. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_tested_along (ctx, LOOM_SCALAR_NE); /* An element is true if the number of elements that are not 0 is
                                                     * not 0. */
}

const LoomOp loom_op_any = {
  .name = "any",
  .title = "Any",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-symbolic",
  .doc = "Tests whether at least one element is true.",
  .details = "Reduces all dimensions, or those in dim, to a bool; after isnan it finds whether a tensor contains NaN. "
             "A number is true unless it is 0; over no elements the result is false. Not differentiable.",
  .formula = "y = x₁ ∨ x₂ ∨ …",
  .reference = "torch.any",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = loom_op_infer_tested_along,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_tested_along,
};
