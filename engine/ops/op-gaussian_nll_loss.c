/* Gaussian negative log likelihood, as torch.nn.functional.gaussian_nll_loss. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The predicted means.", LOOM_PORT_PREDICTION },
  { "target", "The observed values, with the shape of the input.", LOOM_PORT_TARGET },
  { "var", "The predicted variances, positive; one for each element, or one for each row." },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { LOOM_PARAM ("full", BOOL, "false"), .doc = "Whether the constant ½ ln 2π is added.", .advanced = TRUE },
  { LOOM_PARAM ("eps", FLOAT, "1e-6"), LOOM_RANGE (1e-300, 1e300),
    .doc = "The smallest variance; smaller ones are clamped.", .advanced = TRUE },
  { NULL },
};

static const double log_two_pi = 1.8378770664093453;

/* As in PyTorch, a variance of the shape of the means without their last dimension applies to whole rows. If
 * broadcasting would also be possible (5 variances for 5 × 5 means), it is not used. */
static gboolean
has_one_per_row (const LoomInfer *ctx)
{
  const LoomShape *x = &loom_infer_input (ctx, 0)->shape, *v = &loom_infer_input (ctx, 2)->shape;

  if (v->rank + 1 != x->rank)
    return FALSE;
  for (int i = 0; i < v->rank; i++)
    if (!loom_dim_equal (v->dim[i], x->dim[i]))
      return FALSE;
  return TRUE;
}

static void
infer (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;

  if (loom_op_infer_compared (ctx, has_one_per_row (ctx) ? 2 : 3, &dtype, &shape))
    loom_op_infer_loss (ctx, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_input (ctx, 1);
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomValue v = loom_op_hold_up (p, loom_op_loss_input (ctx, 2), loom_infer_float (infer_ctx, "eps")), loss;
  LoomTensorDesc row = loom_op_desc (ctx, v);

  if (has_one_per_row (loom_lower_infer (ctx)))
    {
      row.dim[row.rank] = 1;
      v = loom_reshape (p, v, row.rank + 1, row.dim);
    }
  loss = loom_binary (
      p, LOOM_SCALAR_ADD, loom_unary (p, LOOM_SCALAR_LOG, v),
      loom_binary (p, LOOM_SCALAR_DIV, loom_unary (p, LOOM_SCALAR_SQUARE, loom_binary (p, LOOM_SCALAR_SUB, x, t)), v));
  if (loom_infer_bool (infer_ctx, "full"))
    loss = loom_binary (p, LOOM_SCALAR_ADD, loss, loom_op_const_like (ctx, x, log_two_pi));
  loom_op_output_loss (ctx, loom_binary (p, LOOM_SCALAR_MUL, loss, loom_op_const_like (ctx, x, 0.5)));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3", "f32:B,3" }, .range = "positive" },
  { .params = "full=true reduction=none", .inputs = { "f32:B,3", "f32:B,3", "f32:B,1" }, .range = "positive" },
  { .params = "reduction=sum", .inputs = { "f32:2", "f32:2", "f32:2" }, .range = "positive" },
  { .params = "reduction=none", .inputs = { "f32:B,3,3", "f32:B,3,3", "f32:B,3" }, .range = "positive" },
  { NULL },
};

const LoomOp loom_op_gaussian_nll_loss = {
  .name = "gaussian_nll_loss",
  .title = "Gaussian NLL loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-poisson-symbolic",
  .doc = "Computes the negative log likelihood of targets under a predicted normal distribution.",
  .details = "The network predicts a mean and a variance for each target, so it learns how uncertain its predictions "
             "are: an error costs less where the variance is large, but a large variance has a cost as well.",
  .formula = "L = mean ½(ln v + (x − t)² / v)",
  .reference = "torch.nn.GaussianNLLLoss",
  .source = "Nix and Weigend, “Estimating the Mean and Variance of the Target Probability Distribution”, ICNN 1994",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
