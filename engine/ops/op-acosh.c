/* Inverse hyperbolic cosine. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_acosh = {
  .name = "acosh",
  .title = "Inverse hyperbolic cosine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Finds the number, not below 0, whose hyperbolic cosine each element is.",
  .details = "Distances in hyperbolic space are measured by it. Defined from 1 upwards; at 1 the slope is "
             "infinite.",
  .formula = "y = ln(x + √(x² − 1))",
  .reference = "torch.acosh",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_ACOSH,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_above1,
};
