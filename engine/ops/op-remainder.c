/* Remainder: what a division that rounds down leaves. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_remainder = {
  .name = "remainder",
  .title = "Remainder",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-remainder-symbolic",
  .doc = "Keeps what is left of a division; the result has the sign of the divisor.",
  .details = "Wraps numbers round: an angle into one turn, an index into a ring. Counting down below zero "
             "comes out at the top again, as in Python’s %; fmod is the kind that keeps the sign of the first "
             "operand. Of whole numbers and a divisor 0 it is an error. In other words: modulo.",
  .formula = "y = a − b · ⌊a / b⌋",
  .reference = "torch.remainder",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_MOD,
  .infer = loom_op_infer_rounded_division,
  .lower = loom_op_lower_binary,
  .samples = loom_op_samples_positive_pairs,
};
