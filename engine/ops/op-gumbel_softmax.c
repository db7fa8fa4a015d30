/* Gumbel softmax: a differentiable sample of a category, as torch.nn.functional.gumbel_softmax (Jang, Gu and Poole
 * 2017). */
#include "engine/ops/family-random.h"

static const LoomPortSpec inputs[] = {
  { "input", "The logits (unnormalised log probabilities) of the categories." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("tau", FLOAT, "1"), LOOM_RANGE (1e-6, 1e6),
    .doc = "The temperature τ: smaller values are closer to one-hot; may be changed while training runs.",
    .hyper = TRUE },
  { LOOM_PARAM ("hard", BOOL, "false"),
    .doc = "Whether the result is one-hot, with the gradient of the soft sample (straight-through)." },
  { LOOM_OP_DIM ("dim"), .def = "-1", .doc = "The dimension of the categories; -1 is the last." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int axis;

  if (!loom_op_needs_float (ctx, 0, "input", "samples from logits")
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis)
      || (loom_infer_bool (ctx, "hard") && x->shape.rank > 0 && !loom_op_has_elements (ctx, 1u << axis)))
    return;
  loom_op_infer_same (ctx);
}

/* One-hot of the maximum, plus the soft sample minus itself: exactly 1 and 0 with the gradient of the soft sample
 * (straight-through estimator). */
static LoomValue
hardened (LoomLower *ctx, LoomValue soft, int axis)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomArgReduceAttrs attrs = { .largest = TRUE, .axis = axis };
  LoomTensorDesc d = loom_op_desc (ctx, soft);
  LoomValue rest = loom_binary (p, LOOM_SCALAR_SUB, soft, loom_detach (p, soft));
  LoomValue where = loom_emit (p, loom_prim ("argreduce"), &attrs, 1, &soft, NULL);
  LoomValue hit
      = loom_binary (p, LOOM_SCALAR_EQ, loom_op_iota_along (p, LOOM_I64, d.rank, axis, d.dim[axis], 0, 1), where);

  return loom_binary (p, LOOM_SCALAR_ADD, loom_cast (p, hit, d.dtype), rest);
}

/* With exponential E, -ln E is a Gumbel number, and the argmax of logits plus Gumbel numbers is a sample of softmax. */
static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue input = loom_lower_input (ctx, 0), x = loom_op_at_least_1d (p, input), noise, soft;
  LoomTensorDesc d = loom_op_desc (ctx, x), was = loom_op_desc (ctx, input);
  LoomSoftmaxAttrs attrs = { .axis = loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), d.rank) };

  noise = loom_unary (p, LOOM_SCALAR_LOG, loom_lower_random (ctx, LOOM_RANDOM_EXPONENTIAL, 0, d.rank, d.dim));
  x = loom_cast (p, x, loom_op_desc (ctx, noise).dtype);
  x = loom_binary (p, LOOM_SCALAR_DIV, loom_binary (p, LOOM_SCALAR_SUB, x, noise), loom_lower_hyper (ctx, "tau"));
  soft = loom_emit (p, loom_prim ("softmax"), &attrs, 1, &x, NULL);
  if (loom_infer_bool (infer_ctx, "hard"))
    soft = hardened (ctx, soft, attrs.axis);
  loom_op_put_drawn (ctx, loom_reshape (p, soft, was.rank, was.dim));
}

static double
flops (const LoomInfer *ctx)
{
  return 7 * loom_op_output_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,5" } },
  { .params = "tau=0.5 dim=1", .inputs = { "f32:B,3,2" } },
  { .params = "tau=2", .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_gumbel_softmax = {
  .name = "gumbel_softmax",
  .title = "Gumbel softmax",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-multinomial-symbolic",
  .doc = "Draws a soft one-hot sample from logits, with a gradient.",
  .details = "Gumbel noise is added to the logits before the softmax; the argmax is then a sample of softmax(logits). "
             "The noise is a constant for the gradient. A small tau makes samples closer to one-hot and gradients "
             "noisier; it is often lowered during training. It samples in evaluation too.",
  .formula = "y = softmax ((x + g) / τ), g ~ Gumbel(0, 1)",
  .reference = "torch.nn.functional.gumbel_softmax",
  .source = "Jang, Gu and Poole, “Categorical Reparameterization with Gumbel-Softmax”, ICLR 2017, arXiv:1611.01144",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
