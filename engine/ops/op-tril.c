/* Tril: the lower triangle of a matrix. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_triangle (ctx, LOOM_SCALAR_GE);
}

const LoomOp loom_op_tril = {
  .name = "tril",
  .title = "Lower triangle",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-triangle-symbolic",
  .doc = "Returns the lower triangle of matrices; other elements are 0.",
  .details = "Applied to ones it is a causal mask for attention.",
  .formula = "yᵢⱼ = xᵢⱼ where j ≤ i + diagonal",
  .reference = "torch.tril",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_diagonal,
  .infer = loom_op_infer_triangle,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = loom_op_samples_triangle,
};
