/* Logarithm to base 2: y = log₂ x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_log2 = {
  .name = "log2",
  .title = "Logarithm to base 2",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Computes the logarithm to base 2 of each element.",
  .details
  = "Used to measure information in bits. log₂ 0 is minus infinity and the logarithm of a negative number NaN.",
  .formula = "y = log₂ x",
  .reference = "torch.log2",
  LOOM_OP_FUNCTION (LOG2, float, positive),
};
