/* Poisson negative log likelihood, as torch.nn.functional.poisson_nll_loss. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { LOOM_PARAM ("log_input", BOOL, "true"), .doc = "Whether the input is the logarithm of the rate." },
  { LOOM_PARAM ("full", BOOL, "false"), .doc = "Whether Stirling’s approximation of ln t! is added.",
    .advanced = TRUE },
  { LOOM_PARAM ("eps", FLOAT, "1e-8"), LOOM_RANGE (0, 1e300),
    .doc = "Added to the rate before its logarithm, if the input is not logarithmic.", .advanced = TRUE },
  { NULL },
};

static const double log_two_pi = 1.8378770664093453;

/* t ln t − t + ½ ln 2πt for t > 1, else 0. */
static LoomValue
stirling (LoomLower *ctx, LoomValue t)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue many = loom_binary (p, LOOM_SCALAR_GT, t, loom_op_const_like (ctx, t, 1));
  LoomValue safe = loom_ternary (p, LOOM_SCALAR_SELECT, many, t, loom_op_const_like (ctx, t, 1));
  LoomValue log = loom_unary (p, LOOM_SCALAR_LOG, safe);
  LoomValue half
      = loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_ADD, log, loom_op_const_like (ctx, t, log_two_pi)),
                     loom_op_const_like (ctx, t, 0.5));
  LoomValue sum = loom_binary (
      p, LOOM_SCALAR_ADD, loom_binary (p, LOOM_SCALAR_SUB, loom_binary (p, LOOM_SCALAR_MUL, safe, log), safe), half);

  return loom_ternary (p, LOOM_SCALAR_SELECT, many, sum, loom_op_const_like (ctx, t, 0));
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_input (ctx, 1);
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomValue loss;

  if (loom_infer_bool (infer_ctx, "log_input"))
    loss = loom_binary (p, LOOM_SCALAR_SUB, loom_unary (p, LOOM_SCALAR_EXP, x), loom_binary (p, LOOM_SCALAR_MUL, t, x));
  else
    loss = loom_binary (
        p, LOOM_SCALAR_SUB, x,
        loom_binary (p, LOOM_SCALAR_MUL, t,
                     loom_unary (p, LOOM_SCALAR_LOG,
                                 loom_binary (p, LOOM_SCALAR_ADD, x,
                                              loom_op_const_like (ctx, x, loom_infer_float (infer_ctx, "eps"))))));
  if (loom_infer_bool (infer_ctx, "full"))
    loss = loom_binary (p, LOOM_SCALAR_ADD, loss, stirling (ctx, t));
  loom_op_output_loss (ctx, loss);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" }, .range = "positive" },
  { .params = "log_input=false full=true", .inputs = { "f32:B,3", "f32:B,3" }, .range = "positive" },
  { .params = "reduction=none full=true", .inputs = { "f32:B,3", "i64:B,3" }, .range = "class:5" },
  { .params = "reduction=sum eps=0.01 log_input=false", .inputs = { "f32:2", "f32:2" }, .range = "positive" },
  { NULL },
};

const LoomOp loom_op_poisson_nll_loss = {
  .name = "poisson_nll_loss",
  .title = "Poisson NLL loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-poisson-symbolic",
  .doc = "Computes the negative log likelihood of counts under a Poisson distribution.",
  .details = "The target is a count (such as calls per hour), the input its predicted rate or, by default, the "
             "logarithm of the rate.",
  .formula = "L = mean (eˣ − t · x)",
  .reference = "torch.nn.PoissonNLLLoss",
  .inputs = loom_op_port_compared,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_pair_loss,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
