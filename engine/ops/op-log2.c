/* Logarithm to base 2. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_log2 = {
  .name = "log2",
  .title = "Logarithm to base 2",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Says which power of 2 every element is.",
  .details = "Information is measured by it: a choice between 8 equal answers holds 3 bits. There is none of "
             "zero or below.",
  .formula = "y = log₂ x",
  .reference = "torch.log2",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_LOG2,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_positive,
};
