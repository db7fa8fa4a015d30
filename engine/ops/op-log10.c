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
  LOOM_OP_FUNCTION (LOG10, float, positive),
};
