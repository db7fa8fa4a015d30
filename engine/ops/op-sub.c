/* Subtract: y = a - b, with broadcasting. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_sub = {
  .name = "sub",
  .title = "Subtract",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sub-symbolic",
  .synonyms = "subtract minus difference -",
  .doc = "Subtracts a tensor or a number.",
  .details = "The difference of two paths, an error for instance. Shapes need not be equal: counted from the right, a "
             "size of 1 is repeated as often as the other operand asks. The operation minus.",
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
