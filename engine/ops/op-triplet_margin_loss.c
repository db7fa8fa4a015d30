/* Triplet margin loss, as torch.nn.functional.triplet_margin_loss. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "anchor", "The reference vectors [ …, features]." },
  { "positive", "Vectors similar to the anchor." },
  { "negative", "Vectors dissimilar to the anchor." },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { LOOM_PARAM ("margin", FLOAT, "1"), .doc = "The margin by which the positive should be nearer than the negative." },
  { LOOM_PARAM ("p", FLOAT, "2"), LOOM_RANGE (1e-3, 1e3),
    .doc = "The order p of the norm: 2 for Euclidean, 1 for Manhattan distance." },
  { LOOM_PARAM ("eps", FLOAT, "1e-6"), .doc = "Added to each difference, so that no distance is exactly 0.",
    .advanced = TRUE },
  { LOOM_PARAM ("swap", BOOL, "false"),
    .doc
    = "Whether the distance from positive to negative is used if it is smaller than that from anchor to negative." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;

  if (!loom_op_infer_compared (ctx, 3, &dtype, &shape)
      || !loom_op_rank (ctx, 0, "anchor", 1, LOOM_SHAPE_MAX_RANK, "vectors", "Put an unsqueeze before it."))
    return;
  shape = loom_op_reduced_shape (&shape, 1u << (shape.rank - 1), FALSE);
  loom_op_infer_loss (ctx, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue anchor = loom_op_loss_input (ctx, 0), like = loom_op_loss_input (ctx, 1);
  LoomValue unlike = loom_op_loss_input (ctx, 2), near = loom_op_distance (ctx, anchor, like);
  LoomValue far = loom_op_distance (ctx, anchor, unlike), loss;
  LoomTensorDesc d;

  if (loom_infer_bool (infer_ctx, "swap"))
    far = loom_binary (p, LOOM_SCALAR_MIN, far, loom_op_distance (ctx, like, unlike));
  loss = loom_binary (p, LOOM_SCALAR_SUB, near, far);
  loss
      = loom_op_at_least_zero (p, loom_binary (p, LOOM_SCALAR_ADD, loss,
                                               loom_op_const_like (ctx, loss, loom_infer_float (infer_ctx, "margin"))));
  d = loom_op_desc (ctx, loss);
  loom_op_output_loss (ctx, loom_reshape (p, loss, d.rank - 1, d.dim));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3", "f32:B,3" } },
  { .params = "p=1 margin=2 reduction=none", .inputs = { "f32:B,3", "f32:B,3", "f32:B,3" } },
  { .params = "swap=true reduction=sum", .inputs = { "f32:B,3", "f32:B,3", "f32:B,3" } },
  { .params = "margin=3 p=3", .inputs = { "f32:3", "f32:3", "f32:3" } },
  { NULL },
};

const LoomOp loom_op_triplet_margin_loss = {
  .name = "triplet_margin_loss",
  .title = "Triplet margin loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-triplet-symbolic",
  .doc = "Computes the triplet loss: an anchor should be closer to a similar vector than to a dissimilar one.",
  .details = "The distance between anchor and positive should be smaller than that between anchor and negative by the "
             "margin. Used to learn embeddings, for example for face recognition.",
  .formula = "L = mean max(0, ‖a − p‖ − ‖a − n‖ + m)",
  .reference = "torch.nn.TripletMarginLoss",
  .source = "Balntas, Riba, Ponsa and Mikolajczyk, “Learning Local Feature Descriptors with Triplets and Shallow "
            "Convolutional Neural Networks”, BMVC 2016",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
