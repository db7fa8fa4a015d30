/* Inverse of square matrices: the solution of A X = 1. */
#include "engine/ops/family-linalg.h"

static const LoomPortSpec inputs[] = { { "input", "Square matrices [ …, n, n]." }, { NULL } };

static void
infer (LoomInfer *ctx)
{
  if (loom_op_matrix_square (ctx, 0, "input"))
    loom_op_infer_same (ctx);
}

static void
lower (LoomLower *ctx)
{
  const LoomSolveAttrs attrs = { .transpose = FALSE };
  LoomProgram *p = loom_lower_program (ctx);
  LoomTensorDesc a = loom_op_desc (ctx, loom_lower_input (ctx, 0));
  gint64 n = a.dim[a.rank - 1];
  LoomIotaTo row = { .kernel = { .axis = 0, .step = 1 }, .dtype = a.dtype, .to = { 2, { n, 1 } } };
  LoomIotaTo column = { .kernel = { .axis = 1, .step = 1 }, .dtype = a.dtype, .to = { 2, { 1, n } } };
  LoomValue unit = loom_binary (p, LOOM_SCALAR_EQ, loom_emit (p, loom_prim ("iota"), &row, 0, NULL, NULL),
                                loom_emit (p, loom_prim ("iota"), &column, 0, NULL, NULL));
  LoomValue in[2] = { loom_lower_input (ctx, 0), loom_expand_to (p, loom_cast (p, unit, a.dtype), a.rank, a.dim) };

  loom_lower_output (ctx, 0, loom_emit (p, loom_prim ("solve"), &attrs, 2, in, NULL));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3,3" } },
  { .inputs = { "f32:B,2,2" } },
  { .inputs = { "f32:1,1" } },
  { .inputs = { "f32:0,0" } },
  { NULL },
};

const LoomOp loom_op_inverse = {
  .name = "inverse",
  .title = "Inverse",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-solve-symbolic",
  .doc = "Computes the inverse of square matrices.",
  .details = "To multiply by an inverse use solve, which is faster and more accurate. A singular matrix is an error "
             "that reports its index.",
  .formula = "Y = A⁻¹",
  .reference = "torch.linalg.inv",
  .source = "Golub and Van Loan, “Matrix Computations”, 4th edition, 2013, chapter 3",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_cubic_flops,
  .samples = samples,
};
