/* Absolute value: y = |x|. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_abs = {
  .name = "abs",
  .title = "Absolute value",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-abs-symbolic",
  .doc = "Computes the absolute value of each element.",
  .details = "The derivative is the sign of the element, and 0 at zero.",
  .formula = "y = |x|",
  .reference = "torch.abs",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .scalar = LOOM_SCALAR_ABS,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_away0,
};
