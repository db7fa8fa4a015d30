/* Sort along a dimension, with indices. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomValue indices, y = loom_op_sorted (ctx, &indices);
  LoomTensorDesc d = loom_op_desc (ctx, loom_lower_input (ctx, 0));
  LoomProgram *p = loom_lower_program (ctx);

  loom_lower_output (ctx, 0, loom_reshape (p, y, d.rank, d.dim));
  loom_lower_output (ctx, 1, loom_reshape (p, indices, d.rank, d.dim));
}

const LoomOp loom_op_sort = {
  .name = "sort",
  .title = "Sort",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-sort-symbolic",
  .doc = "Sorts elements along a dimension and returns their indices.",
  .details = "The sort is stable, so the result is the same on every device. NaN is larger than all numbers. The "
             "gradient goes to the original position of each element.",
  .formula = "y[0] ≤ y[1] ≤ …,  y[i] = x[indices[i]]",
  .reference = "torch.sort",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_ordered,
  .params = loom_op_param_sorted,
  .infer = loom_op_infer_running_extreme,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_sorted,
};
