/* Tangent: y = tan x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_tan = {
  .name = "tan",
  .title = "Tangent",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Computes the tangent of each element, an angle in radians.",
  .details = "It has poles at odd multiples of π/2. Its derivative is 1 + tan² x.",
  .formula = "y = sin x / cos x",
  .reference = "torch.tan",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_TAN,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_unit,
};
