/* Test of elements for infinity. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_isinf = {
  .name = "isinf",
  .title = "Is infinite",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-isnan-symbolic",
  .doc = "Asks of each element whether it is infinite, with either sign.",
  .details = "Numbers that grow out of their type become infinite, usually a step before the first NaN. It has "
             "no slope, so no gradient passes.",
  .formula = "y = (|x| = ∞)",
  .reference = "torch.isinf",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .scalar = LOOM_SCALAR_ISINF,
  .infer = loom_op_infer_question,
  .lower = loom_op_lower_question,
  .samples = loom_op_samples_asked,
};
