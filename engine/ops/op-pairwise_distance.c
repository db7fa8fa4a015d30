/* Pairwise distance, as torch.nn.functional.pairwise_distance. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "x1", "The first vectors [ …, features]." },
  { "x2", "The second vectors; broadcasts with the first." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("p", FLOAT, "2"), LOOM_RANGE (1e-3, 1e3),
    .doc = "The order p of the norm: 2 for Euclidean, 1 for Manhattan distance." },
  { LOOM_PARAM ("eps", FLOAT, "1e-6"), .doc = "Added to each difference, so that no distance is exactly 0.",
    .advanced = TRUE },
  { LOOM_PARAM ("keepdim", BOOL, "false"), .doc = "Whether the result keeps the last dimension with size 1." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;

  if (!loom_op_infer_compared (ctx, 2, &dtype, &shape)
      || !loom_op_rank (ctx, 0, "x1", 1, LOOM_SHAPE_MAX_RANK, "vectors", "Put an unsqueeze before it."))
    return;
  shape = loom_op_reduced_shape (&shape, 1u << (shape.rank - 1), loom_infer_bool (ctx, "keepdim"));
  loom_infer_output (ctx, 0, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  loom_op_output_reshaped (ctx, 0, loom_op_distance (ctx, loom_op_loss_input (ctx, 0), loom_op_loss_input (ctx, 1)));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "p=1 keepdim=true", .inputs = { "f32:B,2,3", "f32:3" } },
  { .params = "p=3 eps=0.1", .inputs = { "f32:4", "f32:4" } },
  { .inputs = { "f32:0,2", "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_pairwise_distance = {
  .name = "pairwise_distance",
  .title = "Pairwise distance",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-cosine-symbolic",
  .doc = "Computes the p-norm distance between pairs of vectors.",
  .details = "The vectors are along the last dimension, which is reduced.",
  .formula = "y = ‖x₁ − x₂ + ε‖ₚ",
  .reference = "torch.nn.PairwiseDistance",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
