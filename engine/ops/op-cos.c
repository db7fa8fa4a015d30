/* Cosine: y = cos x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_cos = {
  .name = "cos",
  .title = "Cosine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Computes the cosine of each element, an angle in radians.",
  .details = "Sine and cosine of several frequencies encode positions; cosine schedules lower learning rates.",
  .formula = "y = cos x",
  .reference = "torch.cos",
  LOOM_OP_FUNCTION (COS, float, any),
};
