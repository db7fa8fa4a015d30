/* Randn: standard normal random numbers, as torch.randn and torch.randn_like. */
#include "engine/ops/family-random.h"

static void
infer (LoomInfer *ctx)
{
  loom_op_infer_drawn (ctx);
}

static void
lower (LoomLower *ctx)
{
  loom_op_lower_drawn (ctx, LOOM_RANDOM_NORMAL);
}

const LoomOp loom_op_randn = {
  .name = "randn",
  .title = "Normal random",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-randn-symbolic",
  .doc = "Draws random numbers from the standard normal distribution.",
  .details
  = "New numbers are drawn at each step, in evaluation too. They depend only on the seed: they are the same on every "
    "device and with any number of threads. With “like” the shape is that of another tensor (randn_like).",
  .formula = "y ~ N(0, 1)",
  .reference = "torch.randn",
  .inputs = loom_op_port_like,
  .outputs = loom_op_port_out,
  .params = loom_op_param_filled,
  .infer = infer,
  .lower = lower,
  .samples = loom_op_samples_drawn,
};
