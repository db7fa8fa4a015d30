/* Rand: uniform random numbers, as torch.rand and torch.rand_like. */
#include "engine/ops/family-random.h"

static void
infer (LoomInfer *ctx)
{
  loom_op_infer_drawn (ctx);
}

static void
lower (LoomLower *ctx)
{
  loom_op_lower_drawn (ctx, LOOM_RANDOM_UNIFORM);
}

const LoomOp loom_op_rand = {
  .name = "rand",
  .title = "Uniform random",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-random-symbolic",
  .doc = "Draws random numbers uniformly from 0 (included) to 1 (excluded).",
  .details
  = "New numbers are drawn at each step, in evaluation too. They depend only on the seed: they are the same on every "
    "device and with any number of threads. With “like” the shape is that of another tensor (rand_like).",
  .formula = "y ~ U(0, 1)",
  .reference = "torch.rand",
  .inputs = loom_op_port_like,
  .outputs = loom_op_port_out,
  .params = loom_op_param_filled,
  .infer = infer,
  .lower = lower,
  .samples = loom_op_samples_drawn,
};
