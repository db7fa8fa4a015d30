/* Smooth L1 loss, as torch.nn.functional.smooth_l1_loss. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { LOOM_PARAM ("beta", FLOAT, "1"), LOOM_RANGE (0, 1e300),
    .doc = "The absolute error β at which the loss changes from quadratic to linear; 0 makes it the L1 loss." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_input (ctx, 1);
  LoomValue d = loom_binary (p, LOOM_SCALAR_SUB, x, t);
  LoomValue a = loom_unary (p, LOOM_SCALAR_ABS, d);
  double beta = loom_infer_float (loom_lower_infer (ctx), "beta");

  if (beta > 0)
    {
      LoomValue near = loom_binary (p, LOOM_SCALAR_LT, a, loom_op_const_like (ctx, x, beta)), bowl;

      /* Large errors are not squared: an infinite one would have the derivative 0 · ∞. */
      d = loom_ternary (p, LOOM_SCALAR_SELECT, near, d, loom_op_const_like (ctx, x, 0));
      bowl = loom_binary (p, LOOM_SCALAR_MUL, loom_unary (p, LOOM_SCALAR_SQUARE, d),
                          loom_op_const_like (ctx, x, 0.5 / beta));
      d = loom_ternary (p, LOOM_SCALAR_SELECT, near, bowl,
                        loom_binary (p, LOOM_SCALAR_SUB, a, loom_op_const_like (ctx, x, beta / 2)));
    }
  loom_op_output_loss (ctx, beta > 0 ? d : a);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=sum", .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=none", .inputs = { "f32:B,3", "f32:B,1" } },
  { .inputs = { "f32:", "f32:" } },
  { .params = "reduction=sum", .inputs = { "f32:0,2", "f32:0,2" } },
  { .params = "beta=0.5", .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "beta=0", .inputs = { "f32:B,3", "f32:B,3" } },
  { NULL },
};

const LoomOp loom_op_smooth_l1_loss = {
  .name = "smooth_l1_loss",
  .title = "Smooth L1 loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-l1-loss-symbolic",
  .doc = "Computes the smooth L1 loss: quadratic for small errors, linear for large ones.",
  .details = "Like huber_loss, but divided by beta, so the derivative for large errors is 1. Used for bounding boxes "
             "in object detection.",
  .formula = "L = mean (d² / 2β where |d| < β, else |d| − β/2), d = x − t",
  .reference = "torch.nn.SmoothL1Loss",
  .source = "Girshick, “Fast R-CNN”, ICCV 2015, arXiv:1504.08083, section 2.3",
  .inputs = loom_op_port_compared,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_pair_loss,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
