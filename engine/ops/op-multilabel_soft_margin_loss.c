/* Multi-label soft margin loss, as torch.nn.functional.multilabel_soft_margin_loss. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The logits of the classes [ …, classes].", LOOM_PORT_PREDICTION },
  { "target", "1 for classes that apply and 0 for others, with the shape of the input.", LOOM_PORT_TARGET },
  { "weight", "A weight for each class [classes].", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  LOOM_OP_CLASS_WEIGHT,
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;

  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "logits, batch × classes",
                     "Put a linear with one output per class before it.")
      || !loom_op_infer_compared (ctx, 2, &dtype, &shape)
      || !loom_op_infer_class_weight (ctx, 2, shape.dim[shape.rank - 1]))
    return;
  shape.rank--;
  loom_op_infer_loss (ctx, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_input (ctx, 1), w = loom_op_class_weight (ctx, 2), each;
  LoomTensorDesc d;

  each = loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_SUB, loom_op_const_like (ctx, x, 1), t),
                      loom_op_logistic_loss (p, x, FALSE));
  each = loom_ternary (p, LOOM_SCALAR_FMA, t, loom_op_logistic_loss (p, x, TRUE), each);
  if (w != 0)
    each = loom_binary (p, LOOM_SCALAR_MUL, each, w);
  d = loom_op_desc (ctx, each);
  each = loom_reduce (p, LOOM_REDUCE_SUM, each, 1u << (d.rank - 1), FALSE);
  loom_op_output_loss (
      ctx, loom_binary (p, LOOM_SCALAR_DIV, each, loom_op_const_like (ctx, each, (double)d.dim[d.rank - 1])));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=sum weight=1,2,0.5", .inputs = { "f32:B,3", "i64:B,3" }, .range = "class:2" },
  { .params = "reduction=none", .inputs = { "f32:B,2,3", "f32:B,2,3", "i64:3" } },
  { .inputs = { "f32:4", "f32:4" } },
  { .params = "reduction=sum", .inputs = { "f32:0,4", "f32:0,4" } },
  { NULL },
};

const LoomOp loom_op_multilabel_soft_margin_loss = {
  .name = "multilabel_soft_margin_loss",
  .title = "Multi-label soft margin loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-bce-loss-symbolic",
  .synonyms = "multi-label several classes",
  .prediction_kind = LOOM_OUTPUT_BINARY_LOGITS,
  .doc = "Computes the mean binary cross-entropy over classes of which several can apply at once.",
  .details = "Like binary_cross_entropy_with_logits, with the mean over the classes of each sample, and a weight for "
             "each class.",
  .formula = "L = mean over classes of w · (t · ln(1 + e⁻ˣ) + (1 − t) · ln(1 + eˣ))",
  .reference = "torch.nn.MultiLabelSoftMarginLoss",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
