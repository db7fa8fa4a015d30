/* Reciprocal root: y = 1/√x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_rsqrt = {
  .name = "rsqrt",
  .title = "Reciprocal square root",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-rsqrt-symbolic",
  .doc = "Divides 1 by the square root of every element.",
  .details = "The factor that makes a variance 1: the middle of every normalisation layer. A "
             "small number is added to the variance first, because there is no result for zero.",
  .formula = "y = 1 / √x",
  .reference = "torch.rsqrt",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_RSQRT,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_positive,
};
