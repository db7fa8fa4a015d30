/* Arc sine. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_asin = {
  .name = "asin",
  .title = "Arc sine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Finds the angle whose sine each element is.",
  .details = "Defined from −1 to 1; anything else gives NaN. At the ends the slope is infinite.",
  .formula = "y = sin⁻¹ x",
  .reference = "torch.asin",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_ASIN,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_unit,
};
