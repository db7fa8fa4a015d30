/* Ceil: y = ⌈x⌉. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_ceil = {
  .name = "ceil",
  .title = "Ceil",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-ceil-symbolic",
  .doc = "Rounds every element up to a whole number.",
  .details = "The steps are flat, so the gradient is zero everywhere: nothing in front of it learns through "
             "it.",
  .formula = "y = ⌈x⌉",
  .reference = "torch.ceil",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .scalar = LOOM_SCALAR_CEIL,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
