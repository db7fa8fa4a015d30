/* Sign: -1, 0 or 1. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_sign = {
  .name = "sign",
  .title = "Sign",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sign-symbolic",
  .doc = "Returns the sign of each element: −1, 0 or 1.",
  .details = "Used in sign descent and the Lion optimiser. The derivative is 0 everywhere.",
  .formula = "y = −1, 0 or 1",
  .reference = "torch.sign",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .scalar = LOOM_SCALAR_SIGN,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_away0,
};
