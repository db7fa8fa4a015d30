/* Element-wise comparison: y = (a ≤ b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_le = {
  .name = "le",
  .title = "Less or equal",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-le-symbolic",
  .synonyms = "less equal <=",
  .doc = "Tests whether the first element is less than or equal to the second.",
  .details
  = "For example, key positions compared with query positions give a causal mask for attention. Not differentiable.",
  .formula = "y = (a ≤ b)",
  .reference = "torch.le",
  LOOM_OP_COMPARISON (LE),
};
