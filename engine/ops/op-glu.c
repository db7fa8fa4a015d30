/* Gated linear unit (Dauphin et al. 2016). */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "-1", .doc = "The dimension to halve." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = x->shape;
  LoomDim half;
  int axis;

  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "a dimension to halve", "Put a reshape before it.")
      || !loom_op_needs_float (ctx, 0, "input", NULL)
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), shape.rank, &axis))
    return;
  if (!loom_dim_div (shape.dim[axis], loom_dim (2), &half))
    {
      if (loom_dim_is_known (shape.dim[axis]))
        {
          g_autofree char *text = loom_shape_to_string (&shape);

          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "dim",
                            "glu halves dimension %d, so its size must be even, but got %s.", axis, text);
          return;
        }
      half = loom_dim_unknown ();
    }
  shape.dim[axis] = half;
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), a, b;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = loom_op_axis_of (loom_infer_int (loom_lower_infer (ctx), "dim"), d.rank);
  gint64 start[LOOM_MAX_RANK] = { 0 };

  d.dim[axis] /= 2;
  a = loom_slice (p, x, start, NULL, d.dim);
  start[axis] = d.dim[axis];
  b = loom_slice (p, x, start, NULL, d.dim);
  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_MUL, a, loom_unary (p, LOOM_SCALAR_SIGMOID, b)));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" } },
  { .params = "dim=1", .inputs = { "f32:B,6" } },
  { .params = "dim=0", .inputs = { "f32:2" } },
  { .params = "dim=-2", .inputs = { "f32:0,4,3" } },
  { .params = "dim=1", .inputs = { "f32:2,0" } },
  { NULL },
};

const LoomOp loom_op_glu = {
  .name = "glu",
  .title = "GLU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-glu-symbolic",
  .doc = "Multiplies the first half of the features by the sigmoid of the second half.",
  .details = "The second half is a gate that determines how much of the first half passes. The output has half the "
             "size along dim, so the layer before it needs twice the features.",
  .formula = "y = a · σ(b), x = [a | b]",
  .reference = "torch.nn.GLU",
  .source
  = "Dauphin, Fan, Auli and Grangier, “Language Modeling with Gated Convolutional Networks”, 2016, arXiv:1612.08083",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_smooth_flops,
  .samples = samples,
};
