/* Ceil: y = ⌈x⌉. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_ceil = {
  .name = "ceil",
  .title = "Ceil",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-ceil-symbolic",
  .doc = "Rounds each element up to an integer.",
  .details = "The derivative is 0 everywhere, so layers before it learn nothing through it.",
  .formula = "y = ⌈x⌉",
  .reference = "torch.ceil",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .scalar = LOOM_SCALAR_CEIL,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
