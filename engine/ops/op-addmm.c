/* Matrix product plus a tensor, as torch.addmm. */
#include "engine/ops/family-linalg.h"

static const LoomPortSpec inputs[] = {
  { "input", "The tensor to add; broadcasts to [n, m]." },
  { "mat1", "The first matrix [n, k]." },
  { "mat2", "The second matrix [k, m]." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("beta", FLOAT, "1"), .doc = "The factor of the input; at 0 the input is ignored." },
  { LOOM_PARAM ("alpha", FLOAT, "1"), .doc = "The factor of the matrix product." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *c = loom_infer_input (ctx, 0), *a = loom_infer_input (ctx, 1), *b = loom_infer_input (ctx, 2);
  g_autofree char *sa = loom_shape_to_string (&a->shape), *sb = loom_shape_to_string (&b->shape);
  g_autofree char *sc = loom_shape_to_string (&c->shape);
  LoomShape shape = { .rank = 2 }, both;

  if (!loom_op_needs_float (ctx, 0, "input", NULL) || !loom_op_needs_float (ctx, 1, "mat1", NULL)
      || !loom_op_needs_float (ctx, 2, "mat2", NULL)
      || !loom_op_rank (ctx, 1, "mat1", 2, 2, "matrices", "“matmul” takes any number of dimensions.")
      || !loom_op_rank (ctx, 2, "mat2", 2, 2, "matrices", "“matmul” takes any number of dimensions."))
    return;
  if (!loom_dim_compatible (a->shape.dim[1], b->shape.dim[0]))
    {
      loom_infer_fault (
          ctx, LOOM_ERROR_SHAPE, "mat2",
          "%s and %s cannot be multiplied: the last size of the first matrix must equal the first size of the second.",
          sa, sb);
      return;
    }
  shape.dim[0] = a->shape.dim[0];
  shape.dim[1] = b->shape.dim[1];
  if (!loom_shape_broadcast (&c->shape, &shape, &both) || !loom_shape_compatible (&both, &shape))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "input", "%s does not broadcast to the product of %s and %s.", sc, sa,
                        sb);
      return;
    }
  loom_infer_output (ctx, 0, loom_op_promote (c->dtype, loom_op_promote (a->dtype, b->dtype)), &shape);
}

static LoomValue
times (LoomLower *ctx, LoomValue v, const char *name)
{
  double factor = loom_infer_float (loom_lower_infer (ctx), name);

  return factor == 1 ? v
                     : loom_binary (loom_lower_program (ctx), LOOM_SCALAR_MUL, v, loom_op_const_like (ctx, v, factor));
}

/* With beta 0 the input is ignored, even if it contains NaN, as in PyTorch. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue y = times (ctx, loom_matmul (p, loom_op_operand (ctx, 1), loom_op_operand (ctx, 2), FALSE, FALSE), "alpha");

  if (loom_infer_float (loom_lower_infer (ctx), "beta") != 0)
    y = loom_binary (p, LOOM_SCALAR_ADD, y, times (ctx, loom_op_operand (ctx, 0), "beta"));
  loom_lower_output (ctx, 0, y);
}

static double
flops (const LoomInfer *ctx)
{
  return 2.0 * loom_op_output_count (ctx, 0) * (1 + (double)loom_infer_input (ctx, 1)->shape.dim[1].coef);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,2", "f32:B,3", "f32:3,2" } },
  { .params = "beta=0.5 alpha=-2", .inputs = { "f32:2", "f32:B,3", "f32:3,2" } },
  { .params = "beta=0", .inputs = { "f32:1", "f32:2,3", "f32:3,2" } },
  { .inputs = { "f32:", "f32:2,0", "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_addmm = {
  .name = "addmm",
  .title = "Matrix product plus tensor",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-matmul-symbolic",
  .doc = "Computes a matrix product and adds a tensor to it.",
  .details = "With a bias as input it is a linear layer whose weights are wired: bias + x·W.",
  .formula = "y = β c + α (a b)",
  .reference = "torch.addmm",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
