/* Less than, by elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_lt = {
  .name = "lt",
  .title = "Less than",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-lt-symbolic",
  .synonyms = "less <",
  .doc = "Asks of each pair whether the first is less.",
  .details = "Compared with random numbers it tosses a coin for each element, which is how dropout chooses. It "
             "has no slope, so no gradient passes.",
  .formula = "y = (a < b)",
  .reference = "torch.lt",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_LT,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
