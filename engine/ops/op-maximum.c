/* The larger of two elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_maximum = {
  .name = "maximum",
  .title = "Larger of two",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-max-symbolic",
  .doc = "Takes the larger of two elements, place by place.",
  .details = "A ReLU is the maximum of a number and 0. The gradient goes to the winner; equals share it. NaN "
             "wins over everything.",
  .formula = "y = max(a, b)",
  .reference = "torch.maximum",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_MAX,
  .infer = loom_op_infer_binary,
  .lower = loom_op_lower_binary,
  .samples = loom_op_samples_pairs,
};
