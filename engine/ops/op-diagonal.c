/* Diagonal of matrices, as the last dimension of the result. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("offset", INT, "0"),
    .doc = "The diagonal: 0 is the main one, positive numbers are above it, negative ones below." },
  { LOOM_OP_DIM ("dim1"), .def = "0", .doc = "The dimension of the rows." },
  { LOOM_OP_DIM ("dim2"), .def = "1", .doc = "The dimension of the columns." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape;
  LoomDim n = loom_dim_unknown ();
  int rows, columns;

  if (!loom_op_rank (ctx, 0, "input", 2, LOOM_SHAPE_MAX_RANK, "a matrix, or a batch of them",
                     "Put a reshape before it.")
      || !loom_op_axis (ctx, "dim1", loom_infer_int (ctx, "dim1"), x->shape.rank, &rows)
      || !loom_op_axis (ctx, "dim2", loom_infer_int (ctx, "dim2"), x->shape.rank, &columns))
    return;
  if (rows == columns)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "dim2", "dim1 and dim2 are the same dimension.");
      return;
    }
  if (loom_dim_is_known (x->shape.dim[rows]) && loom_dim_is_known (x->shape.dim[columns]))
    n = loom_dim (
        loom_op_diagonal_size (x->shape.dim[rows].coef, x->shape.dim[columns].coef, loom_infer_int (ctx, "offset")));
  else if (loom_dim_equal (x->shape.dim[rows], x->shape.dim[columns]) && loom_infer_int (ctx, "offset") == 0)
    n = x->shape.dim[rows];
  shape = loom_op_reduced_shape (&x->shape, 1u << rows | 1u << columns, FALSE);
  shape.dim[shape.rank++] = n;
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  int rank = loom_op_desc (ctx, x).rank, perm[LOOM_MAX_RANK], n = 0;

  perm[rank - 2] = loom_op_axis_of (loom_infer_int (infer_ctx, "dim1"), rank);
  perm[rank - 1] = loom_op_axis_of (loom_infer_int (infer_ctx, "dim2"), rank);
  for (int i = 0; i < rank; i++)
    {
      if (i != perm[rank - 2] && i != perm[rank - 1])
        perm[n++] = i;
    }
  x = loom_op_diagonal_of (p, loom_permute (p, x, perm), loom_infer_int (infer_ctx, "offset"));
  loom_lower_output (ctx, 0, x);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3,4" } },
  { .params = "offset=1 dim1=-2 dim2=-1", .inputs = { "f32:B,3,3" } },
  { .params = "offset=-1 dim1=2 dim2=0", .inputs = { "f32:2,3,4" } },
  { .params = "offset=7", .inputs = { "f32:2,3" } },
  { .inputs = { "f32:B,B" } },
  { NULL },
};

const LoomOp loom_op_diagonal = {
  .name = "diagonal",
  .title = "Diagonal",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-eye-symbolic",
  .doc = "Returns the diagonal of a matrix, or of each matrix of a batch.",
  .details = "dim1 and dim2 are removed, and the diagonal becomes the last dimension.",
  .formula = "yᵢ = xᵢᵢ",
  .reference = "torch.diagonal",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
