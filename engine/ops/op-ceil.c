/* Ceil: y = ⌈x⌉. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_ceil = {
  .name = "ceil",
  .title = "Ceil",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-ceil-symbolic",
  .doc = "Rounds each element up to an integer.",
  .details = "The derivative is 0 everywhere, so layers before it learn nothing through it.",
  .formula = "y = ⌈x⌉",
  .reference = "torch.ceil",
  LOOM_OP_FUNCTION (CEIL, same, any),
};
