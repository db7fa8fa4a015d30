/* Addition: y = a + b, with broadcasting. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_add = {
  .name = "add",
  .title = "Add",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-add-symbolic",
  .synonyms = "plus residual skip +",
  .usual = TRUE,
  .doc = "Adds two tensors, or a number to a tensor, element by element.",
  .details = "Joins two paths of a network, as in a residual block, or adds a bias. Shapes broadcast: counted from the "
             "right, a dimension of size 1 is repeated to the size of the other operand. Both operands get the "
             "gradient of the result, summed over repeated dimensions. The operation plus.",
  .formula = "y = a + b",
  .reference = "torch.add",
  LOOM_OP_ARITHMETIC (ADD, binary, pairs),
};
