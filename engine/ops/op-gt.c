/* Element-wise comparison: y = (a > b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_gt = {
  .name = "gt",
  .title = "Greater than",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-gt-symbolic",
  .synonyms = "greater >",
  .usual = TRUE,
  .doc = "Tests whether the first element is greater than the second.",
  .details = "For example, it compares a logit with a threshold to make a binary decision. Not differentiable.",
  .formula = "y = (a > b)",
  .reference = "torch.gt",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_GT,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
