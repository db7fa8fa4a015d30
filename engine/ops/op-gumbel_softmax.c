/* Gumbel softmax: a choice that has a gradient, as torch.nn.functional.gumbel_softmax (Jang, Gu and Poole 2017). */
#include "engine/ops/family-random.h"

static const LoomPortSpec inputs[] = {
  { "input", "Scores, one for each choice: logarithms of weights." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "tau",
    .type = LOOM_PARAM_FLOAT,
    .def = "1",
    .minimum = 1e-6,
    .maximum = 1e6,
    .doc = "The temperature: the smaller, the nearer to one choice; may be changed while training runs.",
    .hyper = TRUE },
  { .name = "hard",
    .type = LOOM_PARAM_BOOL,
    .def = "false",
    .doc = "Gives 1 for the choice and 0 for the others, under the gradient of the soft numbers." },
  { LOOM_OP_DIM ("dim"), .def = "-1", .doc = "The dimension of the choices; -1 is the last." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int axis;

  if (!loom_op_needs_float (ctx, 0, "input", "chooses by scores")
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis)
      || (loom_infer_bool (ctx, "hard") && x->shape.rank > 0 && !loom_op_has_elements (ctx, 1u << axis)))
    return;
  loom_op_infer_same (ctx);
}

/* The place of the largest number as 1 among zeros, plus soft numbers minus themselves: exactly 1 and 0, with the
 * gradient of the soft ones (straight through). */
static LoomValue
hardened (LoomLower *ctx, LoomValue soft, int axis)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomArgReduceAttrs attrs = { .largest = TRUE, .axis = axis };
  LoomTensorDesc d = loom_op_desc (ctx, soft);
  LoomValue rest = loom_binary (p, LOOM_SCALAR_SUB, soft, loom_detach (p, soft));
  LoomValue where = loom_emit (p, loom_prim ("argreduce"), &attrs, 1, &soft, NULL);
  LoomValue hit
      = loom_binary (p, LOOM_SCALAR_EQ, loom_op_count_along (p, LOOM_I64, d.rank, axis, d.dim[axis], 0, 1), where);

  return loom_binary (p, LOOM_SCALAR_ADD, loom_cast (p, hit, d.dtype), rest);
}

/* With exponential E, -ln E is a Gumbel number, and the largest of score plus Gumbel is a draw by softmax. */
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
  .doc = "Draws a choice by scores, softly, so that the scores can be learnt.",
  .details
  = "Random numbers are added to the scores before the softmax; the largest is then a draw with the softmax’s "
    "probabilities, and the gradient takes the random numbers for constants. A small tau comes near to one "
    "choice and makes gradients wild, so one often begins at 1 and lowers it. With hard the result is exactly one "
    "choice. It draws in evaluation too.",
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
