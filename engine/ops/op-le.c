/* Less than or equal, by elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_le = {
  .name = "le",
  .title = "Less or equal",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-le-symbolic",
  .synonyms = "less equal <=",
  .doc = "Asks of each pair whether the first is less or equal.",
  .details = "Positions compared with positions give the mask that keeps attention from looking ahead. It has "
             "no slope, so no gradient passes.",
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
