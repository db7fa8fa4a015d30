/* Tril: the lower triangle of a matrix. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = "diagonal",
    .type = LOOM_PARAM_INT,
    .def = "0",
    .doc = "Which diagonal is the border: 0 the main one, 1 the one above it, −1 the one below." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  if (loom_op_rank (ctx, 0, "input", 2, LOOM_SHAPE_MAX_RANK, "a matrix, or several", "Put a reshape before it."))
    loom_op_infer_same (ctx);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  LoomValue kept = loom_op_band (p, d.dim[d.rank - 2], d.dim[d.rank - 1],
                                 loom_infer_int (loom_lower_infer (ctx), "diagonal"), LOOM_SCALAR_GE);

  loom_lower_output (ctx, 0, loom_ternary (p, LOOM_SCALAR_SELECT, kept, x, loom_op_const_like (ctx, x, 0)));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3,4" } },
  { .params = "diagonal=1", .inputs = { "f32:B,3,3" } },
  { .params = "diagonal=-2", .inputs = { "f32:4,3" } },
  { .params = "diagonal=9", .inputs = { "f32:2,2" } },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_tril = {
  .name = "tril",
  .title = "Lower triangle",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-triangle-symbolic",
  .doc = "Keeps the lower triangle of a matrix and sets the rest to 0.",
  .details = "Keeps what lies on the diagonal and below it. With ones in it this is the mask that keeps a word "
             "from looking at later ones.",
  .formula = "yᵢⱼ = xᵢⱼ where j ≤ i + diagonal",
  .reference = "torch.tril",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
