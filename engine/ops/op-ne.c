/* Inequality of elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_ne = {
  .name = "ne",
  .title = "Not equal",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-ne-symbolic",
  .synonyms = "not equal !=",
  .doc = "Asks of each pair whether the two differ.",
  .details = "Makes the mask of everything that is not padding. NaN differs from every number, itself "
             "included. It has no slope, so no gradient passes.",
  .formula = "y = (a ≠ b)",
  .reference = "torch.ne",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_NE,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
