/* Solution of systems with a triangular matrix, as torch.linalg.solve_triangular. */
#include "engine/ops/family-linalg.h"

static const LoomPortSpec inputs[] = {
  { "a", "Triangular matrices A [ …, n, n]; the other triangle is not read." },
  { "b", "The right-hand sides B [ …, n, m]." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("upper", BOOL, "true"), .doc = "Whether the matrices are upper triangular; else lower." },
  { LOOM_PARAM ("left", BOOL, "true"), .doc = "Whether A X = B is solved; else X A = B." },
  { LOOM_PARAM ("unitriangular", BOOL, "false"),
    .doc = "Whether the diagonal is assumed to be ones, without being read.", .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);
  g_autofree char *sa = loom_shape_to_string (&a->shape), *sb = loom_shape_to_string (&b->shape);
  gboolean left = loom_infer_bool (ctx, "left");
  LoomShape lead;

  if (!loom_op_matrix_square (ctx, 0, "a") || !loom_op_needs_float (ctx, 1, "b", NULL)
      || !loom_op_rank (ctx, 1, "b", 2, LOOM_SHAPE_MAX_RANK, "right-hand sides [… , n, m]",
                        "Unsqueeze a vector first."))
    return;
  if (!loom_dim_compatible (a->shape.dim[a->shape.rank - 1], b->shape.dim[b->shape.rank - (left ? 2 : 1)]))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "b",
                        "The matrices are %s and the right-hand sides %s: both must have the same number of %s.", sa,
                        sb, left ? "rows" : "columns");
      return;
    }
  if (!loom_op_matrix_lead (ctx, &a->shape, &b->shape, &lead))
    return;
  lead.dim[lead.rank++] = b->shape.dim[b->shape.rank - 2];
  lead.dim[lead.rank++] = b->shape.dim[b->shape.rank - 1];
  loom_infer_output (ctx, 0, loom_op_promote (a->dtype, b->dtype), &lead);
}

/* X A = B is Aᵀ Xᵀ = Bᵀ. */
static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  gboolean left = loom_infer_bool (infer, "left");
  const LoomTriangularSolveAttrs attrs = { .upper = loom_infer_bool (infer, "upper"),
                                           .transpose = !left,
                                           .unitriangular = loom_infer_bool (infer, "unitriangular") };
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue in[2] = { loom_op_operand (ctx, 0), loom_op_operand (ctx, 1) }, x;

  if (!left)
    in[1] = loom_op_matrix_transposed (p, in[1]);
  loom_op_matrix_batch (p, &in[0], &in[1]);
  x = loom_emit (p, loom_prim ("triangular_solve"), &attrs, 2, in, NULL);
  loom_lower_output (ctx, 0, left ? x : loom_op_matrix_transposed (p, x));
}

static const LoomSample samples[] = {
  { .params = "upper=false unitriangular=true", .inputs = { "f32:3,3", "f32:3,2" } },
  { .params = "upper=true", .inputs = { "f32:B,2,2", "f32:2,3" }, .range = "positive" },
  { .params = "upper=true left=false", .inputs = { "f32:2,2", "f32:B,3,2" }, .range = "positive" },
  { .params = "upper=false left=false unitriangular=true", .inputs = { "f32:3,3", "f32:1,3" } },
  { NULL },
};

const LoomOp loom_op_solve_triangular = {
  .name = "solve_triangular",
  .title = "Solve triangular",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-solve-symbolic",
  .doc = "Solves systems of linear equations with a triangular matrix.",
  .details = "With the factor L of a Cholesky decomposition, one solution with L and one with Lᵀ solve the whole "
             "system. Zeros on the diagonal result in infinity or NaN.",
  .formula = "A X = B",
  .reference = "torch.linalg.solve_triangular",
  .source = "Golub and Van Loan, “Matrix Computations”, 4th edition, 2013, section 3.1",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_cubic_flops,
  .samples = samples,
};
