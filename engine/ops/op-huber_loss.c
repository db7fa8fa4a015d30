/* Huber loss, as torch.nn.functional.huber_loss. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { LOOM_PARAM ("delta", FLOAT, "1"), LOOM_RANGE (1e-12, 1e300),
    .doc = "The absolute error δ at which the loss changes from quadratic to linear." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_input (ctx, 1);
  LoomValue d = loom_binary (p, LOOM_SCALAR_SUB, x, t);
  LoomValue a = loom_unary (p, LOOM_SCALAR_ABS, d), near;
  double delta = loom_infer_float (loom_lower_infer (ctx), "delta");

  /* Large errors are not squared: an infinite one would have the derivative 0 · ∞. */
  near = loom_binary (p, LOOM_SCALAR_LE, a, loom_op_const_like (ctx, x, delta));
  d = loom_ternary (p, LOOM_SCALAR_SELECT, near, d, loom_op_const_like (ctx, x, 0));
  d = loom_ternary (
      p, LOOM_SCALAR_SELECT, near,
      loom_binary (p, LOOM_SCALAR_MUL, loom_unary (p, LOOM_SCALAR_SQUARE, d), loom_op_const_like (ctx, x, 0.5)),
      loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_SUB, a, loom_op_const_like (ctx, x, delta / 2)),
                   loom_op_const_like (ctx, x, delta)));
  loom_op_output_loss (ctx, d);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=sum", .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=none", .inputs = { "f32:B,3", "f32:B,1" } },
  { .inputs = { "f32:", "f32:" } },
  { .params = "reduction=sum", .inputs = { "f32:0,2", "f32:0,2" } },
  { .params = "delta=0.3", .inputs = { "f32:B,3", "f32:B,3" } },
  { NULL },
};

const LoomOp loom_op_huber_loss = {
  .name = "huber_loss",
  .title = "Huber loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-l1-loss-symbolic",
  .synonyms = "robust",
  .doc = "Computes the Huber loss: quadratic for small errors, linear for large ones.",
  .details = "Errors up to delta are squared, larger ones grow linearly, so the derivative is at most delta and "
             "outliers have less influence than with the squared error.",
  .formula = "L = mean (d²/2 where |d| ≤ δ, else δ(|d| − δ/2)), d = x − t",
  .reference = "torch.nn.HuberLoss",
  .source = "Huber, “Robust Estimation of a Location Parameter”, Annals of Mathematical Statistics 35, 1964",
  .inputs = loom_op_port_compared,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_pair_loss,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
