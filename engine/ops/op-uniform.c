/* Uniform distribution with learnable bounds, as torch.distributions.Uniform.rsample. */
#include "engine/ops/family-random.h"

static const LoomPortSpec inputs[] = {
  { "low", "The lower bound.", LOOM_PORT_OPTIONAL },
  { "high", "The upper bound, which is not included.", LOOM_PORT_OPTIONAL },
  { "like", "A tensor that sets the shape; its values are not used.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("low", FLOAT, ""), .doc = "The lower bound if the port low is not wired; default 0." },
  { LOOM_PARAM ("high", FLOAT, ""), .doc = "The upper bound if the port high is not wired; default 1." },
  LOOM_OP_PARAM_DRAWN_SHAPE,
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue low = loom_op_distribution_parameter (ctx, 0, 0), high = loom_op_distribution_parameter (ctx, 1, 1);

  loom_op_put_drawn (ctx, loom_ternary (p, LOOM_SCALAR_FMA, loom_op_draw (ctx, LOOM_RANDOM_UNIFORM),
                                        loom_binary (p, LOOM_SCALAR_SUB, high, low), low));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,1" } },
  { .params = "low=-1", .inputs = { "", "f32:B,3" }, .range = "positive" },
  { .params = "low=-0.1 high=0.1 shape=B,3" },
  { .params = "high=5", .inputs = { "", "", "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_uniform = {
  .name = "uniform",
  .title = "Uniform distribution",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-random-symbolic",
  .doc = "Draws random numbers from a uniform distribution.",
  .details = "Computed as low + (high − low) · u with u from 0 to 1, so gradients flow to both bounds. New numbers are "
             "drawn at each step from the seed, in evaluation too.",
  .formula = "y = a + (b − a) · u, u ~ U(0, 1)",
  .reference = "torch.distributions.Uniform",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_distribution,
  .lower = lower,
  .samples = samples,
};
