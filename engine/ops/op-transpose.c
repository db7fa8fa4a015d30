/* Transpose: swaps two dimensions. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim0"), .def = "-2", .doc = "The first dimension." },
  { LOOM_OP_DIM ("dim1"), .def = "-1", .doc = "The second dimension." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = x->shape;
  int a, b;

  if (!loom_op_axis (ctx, "dim0", loom_infer_int (ctx, "dim0"), shape.rank, &a)
      || !loom_op_axis (ctx, "dim1", loom_infer_int (ctx, "dim1"), shape.rank, &b))
    return;
  if (shape.rank > 0)
    {
      shape.dim[a] = x->shape.dim[b];
      shape.dim[b] = x->shape.dim[a];
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  int rank = loom_infer_input (infer_ctx, 0)->shape.rank, perm[LOOM_MAX_RANK];
  int a = loom_op_axis_of (loom_infer_int (infer_ctx, "dim0"), rank);
  int b = loom_op_axis_of (loom_infer_int (infer_ctx, "dim1"), rank);

  for (int i = 0; i < rank; i++)
    perm[i] = i == a ? b : i == b ? a : i;
  loom_lower_output (ctx, 0, loom_permute (loom_lower_program (ctx), loom_lower_input (ctx, 0), perm));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,T,3" } },
  { .params = "dim0=0 dim1=1", .inputs = { "f32:3,4" } },
  { .params = "dim0=1 dim1=-1", .inputs = { "f32:2,3,4,1" } },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_transpose = {
  .name = "transpose",
  .title = "Transpose",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-transpose-symbolic",
  .synonyms = "swap",
  .doc = "Swaps two dimensions, by default the last two.",
  .details = "For a batch of matrices it transposes each of them.",
  .formula = "y = xᵀ",
  .reference = "torch.transpose",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
