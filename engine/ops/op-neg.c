/* Negation: y = -x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_neg = {
  .name = "neg",
  .title = "Negate",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-neg-symbolic",
  .synonyms = "minus negative",
  .doc = "Computes the negative of each element.",
  .details = "For example, it turns a quantity to maximise into a loss.",
  .formula = "y = −x",
  .reference = "torch.neg",
  LOOM_OP_FUNCTION (NEG, same, any),
};
