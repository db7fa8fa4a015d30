/* Element-wise maximum: y = max(a, b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_maximum = {
  .name = "maximum",
  .title = "Element-wise maximum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-max-symbolic",
  .doc = "Computes the element-wise maximum of two tensors.",
  .details = "The gradient goes to the larger element; equal elements get half each. If either element is NaN the "
             "result is NaN.",
  .formula = "y = max(a, b)",
  .reference = "torch.maximum",
  LOOM_OP_ARITHMETIC (MAX, binary, pairs),
};
