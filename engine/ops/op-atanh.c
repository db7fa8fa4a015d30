/* Inverse hyperbolic tangent. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_atanh = {
  .name = "atanh",
  .title = "Inverse hyperbolic tangent",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Finds the number whose hyperbolic tangent each element is.",
  .details = "Undoes tanh: takes −1 to 1 back to all numbers. Outside there is no value, and at the ends it is "
             "infinite.",
  .formula = "y = ½ ln((1 + x) / (1 − x))",
  .reference = "torch.atanh",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_ATANH,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_unit,
};
