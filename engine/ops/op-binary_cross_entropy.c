/* Binary cross-entropy of probabilities, as torch.nn.functional.binary_cross_entropy. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The predicted probabilities, from 0 to 1.", LOOM_PORT_PREDICTION },
  { "target", "The target probabilities, from 0 to 1, with the shape of the input.", LOOM_PORT_TARGET },
  { "weight", "A weight for each element’s loss; broadcasts to the input.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { NULL },
};

/* max(ln x, −100), with derivative 0 where it is clamped. The logarithm of 0 is not computed: its derivative is
 * infinite, and second derivatives need a finite one. */
static LoomValue
held_log (LoomLower *ctx, LoomValue x)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue least = loom_op_const_like (ctx, x, -100), zero, log, held;

  zero = loom_binary (p, LOOM_SCALAR_EQ, x, loom_op_const_like (ctx, x, 0));
  log = loom_unary (p, LOOM_SCALAR_LOG, loom_ternary (p, LOOM_SCALAR_SELECT, zero, loom_op_const_like (ctx, x, 1), x));
  held = loom_binary (p, LOOM_SCALAR_OR, zero, loom_binary (p, LOOM_SCALAR_LT, log, least));
  return loom_ternary (p, LOOM_SCALAR_SELECT, held, least, log);
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *w = loom_infer_input (ctx, 2);
  LoomDType dtype;
  LoomShape shape, both;

  if (!loom_op_infer_compared (ctx, 2, &dtype, &shape))
    return;
  if (w != NULL && (!loom_shape_broadcast (&shape, &w->shape, &both) || !loom_shape_compatible (&shape, &both)))
    {
      g_autofree char *sx = loom_shape_to_string (&shape), *sw = loom_shape_to_string (&w->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "weight", "Weights %s do not broadcast to losses %s.", sw, sx);
      return;
    }
  loom_op_infer_loss (ctx, dtype, &shape);
}

/* Appends the steps of a formula one by one; returns the register of the result. */
static uint8_t
step (LoomFormula *f, LoomScalarOp op, uint8_t a, uint8_t b, double imm)
{
  f->step[f->n_steps] = (LoomElementwiseStep){ .op = op, .arg = { a, b }, .imm = imm };
  return (uint8_t)(f->n_in + f->n_steps++);
}

/* The derivative of PyTorch in x is (x − t) / max (x (1 − x), 1e-12): ∓1e12 at 0 and 1 with the opposite target,
 * where the derivative of the clamped logarithm would be 0. The derivative in t is the difference of the clamped
 * logarithms. */
static LoomCustomGradientAttrs
derivative_formula (void)
{
  enum
  {
    G,
    X,
    T,
    LOG_YES,
    LOG_NO
  };
  LoomCustomGradientAttrs attrs = { .n_inputs = 2, .backward = { .n_in = 6, .n_out = 2 } };
  LoomFormula *f = &attrs.backward;
  uint8_t one = step (f, LOOM_SCALAR_CONST, 0, 0, 1), least = step (f, LOOM_SCALAR_CONST, 0, 0, 1e-12f);
  uint8_t spread = step (f, LOOM_SCALAR_MUL, X, step (f, LOOM_SCALAR_SUB, one, X, 0), 0);
  uint8_t slope
      = step (f, LOOM_SCALAR_DIV, step (f, LOOM_SCALAR_SUB, X, T, 0), step (f, LOOM_SCALAR_MAX, spread, least, 0), 0);

  f->out[0] = step (f, LOOM_SCALAR_MUL, G, slope, 0);
  f->out[1] = step (f, LOOM_SCALAR_MUL, G, step (f, LOOM_SCALAR_SUB, LOG_NO, LOG_YES, 0), 0);
  return attrs;
}

static void
lower (LoomLower *ctx)
{
  const LoomCustomGradientAttrs attrs = derivative_formula ();
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_input (ctx, 1), one = loom_op_const_like (ctx, x, 1);
  LoomValue w = loom_op_loss_constant (ctx, 2), loss;
  LoomValue yes = held_log (ctx, x), no = held_log (ctx, loom_binary (p, LOOM_SCALAR_SUB, one, x));

  loss = loom_unary (p, LOOM_SCALAR_NEG,
                     loom_binary (p, LOOM_SCALAR_ADD, loom_binary (p, LOOM_SCALAR_MUL, t, yes),
                                  loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_SUB, one, t), no)));
  loss = loom_emit (p, loom_prim ("custom_gradient"), &attrs, 5, (LoomValue[]){ loss, x, t, yes, no }, NULL);
  if (w != 0)
    loss = loom_binary (p, LOOM_SCALAR_MUL, loss, w);
  loom_op_output_loss (ctx, loss);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" }, .range = "probability" },
  { .params = "reduction=sum", .inputs = { "f32:B,3", "f32:B,3", "i64:3" }, .range = "probability" },
  { .params = "reduction=none", .inputs = { "f32:2", "f32:2" }, .range = "probability" },
  { .inputs = { "f32:", "f32:" }, .range = "probability" },
  { .params = "reduction=sum", .inputs = { "f32:0,2", "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_binary_cross_entropy = {
  .name = "binary_cross_entropy",
  .title = "Binary cross-entropy (BCE)",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-bce-loss-symbolic",
  .synonyms = "bce log loss",
  .prediction_kind = LOOM_OUTPUT_BINARY_PROBABILITIES,
  .doc = "Computes the binary cross-entropy between predicted and target probabilities.",
  .details = "The input is a probability, usually the output of a sigmoid. Logarithms are clamped to at least −100 and "
             "the derivative to at most 1e12, as in PyTorch. For logits use binary_cross_entropy_with_logits, which is "
             "more accurate.",
  .formula = "L = −mean (t · ln x + (1 − t) · ln(1 − x))",
  .reference = "torch.nn.BCELoss",
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 6.2",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
