/* Floor: y = ⌊x⌋. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_floor = {
  .name = "floor",
  .title = "Floor",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-floor-symbolic",
  .doc = "Rounds each element down to an integer.",
  .details = "The derivative is 0 everywhere, so layers before it learn nothing through it.",
  .formula = "y = ⌊x⌋",
  .reference = "torch.floor",
  LOOM_OP_FUNCTION (FLOOR, same, any),
};
