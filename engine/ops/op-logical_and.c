/* Logical and, by elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_logical_and = {
  .name = "logical_and",
  .title = "And",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-symbolic",
  .doc = "True where both operands are.",
  .details = "Puts two conditions together: inside the sentence and not in the future. Numbers count as true "
             "unless they are 0. It has no slope, so no gradient passes.",
  .formula = "y = a ∧ b",
  .reference = "torch.logical_and",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_AND,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
