/* Argmax: where the largest element stands. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_position (ctx, TRUE);
}

const LoomOp loom_op_argmax = {
  .name = "argmax",
  .title = "Position of the maximum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-max-symbolic",
  .synonyms = "prediction winner",
  .doc = "Finds where the largest element stands.",
  .details = "Along the classes of a classifier it is the answer. Of equals it is the first. A position has no "
             "slope, so training needs something softer in its place: a softmax.",
  .formula = "y = argmaxᵢ xᵢ",
  .reference = "torch.argmax",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_searched,
  .infer = loom_op_infer_position,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_searched,
};
