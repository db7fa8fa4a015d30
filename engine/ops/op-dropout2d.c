/* Dropout of whole channels of images, as torch.nn.Dropout2d (Tompson et al. 2015). */
#include "engine/ops/op-layers.h"

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape mask = x->shape;

  if (!loom_op_space (ctx, 2, "For features alone use dropout.", "scales what it keeps"))
    return;
  for (int i = 2; i < mask.rank; i++)
    mask.dim[i] = loom_dim (1);
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
  loom_infer_output (ctx, 1, x->dtype, &mask);
}

static double
flops (const LoomInfer *ctx)
{
  return 2 * loom_op_output_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,2,4" } },
  { .params = "p=0.25", .inputs = { "f32:B,3,2,4" } },
  { .params = "p=0", .inputs = { "f32:B,3,2,4" } },
  { .params = "p=1", .inputs = { "f32:B,3,2,4" } },
  { NULL },
};

const LoomOp loom_op_dropout2d = {
  .name = "dropout2d",
  .title = "Dropout 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-dropout2d-symbolic",
  .doc = "Silences random channels while training.",
  .details = "Neighbours in an image say nearly the same, so dropping single elements hides little. Here a "
             "channel goes as a whole, with probability p, and the others are scaled up by 1 / (1 - p). The "
             "mask has one number for each channel of each sample. In evaluation everything passes.",
  .formula = "y = m · x / (1 − p), one m ~ Bernoulli(1 − p) a channel",
  .reference = "torch.nn.Dropout2d",
  .inputs = loom_op_port_images,
  .outputs = loom_op_port_dropped,
  .params = loom_op_param_dropped,
  .infer = infer,
  .lower = loom_op_lower_dropout,
  .flops = flops,
  .samples = samples,
};
