/* Product over all or some dimensions. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_lower_output (ctx, 0, loom_op_reduce (ctx, LOOM_REDUCE_PROD, loom_op_operand (ctx, 0)));
}

const LoomOp loom_op_prod = {
  .name = "prod",
  .title = "Product",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-prod-symbolic",
  .doc = "Computes the product of all elements, or along dimensions.",
  .details = "Products of many factors overflow or underflow easily; sums of logarithms do not. The gradient of each "
             "factor is the product of the others, correct also if there are zeros.",
  .formula = "y = Π x",
  .reference = "torch.prod",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = loom_op_infer_reduced_whole,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_reduced,
};
