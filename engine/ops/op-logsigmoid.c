/* Logarithm of the sigmoid: y = ln σ(x). */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0);

  /* Computed as -softplus(-x), which is linear to the last digit for large |x|. */
  loom_lower_output (
      ctx, 0, loom_unary (p, LOOM_SCALAR_NEG, loom_op_emit_softplus (p, loom_unary (p, LOOM_SCALAR_NEG, x), 1, 40)));
}

const LoomOp loom_op_logsigmoid = {
  .name = "logsigmoid",
  .title = "Log-sigmoid",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-sigmoid-symbolic",
  .doc = "Computes the logarithm of the sigmoid, accurately for negative inputs.",
  .details = "The log probability of the positive class of a logit. A sigmoid followed by log would underflow to minus "
             "infinity for very negative inputs.",
  .formula = "y = ln σ(x)",
  .reference = "torch.nn.LogSigmoid",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .lower = lower,
  .flops = loom_op_smooth_flops,
  .samples = loom_op_samples_any,
};
