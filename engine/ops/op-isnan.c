/* Element-wise test for NaN. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_isnan = {
  .name = "isnan",
  .title = "Is NaN",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-isnan-symbolic",
  .doc = "Tests whether each element is NaN.",
  .details = "0/0 and ∞ − ∞ are NaN, and so are most results computed from NaN. Put it after a layer to find the "
             "origin of a NaN in training. Not differentiable.",
  .formula = "y = (x ≠ x)",
  .reference = "torch.isnan",
  LOOM_OP_PREDICATE (ISNAN),
};
