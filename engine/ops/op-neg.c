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
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .scalar = LOOM_SCALAR_NEG,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
