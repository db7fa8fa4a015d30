/* Exponential: y = eˣ. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_exp = {
  .name = "exp",
  .title = "Exponential",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-exp-symbolic",
  .usual = TRUE,
  .doc = "Computes the exponential eˣ of each element.",
  .details = "The result is positive. In f32 it overflows to infinity for x above 88.",
  .formula = "y = eˣ",
  .reference = "torch.exp",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_EXP,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
