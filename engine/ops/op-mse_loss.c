/* Mean squared error, as torch.nn.functional.mse_loss. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue d = loom_binary (p, LOOM_SCALAR_SUB, loom_op_loss_input (ctx, 0), loom_op_loss_input (ctx, 1));

  loom_op_output_loss (ctx, loom_unary (p, LOOM_SCALAR_SQUARE, d));
}

static double
flops (const LoomInfer *ctx)
{
  return 3 * loom_op_input_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=sum", .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=none", .inputs = { "f32:B,3", "f32:B,1" } },
  { .inputs = { "f32:", "f32:" } },
  { .params = "reduction=sum", .inputs = { "f32:0,2", "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_mse_loss = {
  .name = "mse_loss",
  .title = "Mean squared error",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-mse-loss-symbolic",
  .synonyms = "mean squared error regression l2",
  .usual = TRUE,
  .doc = "Computes the mean squared error between input and target.",
  .details = "The usual loss for regression. Large errors count more than small ones: for the mean of n numbers the "
             "gradient is 2(x − t)/n, which becomes smaller as the error does.",
  .formula = "L = mean (x − t)²",
  .reference = "torch.nn.MSELoss",
  .inputs = loom_op_port_compared,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduction,
  .infer = loom_op_infer_pair_loss,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
