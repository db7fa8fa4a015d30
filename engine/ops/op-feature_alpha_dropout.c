/* Alpha dropout of whole channels, as torch.nn.FeatureAlphaDropout. */
#include "engine/ops/op-layers.h"

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape mask = x->shape;

  if (!loom_op_needs_float (ctx, 0, "input", "scales the kept elements")
      || !loom_op_rank (ctx, 0, "input", 2, LOOM_SHAPE_MAX_RANK, "samples with channels [N, C, …]",
                        "For single elements use alpha_dropout."))
    return;
  for (int i = 2; i < mask.rank; i++)
    mask.dim[i] = loom_dim (1);
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
  loom_infer_output (ctx, 1, x->dtype, &mask);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,2,4" } },
  { .params = "p=0.25", .inputs = { "f32:2,3" } },
  { .params = "p=0", .inputs = { "f32:B,3,5" } },
  { .params = "p=1", .inputs = { "f32:B,3,5" } },
  { NULL },
};

const LoomOp loom_op_feature_alpha_dropout = {
  .name = "feature_alpha_dropout",
  .title = "Feature alpha dropout",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-dropout2d-symbolic",
  .doc = "Applies alpha dropout to whole channels, for SELU networks.",
  .details
  = "Each channel of each sample is dropped as a whole: it is set to −λα, the limit of SELU for large negative inputs, "
    "and the result is scaled and shifted to restore mean and variance. In evaluation the input is unchanged.",
  .formula = "y = a · (m · x + (1 − m) · v) + b, one m per channel, v = −λα",
  .reference = "torch.nn.FeatureAlphaDropout",
  .source = "Klambauer, Unterthiner, Mayr and Hochreiter, “Self-Normalizing Neural Networks”, NIPS 2017, "
            "arXiv:1706.02515, section 3",
  .inputs = loom_op_port_space[1],
  .outputs = loom_op_port_dropped,
  .params = loom_op_param_dropped,
  .infer = infer,
  .lower = loom_op_lower_alpha_dropout,
  .flops = loom_op_alpha_dropout_flops,
  .samples = samples,
};
