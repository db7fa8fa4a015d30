/* Sum over all or some dimensions. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = "dim",
    .type = LOOM_PARAM_INTS,
    .def = "",
    .minimum = -8,
    .maximum = 7,
    .doc = "The dimensions that vanish; left out, all of them." },
  { .name = "keepdim", .type = LOOM_PARAM_BOOL, .def = "false", .doc = "Leaves a size of 1 where a dimension was." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomDType dtype = x->dtype;
  LoomShape shape;
  guint32 axes;

  if (!loom_op_axes (ctx, "dim", x->shape.rank, &axes))
    return;
  /* Small integers and booleans are counted in i64, as PyTorch does. */
  if (!loom_dtype_is_float (dtype))
    dtype = LOOM_I64;
  shape = loom_op_reduced_shape (&x->shape, axes, loom_infer_bool (ctx, "keepdim"));
  loom_infer_output (ctx, 0, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (infer_ctx, 0)->dtype);
  LoomValue x = loom_cast (p, loom_lower_input (ctx, 0), dtype);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  guint32 axes = loom_op_axes_of (infer_ctx, "dim", d.rank);

  loom_lower_output (ctx, 0, loom_reduce (p, LOOM_REDUCE_SUM, x, axes, loom_infer_bool (infer_ctx, "keepdim")));
}

static double
flops (const LoomInfer *ctx)
{
  return loom_op_input_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" } },
  { .params = "dim=1", .inputs = { "f32:B,3,4" } },
  { .params = "dim=0,-1 keepdim=true", .inputs = { "f32:B,3,4" } },
  { .params = "dim=-2 keepdim=true", .inputs = { "f32:2,1,4" } },
  { .inputs = { "f32:" } },
  { .params = "dim=1", .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_sum = {
  .name = "sum",
  .title = "Sum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sum-symbolic",
  .doc = "Adds up all elements, or those along some dimensions.",
  .details = "Turns a tensor into one number, which is what a loss has to be, or folds dimensions away. Every element "
             "that was added gets the same gradient.",
  .formula = "y = Σ x",
  .reference = "torch.sum",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
