/* Arc cosine. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_acos = {
  .name = "acos",
  .title = "Arc cosine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Finds the angle whose cosine each element is.",
  .details = "Turns the similarity of two directions back into the angle between them. Defined from −1 to 1; "
             "at the ends the slope is infinite.",
  .formula = "y = cos⁻¹ x",
  .reference = "torch.acos",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_ACOS,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_unit,
};
