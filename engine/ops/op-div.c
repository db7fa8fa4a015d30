/* Divide: y = a / b, with broadcasting. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_div = {
  .name = "div",
  .title = "Divide",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-div-symbolic",
  .doc = "Divides element by element.",
  .details = "Whole numbers become floats. Division by zero gives infinity or NaN. Shapes need not be equal: counted "
             "from the right, a size of 1 is repeated as often as the other operand asks.",
  .formula = "y = a / b",
  .reference = "torch.div",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_DIV,
  .infer = loom_op_infer_division,
  .lower = loom_op_lower_binary,
  .samples = loom_op_samples_positive_pairs,
};
