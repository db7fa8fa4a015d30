/* Test of elements for NaN. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_isnan = {
  .name = "isnan",
  .title = "Is NaN",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-isnan-symbolic",
  .doc = "Asks of each element whether it is not a number.",
  .details = "0/0 and ∞ − ∞ are not numbers, and whatever is computed from them is none either. Put it after a layer "
             "to find where a training run breaks. It has no slope, so no gradient passes.",
  .formula = "y = (x ≠ x)",
  .reference = "torch.isnan",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .scalar = LOOM_SCALAR_ISNAN,
  .infer = loom_op_infer_question,
  .lower = loom_op_lower_question,
  .samples = loom_op_samples_asked,
};
