/* Tanhshrink: y = x - tanh(x). */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0);

  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_SUB, x, loom_unary (p, LOOM_SCALAR_TANH, x)));
}

const LoomOp loom_op_tanhshrink = {
  .name = "tanhshrink",
  .title = "Tanhshrink",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-shrink-symbolic",
  .doc = "Subtracts the tanh of each element from it.",
  .details = "Nearly 0 near zero, and x ∓ 1 for large |x|.",
  .formula = "y = x − tanh x",
  .reference = "torch.nn.Tanhshrink",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .lower = lower,
  .flops = loom_op_smooth_flops,
  .samples = loom_op_samples_any,
};
