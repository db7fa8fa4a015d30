/* Argsort: the indices that sort a tensor. */
#include "engine/ops/op-private.h"

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int axis;

  if (loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis))
    loom_infer_output (ctx, 0, LOOM_I64, &x->shape);
}

static void
lower (LoomLower *ctx)
{
  LoomTensorDesc d = loom_op_desc (ctx, loom_lower_input (ctx, 0));
  LoomValue indices;

  loom_op_sorted (ctx, &indices);
  loom_lower_output (ctx, 0, loom_reshape (loom_lower_program (ctx), indices, d.rank, d.dim));
}

const LoomOp loom_op_argsort = {
  .name = "argsort",
  .title = "Argsort",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-sort-symbolic",
  .doc = "Returns the indices that sort a tensor along a dimension.",
  .details = "These are the indices of sort without the values: the first is that of the smallest element. With "
             "take_along_dim they reorder a second tensor in the same way. Not differentiable.",
  .formula = "x[y[0]] ≤ x[y[1]] ≤ …",
  .reference = "torch.argsort",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_sorted,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_sorted,
};
