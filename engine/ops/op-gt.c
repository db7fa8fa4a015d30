/* Greater than, by elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_gt = {
  .name = "gt",
  .title = "Greater than",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-gt-symbolic",
  .synonyms = "greater >",
  .usual = TRUE,
  .doc = "Asks of each pair whether the first is greater.",
  .details = "A score against a threshold: the decision of a classifier with two classes. It has no slope, so "
             "no gradient passes.",
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
