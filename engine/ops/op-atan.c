/* Arc tangent. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_atan = {
  .name = "atan",
  .title = "Arc tangent",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-tanh-symbolic",
  .doc = "Finds the angle whose tangent each element is.",
  .details = "Squeezes all numbers between −π/2 and π/2, more slowly than tanh does.",
  .formula = "y = tan⁻¹ x",
  .reference = "torch.atan",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_ATAN,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
