/* Dot product of two vectors. */
#include "engine/ops/family-linalg.h"

static const LoomPortSpec inputs[]
    = { { "input", "A vector." }, { "tensor", "A vector of the same length." }, { NULL } };

static void
infer (LoomInfer *ctx)
{
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);
  g_autofree char *sa = loom_shape_to_string (&a->shape), *sb = loom_shape_to_string (&b->shape);
  LoomShape scalar = { 0 };

  if (!loom_op_rank (ctx, 0, "input", 1, 1, "vectors", "For matrices use matmul.")
      || !loom_op_rank (ctx, 1, "tensor", 1, 1, "vectors", "For matrices use matmul."))
    return;
  if (!loom_dim_compatible (a->shape.dim[0], b->shape.dim[0]))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "tensor", "The vectors have different lengths: %s and %s.", sa, sb);
      return;
    }
  loom_infer_output (ctx, 0, loom_op_promote (a->dtype, b->dtype), &scalar);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);

  loom_lower_output (
      ctx, 0, loom_sum_all (p, loom_binary (p, LOOM_SCALAR_MUL, loom_op_operand (ctx, 0), loom_op_operand (ctx, 1))));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:T", "f32:T" } },
  { .inputs = { "f32:0", "f32:0" } },
  { .inputs = { "f32:1", "f32:1" } },
  { .inputs = { "i64:3", "i64:3" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_dot = {
  .name = "dot",
  .title = "Dot product",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-matmul-symbolic",
  .doc = "Computes the dot product of two vectors.",
  .details = "Both inputs have one dimension and the same length; the result is a scalar. For matrices use matmul.",
  .formula = "y = Σᵢ aᵢ bᵢ",
  .reference = "torch.dot",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
