/* Maximum over dimensions; equal elements share the gradient. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_extreme (ctx, TRUE);
}

const LoomOp loom_op_amax = {
  .name = "amax",
  .title = "Maximum over dimensions",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-max-symbolic",
  .doc = "Returns the maximum over one or more dimensions.",
  .details = "Unlike max, it reduces several dimensions at once and returns no indices. If several elements are equal "
             "to the maximum, the gradient is divided evenly between them.",
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
