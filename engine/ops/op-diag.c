/* Diag: a vector becomes a diagonal matrix, a matrix its diagonal. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("diagonal", INT, "0"), LOOM_RANGE (-100000, 100000),
    .doc = "The diagonal: 0 is the main one, positive numbers are above it, negative ones below." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 k = loom_infer_int (ctx, "diagonal");
  LoomShape shape = { .rank = 1, .dim = { loom_dim_unknown () } };
  const LoomDim *size = x->shape.dim;

  if (!loom_op_rank (ctx, 0, "input", 1, 2, "a vector or a matrix", "For a batch of matrices use diagonal."))
    return;
  if (x->shape.rank == 1)
    {
      shape.rank = 2;
      shape.dim[0] = shape.dim[1] = loom_dim_add (size[0], ABS (k));
    }
  else if (loom_dim_is_known (size[0]) && loom_dim_is_known (size[1]))
    shape.dim[0] = loom_dim (loom_op_diagonal_size (size[0].coef, size[1].coef, k));
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* The gradient places the elements as far apart as neighbours on a diagonal are in memory. */
static void
lower (LoomLower *ctx)
{
  gint64 k = loom_infer_int (loom_lower_infer (ctx), "diagonal");
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 n, start, step, count;

  if (d.rank == 2)
    {
      loom_lower_output (ctx, 0, loom_op_diagonal_of (p, x, k));
      return;
    }
  n = d.dim[0] + ABS (k);
  start = d.dim[0] == 0 ? 0 : k >= 0 ? k : -k * n;
  step = n + 1;
  count = n * n;
  loom_op_output_reshaped (
      ctx, 0, d.dim[0] == 0 ? loom_fill (p, d.dtype, 1, &count, 0) : loom_pad (p, x, &start, &step, &count, 0));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3" } },
  { .params = "diagonal=1", .inputs = { "f32:3" } },
  { .params = "diagonal=-2", .inputs = { "f32:2" } },
  { .params = "diagonal=1", .inputs = { "f32:3,4" } },
  { .params = "diagonal=-1", .inputs = { "f32:3,3" } },
  { .inputs = { "f32:1" } },
  { .inputs = { "f32:B" } },
  { NULL },
};

const LoomOp loom_op_diag = {
  .name = "diag",
  .title = "Diagonal matrix",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-eye-symbolic",
  .doc = "Makes a diagonal matrix from a vector, or returns the diagonal of a matrix.",
  .details
  = "A vector [n] becomes a matrix [n, n] that is 0 outside the diagonal; a matrix becomes the vector of its diagonal.",
  .formula = "yᵢᵢ = xᵢ",
  .reference = "torch.diag",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
