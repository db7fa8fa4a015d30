/* Pairwise distance, as torch.nn.functional.pairwise_distance. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "x1", "The first vectors." },
  { "x2", "The second vectors." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "p",
    .type = LOOM_PARAM_FLOAT,
    .def = "2",
    .minimum = 1e-3,
    .maximum = 1e3,
    .doc = "How lengths are measured: 2 as the crow flies, 1 along streets." },
  { .name = "eps",
    .type = LOOM_PARAM_FLOAT,
    .def = "1e-6",
    .doc = "Added to each difference, so that no distance is exactly 0.",
    .advanced = TRUE },
  { .name = "keepdim", .type = LOOM_PARAM_BOOL, .def = "false", .doc = "Leaves a size of 1 where the vectors were." },
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
  loom_op_put (ctx, 0, loom_op_distance (ctx, loom_op_loss_input (ctx, 0), loom_op_loss_input (ctx, 1)));
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
  .doc = "Measures how far vectors are apart, pair by pair.",
  .details = "The length of the difference of each vector of the first input and the one at the same place of the "
             "second.",
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
