/* Any: whether an element is true, of all or along dimensions. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_asked_along (ctx, LOOM_SCALAR_NE); /* The number of those that are not 0 is not 0. */
}

const LoomOp loom_op_any = {
  .name = "any",
  .title = "Any",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-symbolic",
  .doc = "Asks whether at least one element is true.",
  .details = "One number for a whole mask: is there a NaN anywhere? Of no elements none is true. Numbers count "
             "as true unless they are 0; no gradient passes.",
  .formula = "y = x₁ ∨ x₂ ∨ …",
  .reference = "torch.any",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = loom_op_infer_asked_along,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_asked_along,
};
