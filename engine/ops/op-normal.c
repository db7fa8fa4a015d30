/* Normal distribution with learnable parameters, as torch.distributions.Normal.rsample. */
#include "engine/ops/family-random.h"

static const LoomPortSpec inputs[] = {
  { "mean", "The mean of each number.", LOOM_PORT_OPTIONAL },
  { "std", "The standard deviation of each number, not negative.", LOOM_PORT_OPTIONAL },
  { "like", "A tensor that sets the shape; its values are not used.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("mean", FLOAT, ""), .doc = "The mean if the port mean is not wired; default 0." },
  { LOOM_PARAM ("std", FLOAT, ""), LOOM_RANGE (0, 1e300),
    .doc = "The standard deviation if the port std is not wired; default 1." },
  LOOM_OP_PARAM_DRAWN_SHAPE,
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomValue mean = loom_op_distribution_parameter (ctx, 0, 0), std = loom_op_distribution_parameter (ctx, 1, 1);

  std = loom_op_not_negative (ctx, std, "a standard deviation is negative");
  loom_op_put_drawn (
      ctx, loom_ternary (loom_lower_program (ctx), LOOM_SCALAR_FMA, loom_op_draw (ctx, LOOM_RANDOM_NORMAL), std, mean));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" }, .range = "positive" },
  { .inputs = { "f32:B,3", "f32:3" }, .range = "positive" },
  { .params = "std=0.1", .inputs = { "f32:B,3" } },
  { .params = "mean=1 std=2 shape=B,3" },
  { .params = "shape=B,3", .inputs = { "f32:3", "f32:" }, .range = "positive" },
  { .inputs = { "", "", "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_normal = {
  .name = "normal",
  .title = "Normal distribution",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-randn-symbolic",
  .doc = "Draws random numbers from a normal distribution.",
  .details
  = "Computed as mean + std · ε with standard normal ε, so gradients flow to both parameters: the reparametrisation of "
    "a variational autoencoder (VAE). New numbers are drawn at each step from the seed, in evaluation too.",
  .formula = "y = μ + σ · ε, ε ~ N(0, 1)",
  .reference = "torch.normal",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_distribution,
  .lower = lower,
  .samples = samples,
};
