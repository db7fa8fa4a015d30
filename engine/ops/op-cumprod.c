/* Cumulative product along a dimension. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (infer, 0)->dtype);
  LoomValue x = loom_cast (p, loom_lower_input (ctx, 0), dtype);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = loom_op_axis_of (loom_infer_int (infer, "dim"), MAX (d.rank, 1));

  x = loom_op_running_product (p, loom_op_at_least_1d (p, x), axis);
  loom_lower_output (ctx, 0, loom_reshape (p, x, d.rank, d.dim));
}

const LoomOp loom_op_cumprod = {
  .name = "cumprod",
  .title = "Cumulative product",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-cumsum-symbolic",
  .doc = "Computes the cumulative product along a dimension.",
  .details
  = "For example, the discount factors of a return, or the probability that no event has happened so far. It takes "
    "log₂(length) passes over the tensor and does not divide, so zeros cause no problem for the gradient.",
  .formula = "yᵢ = x₀ · x₁ · … · xᵢ",
  .reference = "torch.cumprod",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_running,
  .infer = loom_op_infer_running,
  .lower = lower,
  .samples = loom_op_samples_running,
};
