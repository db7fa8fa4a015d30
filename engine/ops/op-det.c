/* Determinant of square matrices. */
#include "engine/ops/family-linalg.h"

static const LoomPortSpec inputs[] = { { "input", "Square matrices [ …, n, n]." }, { NULL } };

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_infer_input (ctx, 0)->shape;

  if (!loom_op_matrix_square (ctx, 0, "input"))
    return;
  shape.rank -= 2;
  loom_infer_output (ctx, 0, loom_infer_input (ctx, 0)->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomValue a = loom_lower_input (ctx, 0);

  loom_lower_output (ctx, 0, loom_emit (loom_lower_program (ctx), loom_prim ("det"), NULL, 1, &a, NULL));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3,3" } },
  { .inputs = { "f32:B,2,2" } },
  { .inputs = { "f32:1,1" } },
  { .inputs = { "f32:2,0,0" } },
  { NULL },
};

const LoomOp loom_op_det = {
  .name = "det",
  .title = "Determinant",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-solve-symbolic",
  .doc = "Computes the determinant of square matrices.",
  .details = "It is 0 for a singular matrix. Normalising flows and Gaussian densities use its logarithm. The gradient "
             "is computed from cofactors, so it exists for singular matrices too.",
  .formula = "y = det A",
  .reference = "torch.linalg.det",
  .source = "Golub and Van Loan, “Matrix Computations”, 4th edition, 2013, chapter 3",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_cubic_flops,
  .samples = samples,
};
