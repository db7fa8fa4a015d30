/* Softmax along a dimension. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = "dim",
    .type = LOOM_PARAM_INT,
    .def = "-1",
    .minimum = -8,
    .maximum = 7,
    .doc = "The dimension along which the results sum to 1." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int axis;

  if (loom_op_needs_float (ctx, 0, "input", "softmax needs floats")
      && loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis))
    loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), y;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = loom_op_axis_of (loom_infer_int (loom_lower_infer (ctx), "dim"), MAX (d.rank, 1));
  LoomSoftmaxAttrs attrs = { .axis = axis, .log = false };
  LoomValue row = d.rank > 0 ? x : loom_reshape (p, x, 1, (gint64[]){ 1 });

  y = loom_emit (p, loom_prim ("softmax"), &attrs, 1, &row, NULL);
  loom_lower_output (ctx, 0, loom_reshape (p, y, d.rank, d.dim));
}

static double
flops (const LoomInfer *ctx)
{
  return 5 * loom_op_output_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,5" } },
  { .params = "dim=1", .inputs = { "f32:B,3,4" } },
  { .params = "dim=0", .inputs = { "f32:3,2" } },
  { .params = "dim=-1", .inputs = { "f32:2,1" } },
  { .inputs = { "f32:0,3" } },
  { .inputs = { "f32:" } },
  { NULL },
};

const LoomOp loom_op_softmax = {
  .name = "softmax",
  .title = "Softmax",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-softmax-symbolic",
  .doc = "Turns scores into shares that sum to 1.",
  .details = "The largest score gets the largest share, and all shares are positive: a soft choice that gradients can "
             "pass. Attention weights are made by it. Before cross_entropy leave it out, because that does it inside "
             "and more exactly.",
  .formula = "yᵢ = eˣⁱ / Σⱼ eˣʲ",
  .reference = "torch.nn.Softmax",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
