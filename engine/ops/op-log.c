/* Natural logarithm: y = ln x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_log = {
  .name = "log",
  .title = "Logarithm",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Computes the natural logarithm of each element.",
  .details = "ln 0 is minus infinity and the logarithm of a negative number NaN. For the logarithm of a softmax use "
             "log_softmax, which stays finite.",
  .formula = "y = ln x",
  .reference = "torch.log",
  LOOM_OP_FUNCTION (LOG, float, positive),
};
