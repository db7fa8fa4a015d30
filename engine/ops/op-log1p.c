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
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_LOG1P,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_positive,
};
