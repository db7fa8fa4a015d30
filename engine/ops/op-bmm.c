/* Batched matrix product, as torch.bmm. */
#include "engine/ops/family-linalg.h"

static const LoomPortSpec inputs[] = {
  { "input", "The first matrices [batch, n, k]." },
  { "mat2", "The second matrices [batch, k, m]." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);
  g_autofree char *sa = loom_shape_to_string (&a->shape), *sb = loom_shape_to_string (&b->shape);
  LoomShape shape = a->shape;

  if (!loom_op_needs_float (ctx, 0, "input", NULL) || !loom_op_needs_float (ctx, 1, "mat2", NULL)
      || !loom_op_rank (ctx, 0, "input", 3, 3, "a batch of matrices", "“matmul” takes any number of dimensions.")
      || !loom_op_rank (ctx, 1, "mat2", 3, 3, "a batch of matrices", "“matmul” takes any number of dimensions."))
    return;
  if (!loom_dim_compatible (a->shape.dim[0], b->shape.dim[0])
      || !loom_dim_compatible (a->shape.dim[2], b->shape.dim[1]))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "mat2",
                        "%s and %s cannot be multiplied: both need the same batch size, and the last size of the first "
                        "must equal the second-to-last size of the second.",
                        sa, sb);
      return;
    }
  shape.dim[2] = b->shape.dim[2];
  loom_infer_output (ctx, 0, loom_op_promote (a->dtype, b->dtype), &shape);
}

static void
lower (LoomLower *ctx)
{
  loom_lower_output (
      ctx, 0, loom_matmul (loom_lower_program (ctx), loom_op_operand (ctx, 0), loom_op_operand (ctx, 1), FALSE, FALSE));
}

static double
flops (const LoomInfer *ctx)
{
  return 2.0 * loom_op_output_count (ctx, 0) * (double)loom_infer_input (ctx, 0)->shape.dim[2].coef;
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,2,3", "f32:B,3,T" } },
  { .inputs = { "f32:1,1,1", "f32:1,1,1" } },
  { .inputs = { "f32:0,2,3", "f32:0,3,2" } },
  { NULL },
};

const LoomOp loom_op_bmm = {
  .name = "bmm",
  .title = "Batched matrix product",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-matmul-symbolic",
  .doc = "Multiplies two batches of matrices, pair by pair.",
  .details = "Like matmul, but only for tensors with three dimensions and equal batch sizes; it does not broadcast. "
             "The output is [batch, n, m].",
  .formula = "yₙ = aₙ bₙ",
  .first = LOOM_FIRST_PRODUCT,
  .reference = "torch.bmm",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
