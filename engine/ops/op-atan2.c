/* Arc tangent of a quotient, with the quadrant. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_atan2 = {
  .name = "atan2",
  .title = "Arc tangent of two arguments",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Computes the angle of the point (other, input), in radians.",
  .details = "The arc tangent of input / other in the correct quadrant, from −π to π; other may be 0.",
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
