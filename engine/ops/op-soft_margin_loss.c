/* Soft margin loss with targets 1 and −1, as torch.nn.functional.soft_margin_loss. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_constant (ctx, 1);

  loom_op_output_loss (ctx, loom_op_logistic_loss (p, loom_binary (p, LOOM_SCALAR_MUL, x, t), TRUE));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "i64:B,3" } },
  { .params = "reduction=sum", .inputs = { "f32:B,3", "i64:B,3" } },
  { .params = "reduction=none", .inputs = { "f32:B,3", "i64:B,1" } },
  { .inputs = { "f32:", "i64:" } },
  { .params = "reduction=sum", .inputs = { "f32:0,2", "i64:0,2" } },
  { NULL },
};

const LoomOp loom_op_soft_margin_loss = {
  .name = "soft_margin_loss",
  .title = "Soft margin loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-hinge-loss-symbolic",
  .doc = "Computes the logistic loss of two classes, 1 and −1.",
  .details = "The loss is small if input and target have the same sign and the input is large.",
  .formula = "L = mean ln(1 + exp(−t · x))",
  .reference = "torch.nn.SoftMarginLoss",
  .inputs = loom_op_port_compared,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduction,
  .infer = loom_op_infer_pair_loss,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
