/* Logarithm of 1 plus x: y = ln(1 + x), accurate near zero. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_log1p = {
  .name = "log1p",
  .title = "Logarithm of 1 plus",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Computes ln(1 + x) of each element, accurately near zero.",
  .details = "For small x, adding 1 first would lose digits. It is often applied to counts, because it maps zero to "
             "zero and compresses large numbers.",
  .formula = "y = ln(1 + x)",
  .reference = "torch.log1p",
  LOOM_OP_FUNCTION (LOG1P, float, positive),
};
