/* Logical not, by elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_logical_not = {
  .name = "logical_not",
  .title = "Not",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-not-symbolic",
  .doc = "True where the operand is false.",
  .details = "Turns a mask round. A number is false where it is 0. It has no slope, so no gradient passes.",
  .formula = "y = ¬x",
  .reference = "torch.logical_not",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .scalar = LOOM_SCALAR_NOT,
  .infer = loom_op_infer_question,
  .lower = loom_op_lower_question,
  .samples = loom_op_samples_asked,
};
