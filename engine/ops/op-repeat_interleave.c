/* Repeat interleave: repeats each element. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("repeats", INT, "2"), LOOM_RANGE (0, 1e15), .doc = "The number of repetitions of each element." },
  { LOOM_OP_DIM ("dim"), .def = "",
    .doc = "The dimension to repeat along; if not set, the tensor is flattened first." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomDim times = loom_dim (loom_infer_int (ctx, "repeats"));
  LoomShape shape = x->shape;
  int axis = 0;

  if (!loom_infer_is_set (ctx, "dim") || shape.rank == 0)
    {
      shape.dim[0] = loom_shape_count (&x->shape);
      shape.rank = 1;
    }
  else if (!loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), shape.rank, &axis))
    return;
  shape.dim[axis] = loom_dim_mul (shape.dim[axis], times);
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = 0;

  if (loom_infer_is_set (infer_ctx, "dim") && d.rank > 0)
    axis = loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), d.rank);
  else
    x = loom_reshape (p, x, 1, (gint64[]){ loom_desc_count (&d) });
  loom_lower_output (ctx, 0, loom_op_repeat (p, x, axis, loom_infer_int (infer_ctx, "repeats"), TRUE));
}

static const LoomSample samples[] = {
  { .params = "repeats=2 dim=1", .inputs = { "f32:B,3,2" } },
  { .params = "repeats=3", .inputs = { "f32:2,2" } },
  { .params = "repeats=2 dim=-1", .inputs = { "f32:B,3" } },
  { .params = "repeats=0 dim=0", .inputs = { "f32:2,3" } },
  { .params = "repeats=2", .inputs = { "f32:" } },
  { NULL },
};

const LoomOp loom_op_repeat_interleave = {
  .name = "repeat_interleave",
  .title = "Repeat interleave",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-expand-symbolic",
  .doc = "Repeats each element of a tensor along a dimension.",
  .details = "Copies of an element are neighbours: 1 1 2 2, while tile returns 1 2 1 2. For example, it repeats the "
             "key heads of grouped-query attention.",
  .formula = "1 2 → 1 1 2 2",
  .reference = "torch.repeat_interleave",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
