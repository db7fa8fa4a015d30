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
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_LOG,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_positive,
};
