/* y = eˣ - 1, exact near zero. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_expm1 = {
  .name = "expm1",
  .title = "Exponential minus 1",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-exp-symbolic",
  .doc = "Computes eˣ − 1 without losing digits near zero.",
  .details = "For small x the exponential is so close to 1 that subtracting 1 afterwards would leave rounding "
             "errors. The lower branch of elu is made of it.",
  .formula = "y = eˣ − 1",
  .reference = "torch.expm1",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_EXPM1,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
