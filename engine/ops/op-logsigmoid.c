/* Logarithm of the sigmoid. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0);

  /* -softplus(-x): past the bend the line is straight to the last digit. */
  loom_lower_output (
      ctx, 0, loom_unary (p, LOOM_SCALAR_NEG, loom_op_emit_softplus (p, loom_unary (p, LOOM_SCALAR_NEG, x), 1, 40)));
}

const LoomOp loom_op_logsigmoid = {
  .name = "logsigmoid",
  .title = "Log-sigmoid",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-sigmoid-symbolic",
  .doc = "The logarithm of the sigmoid, exact where the sigmoid is nearly 0.",
  .details = "A log-probability of yes. Taking the sigmoid first and its logarithm after would give minus "
             "infinity for very negative numbers; this is a straight line there.",
  .formula = "y = ln σ(x)",
  .reference = "torch.nn.LogSigmoid",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .lower = lower,
  .flops = loom_op_smooth_flops,
  .samples = loom_op_samples_any,
};
