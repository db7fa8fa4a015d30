/* Remainder of a division that rounds down, as % of Python. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_remainder = {
  .name = "remainder",
  .title = "Remainder",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-remainder-symbolic",
  .doc = "Computes the remainder of a division, with the sign of the divisor.",
  .details = "As % in Python: it wraps indices and angles into a range, also for negative numbers; fmod has the sign "
             "of the first operand instead. For integers a divisor of 0 is an error. In other words: modulo.",
  .formula = "y = a − b · ⌊a / b⌋",
  .reference = "torch.remainder",
  LOOM_OP_ARITHMETIC (MOD, rounded_division, positive_pairs),
};
