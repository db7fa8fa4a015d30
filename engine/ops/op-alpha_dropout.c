/* Alpha dropout, as torch.nn.AlphaDropout (Klambauer et al. 2017, section 3). */
#include "engine/ops/op-layers.h"

/* What selu gives for minus infinity: −λα. */
#define LOWEST (-1.7580993408473766)

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);

  if (!loom_op_needs_float (ctx, 0, "input", "scales what it keeps"))
    return;
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
  loom_infer_output (ctx, 1, x->dtype, &x->shape);
}

/* Dropped elements become the lowest value v; a and b then bring mean and variance back to 0 and 1: with q = 1 - p,
 * a = 1/√(q·(1 + p·v²)) and b = -a·p·v. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), scale, mask = loom_op_dropout_mask (ctx, &scale), rate, a, b, v;
  LoomDType dtype = loom_op_desc (ctx, x).dtype;
  LoomValue one = loom_const (p, dtype, 1), lowest = loom_const (p, dtype, LOWEST);

  if (mask == 0)
    return;
  rate = loom_cast (p, loom_lower_hyper (ctx, "p"), dtype);
  v = loom_ternary (p, LOOM_SCALAR_FMA, rate, loom_const (p, dtype, LOWEST * LOWEST), one);
  /* The scale is 1/q, and 0 where everything is dropped, which leaves zeros as PyTorch does. */
  a = loom_unary (p, LOOM_SCALAR_SQRT, loom_binary (p, LOOM_SCALAR_DIV, scale, v));
  b = loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_MUL, a, rate), loom_const (p, dtype, -LOWEST));
  x = loom_ternary (p, LOOM_SCALAR_SELECT, mask, x, lowest);
  loom_lower_output (ctx, 0, loom_ternary (p, LOOM_SCALAR_FMA, x, a, b));
}

static double
flops (const LoomInfer *ctx)
{
  return 3 * loom_op_output_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,8" } },
  { .params = "p=0.25", .inputs = { "f32:2,3,4" } },
  { .params = "p=0", .inputs = { "f32:B,3" } },
  { .params = "p=1", .inputs = { "f32:B,3" } },
  { NULL },
};

const LoomOp loom_op_alpha_dropout = {
  .name = "alpha_dropout",
  .title = "Alpha dropout",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-dropout-symbolic",
  .doc = "Dropout for networks with selu: mean and variance stay as they were.",
  .details
  = "Networks with selu keep their activations at mean 0 and variance 1 by themselves, and zeros would disturb "
    "that. Dropped elements become the lowest value that selu can give, and the rest is scaled and shifted so "
    "that mean and variance stay. In evaluation it lets everything pass.",
  .formula = "y = a · (m · x + (1 − m) · v) + b, v = −λα",
  .reference = "torch.nn.AlphaDropout",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_dropped,
  .params = loom_op_param_dropped,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
