/* Exponential minus 1: y = eˣ - 1, accurate near zero. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_expm1 = {
  .name = "expm1",
  .title = "Exponential minus 1",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-exp-symbolic",
  .doc = "Computes eˣ − 1 of each element, accurately near zero.",
  .details = "For small x, subtracting 1 from the exponential would lose digits. The negative branch of ELU uses it.",
  .formula = "y = eˣ − 1",
  .reference = "torch.expm1",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_EXPM1,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
