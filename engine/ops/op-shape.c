/* Shape: the sizes of a tensor, as a tensor. */
#include "engine/ops/op-private.h"

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_shape (1, (gint64[]){ loom_infer_input (ctx, 0)->shape.rank });

  loom_infer_output (ctx, 0, LOOM_I64, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomTensorDesc d = loom_op_desc (ctx, loom_lower_input (ctx, 0));
  LoomValue size[LOOM_MAX_RANK];

  for (int i = 0; i < d.rank; i++)
    size[i] = loom_fill (p, LOOM_I64, 1, (gint64[]){ 1 }, (double)d.dim[i]);
  loom_lower_output (
      ctx, 0, d.rank > 0 ? loom_concat (p, (guint)d.rank, size, 0) : loom_fill (p, LOOM_I64, 1, (gint64[]){ 0 }, 0));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,1" } },
  { .inputs = { "f32:7" } },
  { .inputs = { "f32:" } },
  { .inputs = { "i64:0,2" } },
  { NULL },
};

const LoomOp loom_op_shape = {
  .name = "shape",
  .title = "Shape",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-shape-symbolic",
  .doc = "Returns the sizes of a tensor as integers.",
  .details = "An i64 vector with one element for each dimension.",
  .formula = "y = (n₀, n₁, …)",
  .reference = "torch.Tensor.shape",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
