/* Cosine similarity, as torch.nn.functional.cosine_similarity. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "x1", "The first vectors." },
  { "x2", "The second vectors." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "1", .doc = "The dimension of the vectors, which is reduced." },
  { LOOM_PARAM ("eps", FLOAT, "1e-8"), LOOM_RANGE (0, 1e300), .doc = "The smallest norm to divide by.",
    .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;
  int axis;

  if (!loom_op_infer_compared (ctx, 2, &dtype, &shape)
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), shape.rank, &axis))
    return;
  shape = loom_op_reduced_shape (&shape, 1u << axis, FALSE);
  loom_infer_output (ctx, 0, dtype, &shape);
}

/* A vector divided by its norm, at least eps. */
static LoomValue
unit (LoomProgram *p, LoomValue x, int axis, double eps)
{
  return loom_binary (p, LOOM_SCALAR_DIV, x, loom_op_hold_up (p, loom_op_norm_along (p, x, axis, 2), eps));
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x[2] = { loom_op_loss_input (ctx, 0), loom_op_loss_input (ctx, 1) };
  LoomTensorDesc d = loom_op_desc (ctx, loom_binary (p, LOOM_SCALAR_MUL, x[0], x[1]));
  int axis = loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), MAX (d.rank, 1));
  double eps = loom_infer_float (infer_ctx, "eps");

  if (d.rank == 0)
    {
      d.rank = 1;
      d.dim[0] = 1;
    }
  for (int i = 0; i < 2; i++)
    x[i] = unit (p, loom_expand_to (p, x[i], d.rank, d.dim), axis, eps);
  loom_op_output_reshaped (
      ctx, 0, loom_reduce (p, LOOM_REDUCE_SUM, loom_binary (p, LOOM_SCALAR_MUL, x[0], x[1]), 1u << axis, FALSE));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "dim=0", .inputs = { "f32:4", "f32:4" } },
  { .params = "dim=-1 eps=0.01", .inputs = { "f32:B,2,3", "f32:3" } },
  { .inputs = { "f32:2,1", "f32:2,3" } },
  { .inputs = { "f32:0,2", "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_cosine_similarity = {
  .name = "cosine_similarity",
  .title = "Cosine similarity",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-cosine-symbolic",
  .doc = "Computes the cosine of the angle between vectors.",
  .details = "1 for the same direction, 0 for orthogonal vectors, −1 for opposite ones. It does not depend on the "
             "length of the vectors, so it is used to compare embeddings.",
  .formula = "y = x₁ · x₂ / (‖x₁‖ ‖x₂‖)",
  .reference = "torch.nn.CosineSimilarity",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
