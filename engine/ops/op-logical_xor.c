/* Logical exclusive or, by elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_logical_xor = {
  .name = "logical_xor",
  .title = "Exclusive or",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-symbolic",
  .doc = "True where exactly one operand is.",
  .details = "The function that a single linear layer cannot learn, and two layers can. Numbers count as true "
             "unless they are 0. It has no slope, so no gradient passes.",
  .formula = "y = a ⊕ b",
  .reference = "torch.logical_xor",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_XOR,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
