/* Logical or, by elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_logical_or = {
  .name = "logical_or",
  .title = "Or",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-symbolic",
  .doc = "True where at least one operand is.",
  .details = "Joins two masks into one that covers both. Numbers count as true unless they are 0. It has no "
             "slope, so no gradient passes.",
  .formula = "y = a ∨ b",
  .reference = "torch.logical_or",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_OR,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
