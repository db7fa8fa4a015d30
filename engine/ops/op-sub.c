/* Subtraction: y = a - b, with broadcasting. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_sub = {
  .name = "sub",
  .title = "Subtract",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sub-symbolic",
  .synonyms = "subtract minus difference -",
  .doc = "Subtracts two tensors, or a number from a tensor, element by element.",
  .details = "For example, the error of a prediction. Shapes broadcast: counted from the right, a dimension of size 1 "
             "is repeated to the size of the other operand. The operation minus.",
  .formula = "y = a − b",
  .reference = "torch.sub",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_SUB,
  .infer = loom_op_infer_binary,
  .lower = loom_op_lower_binary,
  .samples = loom_op_samples_pairs,
};
