/* Binary cross-entropy of logits, as torch.nn.functional.binary_cross_entropy_with_logits. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The logits, before any sigmoid.", LOOM_PORT_PREDICTION },
  { "target", "The target probabilities, from 0 to 1, with the shape of the input.", LOOM_PORT_TARGET },
  { "weight", "A weight for each element’s loss; broadcasts to the input.", LOOM_PORT_OPTIONAL },
  { "pos_weight", "The weight of positive targets; broadcasts to the input, usually [classes].", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { NULL },
};

static gboolean
fits (LoomInfer *ctx, guint i, const char *port, const LoomShape *shape)
{
  const LoomType *w = loom_infer_input (ctx, i);
  LoomShape both;
  g_autofree char *sx = NULL, *sw = NULL;

  if (w == NULL || (loom_shape_broadcast (shape, &w->shape, &both) && loom_shape_compatible (shape, &both)))
    return TRUE;
  sx = loom_shape_to_string (shape);
  sw = loom_shape_to_string (&w->shape);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port, "Weights %s do not broadcast to losses %s.", sw, sx);
  return FALSE;
}

static void
infer (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;

  if (loom_op_infer_compared (ctx, 2, &dtype, &shape) && fits (ctx, 2, "weight", &shape)
      && fits (ctx, 3, "pos_weight", &shape))
    loom_op_infer_loss (ctx, dtype, &shape);
}

/* The losses of both classes are computed directly from the logit, so that large logits cause no cancellation. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_input (ctx, 1);
  LoomValue w = loom_op_loss_constant (ctx, 2), pos = loom_op_loss_constant (ctx, 3), loss, no;

  no = loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_SUB, loom_op_const_like (ctx, x, 1), t),
                    loom_op_logistic_loss (p, x, FALSE));
  if (pos != 0)
    t = loom_binary (p, LOOM_SCALAR_MUL, t, pos);
  loss = loom_ternary (p, LOOM_SCALAR_FMA, t, loom_op_logistic_loss (p, x, TRUE), no);
  if (w != 0)
    loss = loom_binary (p, LOOM_SCALAR_MUL, loss, w);
  loom_op_output_loss (ctx, loss);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=sum", .inputs = { "f32:B,3", "f32:B,3", "i64:3" } },
  { .params = "reduction=none", .inputs = { "f32:B,3", "f32:B,3", "", "i64:3" } },
  { .inputs = { "f32:2,3", "i64:2,3", "i64:2,1", "i64:3" }, .range = "class:2" },
  { .inputs = { "f32:", "f32:" } },
  { .params = "reduction=sum", .inputs = { "f32:0,2", "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_binary_cross_entropy_with_logits = {
  .name = "binary_cross_entropy_with_logits",
  .title = "Binary cross-entropy with logits",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-bce-loss-symbolic",
  .synonyms = "bce bcewithlogits logistic log loss",
  .usual = TRUE,
  .prediction_kind = LOOM_OUTPUT_BINARY_LOGITS,
  .doc = "Computes the binary cross-entropy between logits and target probabilities.",
  .details = "Combines a sigmoid with binary cross-entropy (BCE) and is accurate for logits of any size. Several "
             "classes can be positive at once (multi-label classification). pos_weight above 1 penalises false "
             "negatives more than false positives.",
  .formula = "L = mean (p · t · ln(1 + e⁻ˣ) + (1 − t) · ln(1 + eˣ))",
  .reference = "torch.nn.BCEWithLogitsLoss",
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 6.2",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
