/* Softsign: y = x/(1 + |x|). */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), size;

  size = loom_binary (p, LOOM_SCALAR_ADD, loom_unary (p, LOOM_SCALAR_ABS, x), loom_op_const_like (ctx, x, 1));
  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_DIV, x, size));
}

const LoomOp loom_op_softsign = {
  .name = "softsign",
  .title = "Softsign",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-tanh-symbolic",
  .doc = "Applies softsign: maps all numbers to the range from −1 to 1.",
  .details
  = "Similar to tanh, but it saturates like 1/|x| instead of exponentially, so its derivative is larger for large |x|.",
  .formula = "y = x / (1 + |x|)",
  .reference = "torch.nn.Softsign",
  .source = "Turian, Bergstra and Bengio, “Quadratic Features and Deep Architectures for Chunking”, NAACL 2009",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .lower = lower,
  .samples = loom_op_samples_away0,
};
