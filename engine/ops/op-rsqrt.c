/* Reciprocal square root: y = 1/√x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_rsqrt = {
  .name = "rsqrt",
  .title = "Reciprocal square root",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-rsqrt-symbolic",
  .doc = "Computes the reciprocal square root of each element.",
  .details = "Used in normalisation layers. The result is infinite for 0, so a small number is usually added first.",
  .formula = "y = 1 / √x",
  .reference = "torch.rsqrt",
  LOOM_OP_FUNCTION (RSQRT, float, positive),
};
