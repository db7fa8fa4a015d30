/* Exponential: waiting times, as torch.distributions.Exponential.rsample. */
#include "engine/ops/family-random.h"

static const LoomPortSpec inputs[] = {
  { "rate", "How many events there are in a unit of time, above 0.", LOOM_PORT_OPTIONAL },
  { "like", "Its shape is taken over, not its values.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "rate",
    .type = LOOM_PARAM_FLOAT,
    .def = "",
    .minimum = 1e-300,
    .maximum = 1e300,
    .doc = "The rate, where nothing is wired; 1 where it is left out." },
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
  .doc = "Random waiting times between events.",
  .details = "Where events come at a constant rate and forget each other, this is how long one waits for the "
             "next; the mean is 1 / rate. Gradients reach the rate. Numbers follow from the seed, step by "
             "step, in evaluation too.",
  .formula = "y = −ln u / λ, u ~ U(0, 1)",
  .reference = "torch.distributions.Exponential",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_distribution,
  .lower = lower,
  .samples = samples,
};
