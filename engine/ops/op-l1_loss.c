/* Mean absolute error, as torch.nn.functional.l1_loss. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_input (ctx, 1);
  LoomValue d = loom_binary (p, LOOM_SCALAR_SUB, x, t);

  loom_op_output_loss (ctx, loom_unary (p, LOOM_SCALAR_ABS, d));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=sum", .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=none", .inputs = { "f32:B,3", "f32:B,1" } },
  { .inputs = { "f32:", "f32:" } },
  { .params = "reduction=sum", .inputs = { "f32:0,2", "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_l1_loss = {
  .name = "l1_loss",
  .title = "Mean absolute error (L1)",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-l1-loss-symbolic",
  .synonyms = "mae absolute error",
  .doc = "Computes the mean absolute error between input and target.",
  .details = "Large errors have less influence than with the squared error. The gradient has the same magnitude for "
             "small and large errors, which makes exact convergence slower. Also called the mean absolute error, MAE.",
  .formula = "L = mean |x − t|",
  .reference = "torch.nn.L1Loss",
  .inputs = loom_op_port_compared,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduction,
  .infer = loom_op_infer_pair_loss,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
