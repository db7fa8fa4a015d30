/* Randn: normal random numbers, as torch.randn and randn_like. */
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
  .doc = "Random numbers with mean 0 and deviation 1.",
  .details = "The noise that a generator begins with, or that is added to data. They are new at each step of a "
             "training, in evaluation as well, and follow from the seed alone: the same seed gives the same "
             "numbers on every device and with any number of threads. With “like” the shape is that of another "
             "tensor (randn_like).",
  .formula = "y ~ N(0, 1)",
  .reference = "torch.randn",
  .inputs = loom_op_port_like,
  .outputs = loom_op_port_out,
  .params = loom_op_param_filled,
  .infer = infer,
  .lower = lower,
  .samples = loom_op_samples_drawn,
};
