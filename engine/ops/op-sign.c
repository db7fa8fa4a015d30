/* Sign: y is -1, 0 or 1. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_sign = {
  .name = "sign",
  .title = "Sign",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sign-symbolic",
  .doc = "Says whether each element is negative, zero or positive.",
  .details = "Sign descent and the Lion optimiser move by it: every weight takes a step of the same length, "
             "whichever way its gradient points. Its own gradient is zero.",
  .formula = "y = −1, 0 or 1",
  .reference = "torch.sign",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .scalar = LOOM_SCALAR_SIGN,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_away0,
};
