/* The smaller of two elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_minimum = {
  .name = "minimum",
  .title = "Smaller of two",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-min-symbolic",
  .doc = "Takes the smaller of two elements, place by place.",
  .details = "Holds one quantity below another; double Q-learning takes the smaller of two opinions. The "
             "gradient goes to the winner; equals share it.",
  .formula = "y = min(a, b)",
  .reference = "torch.minimum",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_MIN,
  .infer = loom_op_infer_binary,
  .lower = loom_op_lower_binary,
  .samples = loom_op_samples_pairs,
};
