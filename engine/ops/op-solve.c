/* Solution of systems of linear equations, as torch.linalg.solve. */
#include "engine/ops/family-linalg.h"

static const LoomPortSpec inputs[] = {
  { "a", "The matrices A [ …, n, n]." },
  { "b", "The right-hand sides [ …, n, m], or one vector for each matrix." },
  { NULL },
};

/* As in PyTorch, b is one vector, or a vector for each matrix if its shape is that of a without the last axis. */
static gboolean
is_vector (const LoomShape *a, const LoomShape *b)
{
  if (b->rank == 1)
    return TRUE;
  if (b->rank != a->rank - 1)
    return FALSE;
  for (int i = 0; i < b->rank; i++)
    if (!loom_dim_compatible (a->dim[i], b->dim[i]))
      return FALSE;
  return TRUE;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);
  g_autofree char *sa = loom_shape_to_string (&a->shape), *sb = loom_shape_to_string (&b->shape);
  LoomShape shape = b->shape, lead;
  gboolean vector;

  if (!loom_op_matrix_square (ctx, 0, "a") || !loom_op_needs_float (ctx, 1, "b", NULL)
      || !loom_op_rank (ctx, 1, "b", 1, LOOM_SHAPE_MAX_RANK, "right-hand sides [… , n, m]", "For numbers use div."))
    return;
  vector = is_vector (&a->shape, &b->shape);
  if (vector)
    shape.dim[shape.rank++] = loom_dim (1);
  if (!loom_dim_compatible (a->shape.dim[a->shape.rank - 1], shape.dim[shape.rank - 2]))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "b",
                        "The matrices are %s and the right-hand sides %s: both must have the same number of rows.", sa,
                        sb);
      return;
    }
  if (!loom_op_matrix_lead (ctx, &a->shape, &shape, &lead))
    return;
  lead.dim[lead.rank++] = a->shape.dim[a->shape.rank - 1];
  if (!vector)
    lead.dim[lead.rank++] = shape.dim[shape.rank - 1];
  loom_infer_output (ctx, 0, loom_op_promote (a->dtype, b->dtype), &lead);
}

static void
lower (LoomLower *ctx)
{
  const LoomSolveAttrs attrs = { .transpose = FALSE };
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue in[2] = { loom_op_operand (ctx, 0), loom_op_operand (ctx, 1) };
  LoomTensorDesc b = loom_op_desc (ctx, in[1]);
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  if (is_vector (&loom_infer_input (loom_lower_infer (ctx), 0)->shape,
                 &loom_infer_input (loom_lower_infer (ctx), 1)->shape))
    {
      b.dim[b.rank++] = 1;
      in[1] = loom_reshape (p, in[1], b.rank, b.dim);
    }
  loom_op_matrix_batch (p, &in[0], &in[1]);
  loom_lower_output (ctx, 0, loom_reshape (p, loom_emit (p, loom_prim ("solve"), &attrs, 2, in, NULL), rank, dims));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3,3", "f32:3,2" } },     { .inputs = { "f32:3,3", "f32:3" } },
  { .inputs = { "f32:B,2,2", "f32:B,2" } },   { .inputs = { "f32:B,1,2,2", "f32:3,2,1" } },
  { .inputs = { "f32:0,2,2", "f32:0,2,1" } }, { NULL },
};

const LoomOp loom_op_solve = {
  .name = "solve",
  .title = "Solve",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-solve-symbolic",
  .synonyms = "linear system equations",
  .doc = "Solves systems of linear equations A x = b.",
  .details = "Uses LU decomposition with partial pivoting. It is faster and more accurate than multiplying by an "
             "inverse. A singular matrix is an error that reports its index.",
  .formula = "A x = b",
  .reference = "torch.linalg.solve",
  .source = "Golub and Van Loan, “Matrix Computations”, 4th edition, 2013, chapter 3",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_cubic_flops,
  .samples = samples,
};
