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
  LOOM_OP_ARITHMETIC (SUB, binary, pairs),
};
