/* Triu: the upper triangle of a matrix. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_triangle (ctx, LOOM_SCALAR_LE);
}

const LoomOp loom_op_triu = {
  .name = "triu",
  .title = "Upper triangle",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-triangle-symbolic",
  .doc = "Returns the upper triangle of matrices; other elements are 0.",
  .details = "Applied to ones with diagonal 1 it marks later positions, which a causal attention mask excludes.",
  .formula = "yᵢⱼ = xᵢⱼ where j ≥ i + diagonal",
  .reference = "torch.triu",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_diagonal,
  .infer = loom_op_infer_triangle,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = loom_op_samples_triangle,
};
