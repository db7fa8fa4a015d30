/* Equality of elements. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_eq = {
  .name = "eq",
  .title = "Equal",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-eq-symbolic",
  .synonyms = "equal ==",
  .doc = "Asks of each pair whether the two are equal.",
  .details = "Predictions that equal the labels, averaged, are the accuracy. Floats that were computed in two "
             "ways are seldom equal to the last bit. It has no slope, so no gradient passes.",
  .formula = "y = (a = b)",
  .reference = "torch.eq",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_EQ,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
