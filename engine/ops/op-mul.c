/* Multiplication: y = a · b, with broadcasting. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_mul = {
  .name = "mul",
  .title = "Multiply",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-mul-symbolic",
  .synonyms = "multiply product times hadamard *",
  .usual = TRUE,
  .doc = "Multiplies two tensors, or a tensor by a number, element by element.",
  .details = "Used for scaling, masks and gates. The gradient of each operand is that of the result times the other "
             "operand. For matrices use matmul. Shapes broadcast: counted from the right, a dimension of size 1 is "
             "repeated to the size of the other operand. The operation times.",
  .formula = "y = a · b",
  .reference = "torch.mul",
  LOOM_OP_ARITHMETIC (MUL, binary, pairs),
};
