/* Element-wise comparison: y = (a ≤ b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_le = {
  .name = "le",
  .title = "Less or equal",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-le-symbolic",
  .synonyms = "less equal <=",
  .doc = "Tests whether the first element is less than or equal to the second.",
  .details
  = "For example, key positions compared with query positions give a causal mask for attention. Not differentiable.",
  .formula = "y = (a ≤ b)",
  .reference = "torch.le",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_LE,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
