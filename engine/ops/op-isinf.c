/* Element-wise test for infinity. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_isinf = {
  .name = "isinf",
  .title = "Is infinite",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-isnan-symbolic",
  .doc = "Tests whether each element is infinite, with either sign.",
  .details = "Values that overflow become infinite, usually one step before the first NaN. Not differentiable.",
  .formula = "y = (|x| = ∞)",
  .reference = "torch.isinf",
  LOOM_OP_PREDICATE (ISINF),
};
