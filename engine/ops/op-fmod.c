/* C's remainder: what a division that rounds towards zero leaves. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_fmod = {
  .name = "fmod",
  .title = "Remainder as in C",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-remainder-symbolic",
  .doc = "Keeps what is left of a division; the result has the sign of the first operand.",
  .details = "As C’s % does it: −7 by 3 leaves −1, where remainder leaves 2. Of whole numbers and a divisor 0 it is an "
             "error.",
  .formula = "y = a − b · trunc(a / b)",
  .reference = "torch.fmod",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_FMOD,
  .infer = loom_op_infer_rounded_division,
  .lower = loom_op_lower_binary,
  .samples = loom_op_samples_positive_pairs,
};
