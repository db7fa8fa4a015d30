/* Element-wise minimum: y = min(a, b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_minimum = {
  .name = "minimum",
  .title = "Element-wise minimum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-min-symbolic",
  .doc = "Computes the element-wise minimum of two tensors.",
  .details = "The gradient goes to the smaller element; equal elements get half each. If either element is NaN the "
             "result is NaN.",
  .formula = "y = min(a, b)",
  .reference = "torch.minimum",
  LOOM_OP_ARITHMETIC (MIN, binary, pairs),
};
