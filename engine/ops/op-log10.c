/* Logarithm to base 10: y = log₁₀ x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_log10 = {
  .name = "log10",
  .title = "Logarithm to base 10",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Computes the logarithm to base 10 of each element.",
  .details = "log₁₀ 0 is minus infinity and the logarithm of a negative number NaN.",
  .formula = "y = log₁₀ x",
  .reference = "torch.log10",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_LOG10,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_positive,
};
