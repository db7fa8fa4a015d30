/* Mish: x·tanh(softplus(x)) (Misra 2019). */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0);

  loom_lower_output (
      ctx, 0,
      loom_binary (p, LOOM_SCALAR_MUL, x, loom_unary (p, LOOM_SCALAR_TANH, loom_op_emit_softplus (p, x, 1, 20))));
}

const LoomOp loom_op_mish = {
  .name = "mish",
  .title = "Mish",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-silu-symbolic",
  .doc = "Multiplies each element by the tanh of its softplus.",
  .details = "Smooth and similar to SiLU: slightly negative for negative inputs, close to linear for positive ones.",
  .formula = "y = x · tanh(ln(1 + eˣ))",
  .reference = "torch.nn.Mish",
  .source = "Misra, “Mish: A Self Regularized Non-Monotonic Activation Function”, 2019, arXiv:1908.08681",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .lower = lower,
  .flops = loom_op_smooth_flops,
  .samples = loom_op_samples_any,
};
