/* The angle of a point. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_atan2 = {
  .name = "atan2",
  .title = "Angle of a point",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Finds the angle at which the point (other, input) is seen from the origin.",
  .details = "Like the arc tangent of a quotient, but it knows all four quadrants and does not mind an upright "
             "line: the result runs from −π to π.",
  .formula = "y = ∠(b, a)",
  .reference = "torch.atan2",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_ATAN2,
  .infer = loom_op_infer_division,
  .lower = loom_op_lower_binary,
  .samples = loom_op_samples_pairs,
};
