/* Element-wise logical exclusive or: y = a ⊕ b. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_logical_xor = {
  .name = "logical_xor",
  .title = "Exclusive or",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-symbolic",
  .doc = "Computes the element-wise logical XOR.",
  .details = "True if exactly one operand is true; the function that a single linear layer cannot represent. A number "
             "is true unless it is 0. Not differentiable.",
  .formula = "y = a ⊕ b",
  .reference = "torch.logical_xor",
  LOOM_OP_COMPARISON (XOR),
};
