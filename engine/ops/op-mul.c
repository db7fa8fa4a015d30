/* Multiply: y = a · b, with broadcasting. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_mul = {
  .name = "mul",
  .title = "Multiply",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-mul-symbolic",
  .synonyms = "multiply product times hadamard *",
  .usual = TRUE,
  .doc = "Multiplies element by element.",
  .details
  = "Scales, masks and gates: each operand’s gradient is the result’s times the other operand. For the product of "
    "matrices use matmul. "
    "Shapes need not be equal: counted from the right, a size of 1 is repeated as often as the other operand asks. The "
    "operation times.",
  .formula = "y = a · b",
  .reference = "torch.mul",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_MUL,
  .infer = loom_op_infer_binary,
  .lower = loom_op_lower_binary,
  .samples = loom_op_samples_pairs,
};
