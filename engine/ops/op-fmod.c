/* Remainder of a division that rounds towards zero, as fmod of C. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_fmod = {
  .name = "fmod",
  .title = "Remainder (C style)",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-remainder-symbolic",
  .doc = "Computes the remainder of a division, with the sign of the first operand.",
  .details
  = "Like % in C: the result for −7 and 3 is −1, that of remainder is 2. For integers a divisor of 0 is an error.",
  .formula = "y = a − b · trunc(a / b)",
  .reference = "torch.fmod",
  LOOM_OP_ARITHMETIC (FMOD, rounded_division, positive_pairs),
};
