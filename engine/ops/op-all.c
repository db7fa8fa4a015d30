/* All: whether every element is true, of all or along dimensions. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_asked_along (ctx, LOOM_SCALAR_EQ); /* None of them is 0: of those that are, there are none. */
}

const LoomOp loom_op_all = {
  .name = "all",
  .title = "All",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-symbolic",
  .doc = "Asks whether every element is true.",
  .details = "One number for a whole mask: did all points end on the right side? Of no elements all are true. "
             "Numbers count as true unless they are 0; no gradient passes.",
  .formula = "y = x₁ ∧ x₂ ∧ …",
  .reference = "torch.all",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = loom_op_infer_asked_along,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_asked_along,
};
