/* Uniform: random numbers between borders that may be learnt, as torch.distributions.Uniform.rsample. */
#include "engine/ops/family-random.h"

static const LoomPortSpec inputs[] = {
  { "low", "The lower border.", LOOM_PORT_OPTIONAL },
  { "high", "The upper border, which is not reached.", LOOM_PORT_OPTIONAL },
  { "like", "Its shape is taken over, not its values.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "low",
    .type = LOOM_PARAM_FLOAT,
    .def = "",
    .doc = "The lower border, where nothing is wired; 0 where it is left out." },
  { .name = "high",
    .type = LOOM_PARAM_FLOAT,
    .def = "",
    .doc = "The upper border, where nothing is wired; 1 where it is left out." },
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
  .doc = "Random numbers between two borders.",
  .details = "Every number between the borders is as likely as any other. Each is low + (high − low) times a "
             "fresh number between 0 and 1, so gradients reach the borders where those are learnt. Numbers "
             "follow from the seed, step by step, in evaluation too.",
  .formula = "y = a + (b − a) · u, u ~ U(0, 1)",
  .reference = "torch.distributions.Uniform",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_distribution,
  .lower = lower,
  .samples = samples,
};
