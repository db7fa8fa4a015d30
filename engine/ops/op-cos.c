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
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_COS,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
