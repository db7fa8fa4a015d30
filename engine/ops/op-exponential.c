/* Exponential distribution with learnable rate, as torch.distributions.Exponential.rsample. */
#include "engine/ops/family-random.h"

static const LoomPortSpec inputs[] = {
  { "rate", "The rate λ of the distribution, above 0.", LOOM_PORT_OPTIONAL },
  { "like", "A tensor that sets the shape; its values are not used.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("rate", FLOAT, ""), LOOM_RANGE (1e-300, 1e300),
    .doc = "The rate if the port rate is not wired; default 1." },
  LOOM_OP_PARAM_DRAWN_SHAPE,
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomValue rate = loom_op_not_negative (ctx, loom_op_distribution_parameter (ctx, 0, 1), "a rate is negative");

  loom_op_put_drawn (
      ctx, loom_binary (loom_lower_program (ctx), LOOM_SCALAR_DIV, loom_op_draw (ctx, LOOM_RANDOM_EXPONENTIAL), rate));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3" }, .range = "positive" },
  { .params = "rate=2 shape=B,3" },
  { .inputs = { "", "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_exponential = {
  .name = "exponential",
  .title = "Exponential distribution",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-random-symbolic",
  .doc = "Draws random numbers from an exponential distribution.",
  .details = "The time between events that occur independently at a constant rate; the mean is 1 / rate. Gradients "
             "flow to the rate. New numbers are drawn at each step from the seed, in evaluation too.",
  .formula = "y = −ln u / λ, u ~ U(0, 1)",
  .reference = "torch.distributions.Exponential",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_distribution,
  .lower = lower,
  .samples = samples,
};
