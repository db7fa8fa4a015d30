/* Dropout: in training, random elements become zero and the others grow to keep the mean. */
#include "engine/ops/op-private.h"

static const LoomPortSpec outputs[] = {
  { "out", "What is left." },
  { "mask", "1 where an element was kept, 0 where it was dropped.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "p",
    .type = LOOM_PARAM_FLOAT,
    .def = "0.5",
    .minimum = 0,
    .maximum = 1,
    .doc = "The share of elements that is dropped; may be changed while training runs.",
    .hyper = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);

  if (!loom_op_needs_float (ctx, 0, "input", "scales what it keeps"))
    return;
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
  loom_infer_output (ctx, 1, x->dtype, &x->shape);
}

/* out = mask·x/(1 - p). The guard makes p = 1 give zeros, not 0/0. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), rate, mask, keep, scale;
  LoomTensorDesc d = loom_op_desc (ctx, x);

  if (!loom_lower_is_training (ctx))
    {
      loom_lower_output (ctx, 0, x);
      loom_lower_output (ctx, 1, loom_fill (p, d.dtype, d.rank, d.dim, 1));
      return;
    }
  rate = loom_cast (p, loom_lower_hyper (ctx, "p"), d.dtype);
  mask = loom_binary (p, LOOM_SCALAR_GE, loom_lower_random (ctx, d.rank, d.dim), rate);
  mask = loom_cast (p, mask, d.dtype);
  keep = loom_binary (p, LOOM_SCALAR_SUB, loom_const (p, d.dtype, 1), rate);
  scale
      = loom_ternary (p, LOOM_SCALAR_SELECT, keep, loom_unary (p, LOOM_SCALAR_RECIP, keep), loom_const (p, d.dtype, 0));
  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_MUL, x, mask), scale));
  loom_lower_output (ctx, 1, mask);
}

static double
flops (const LoomInfer *ctx)
{
  return 2 * loom_op_output_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,8" } },
  { .params = "p=0.25", .inputs = { "f32:2,3,4,4" } },
  { .params = "p=0", .inputs = { "f32:B,3" } },
  { .params = "p=1", .inputs = { "f32:B,3" } },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_dropout = {
  .name = "dropout",
  .title = "Dropout",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-dropout-symbolic",
  .doc = "Silences random elements while training, so that no unit relies on another.",
  .details
  = "At every step each element is dropped with probability p and the rest is scaled up by 1 / (1 - p), so sums "
    "stay what they were on average. A network cannot lean on single units and overfits less. In evaluation it "
    "lets everything pass.",
  .formula = "y = m · x / (1 − p), m ~ Bernoulli(1 − p)",
  .reference = "torch.nn.Dropout",
  .inputs = loom_op_port_input,
  .outputs = outputs,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
