/* Truncation: rounds towards zero. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_trunc = {
  .name = "trunc",
  .title = "Truncate",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-trunc-symbolic",
  .doc = "Removes the fraction of each element.",
  .details = "Rounds towards zero. The derivative is 0 everywhere, so layers before it learn nothing through it.",
  .formula = "y = sign(x) · ⌊|x|⌋",
  .reference = "torch.trunc",
  LOOM_OP_FUNCTION (TRUNC, same, away0),
};
