/* Truncate: y is x without its fraction. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_trunc = {
  .name = "trunc",
  .title = "Truncate",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-trunc-symbolic",
  .doc = "Drops the digits after the decimal point.",
  .details = "Rounds towards zero: down above it and up below. The steps are flat, so the gradient is zero "
             "everywhere.",
  .formula = "y = sign(x) · ⌊|x|⌋",
  .reference = "torch.trunc",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .scalar = LOOM_SCALAR_TRUNC,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_away0,
};
