/* Cholesky decomposition, as torch.linalg.cholesky. */
#include "engine/ops/family-linalg.h"

static const LoomPortSpec inputs[] = {
  { "input", "Symmetric positive definite matrices [ …, n, n]." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("upper", BOOL, "false"), .doc = "Whether to return the upper factor U with A = UᵀU instead of L." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  if (loom_op_matrix_square (ctx, 0, "input"))
    loom_op_infer_same (ctx);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue a = loom_lower_input (ctx, 0), l = loom_emit (p, loom_prim ("cholesky"), NULL, 1, &a, NULL);

  loom_lower_output (ctx, 0, loom_infer_bool (loom_lower_infer (ctx), "upper") ? loom_op_matrix_transposed (p, l) : l);
}

/* Random matrices are not positive definite; tests/reference compares matrices that are, with gradients. */
static const LoomSample samples[] = {
  { .inputs = { "f32:0,0" } },
  { .params = "upper=true", .inputs = { "f32:B,1,1" }, .range = "positive" },
  { NULL },
};

const LoomOp loom_op_cholesky = {
  .name = "cholesky",
  .title = "Cholesky",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-solve-symbolic",
  .doc = "Computes the Cholesky decomposition of a symmetric positive definite matrix.",
  .details = "Turns independent normal numbers into correlated ones, and makes linear systems with the matrix cheap to "
             "solve. The matrix that is decomposed is (A + Aᵀ)/2. A matrix that is not positive definite is an error "
             "that reports its index.",
  .formula = "A = L Lᵀ",
  .reference = "torch.linalg.cholesky",
  .source = "Golub and Van Loan, “Matrix Computations”, 4th edition, 2013, section 4.2",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_cubic_flops,
  .samples = samples,
};
