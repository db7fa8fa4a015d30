/* Hard swish (Howard et al. 2019). */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), y;

  y = loom_binary (p, LOOM_SCALAR_ADD, x, loom_op_const_like (ctx, x, 3));
  y = loom_op_clamp_to (ctx, y, 0, LOOM_SCALAR_GT, LOOM_SCALAR_MAX);
  y = loom_op_clamp_to (ctx, y, 6, LOOM_SCALAR_LT, LOOM_SCALAR_MIN);
  y = loom_binary (p, LOOM_SCALAR_MUL, x, y);
  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_DIV, y, loom_op_const_like (ctx, x, 6)));
}

const LoomOp loom_op_hardswish = {
  .name = "hardswish",
  .title = "Hard swish",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-silu-symbolic",
  .doc = "Multiplies each element by its hard sigmoid.",
  .details = "An approximation of SiLU without an exponential, used in networks for mobile devices.",
  .formula = "y = x · min(max(x + 3, 0), 6) / 6",
  .reference = "torch.nn.Hardswish",
  .source = "Howard et al., “Searching for MobileNetV3”, ICCV 2019, arXiv:1905.02244, section 5.2",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .lower = lower,
  .samples = loom_op_samples_any,
};
