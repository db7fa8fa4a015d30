/* Outer product of two vectors. */
#include "engine/ops/family-linalg.h"

static const LoomPortSpec inputs[] = {
  { "input", "The first vector [n]." },
  { "vec2", "The second vector [m]." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);
  LoomShape shape = { .rank = 2 };

  if (!loom_op_rank (ctx, 0, "input", 1, 1, "vectors", "Flatten it first.")
      || !loom_op_rank (ctx, 1, "vec2", 1, 1, "vectors", "Flatten it first."))
    return;
  shape.dim[0] = a->shape.dim[0];
  shape.dim[1] = b->shape.dim[0];
  loom_infer_output (ctx, 0, loom_op_promote (a->dtype, b->dtype), &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue a = loom_op_operand (ctx, 0), b = loom_op_operand (ctx, 1);

  a = loom_reshape (p, a, 2, (gint64[]){ loom_op_desc (ctx, a).dim[0], 1 });
  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_MUL, a, b));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3", "f32:B" } },
  { .inputs = { "f32:1", "f32:0" } },
  { .inputs = { "i64:2", "i64:3" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_outer = {
  .name = "outer",
  .title = "Outer product",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-matmul-symbolic",
  .doc = "Computes the outer product of two vectors, [n, m].",
  .details = "For example, the gradient of the weight of a linear layer for one sample is the outer product of the "
             "output gradient and the input.",
  .formula = "yᵢⱼ = aᵢ bⱼ",
  .reference = "torch.outer",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
