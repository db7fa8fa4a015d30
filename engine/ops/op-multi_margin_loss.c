/* Multi-class hinge loss, as torch.nn.functional.multi_margin_loss. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The scores of the classes [batch, classes].", LOOM_PORT_PREDICTION },
  { "target", "The target classes as integers [batch].", LOOM_PORT_TARGET },
  { "weight", "A weight for each class [classes].", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { LOOM_PARAM ("p", INT, "1"), LOOM_RANGE (1, 2), .doc = "The exponent of the hinge: 1 or 2." },
  { LOOM_PARAM ("margin", FLOAT, "1"), .doc = "The margin by which the target class should lead." },
  LOOM_OP_CLASS_WEIGHT,
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape each;

  if (loom_op_needs_float (ctx, 0, "input", "compares scores")
      && loom_op_rank (ctx, 0, "input", 1, 2, "scores, batch × classes",
                       "Put a linear with one output per class before it.")
      && loom_op_infer_classes (ctx, &each) && loom_op_infer_class_weight (ctx, 2, x->shape.dim[x->shape.rank - 1]))
    loom_op_infer_loss (ctx, x->dtype, &each);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_cast (p, loom_lower_input (ctx, 1), LOOM_I64), w, right, gap;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 classes = d.dim[d.rank - 1], n = d.rank == 1 ? 1 : d.dim[0];

  x = loom_reshape (p, x, 2, (gint64[]){ n, classes });
  t = loom_reshape (p, t, 2, (gint64[]){ n, 1 });
  right = loom_gather (p, x, t, 1);
  gap = loom_binary (p, LOOM_SCALAR_SUB, x, right);
  gap = loom_binary (p, LOOM_SCALAR_ADD, gap, loom_op_const_like (ctx, x, loom_infer_float (infer_ctx, "margin")));
  gap = loom_op_at_least_zero (p, gap);
  if (loom_infer_int (infer_ctx, "p") == 2)
    gap = loom_unary (p, LOOM_SCALAR_SQUARE, gap);
  /* The target class is not compared with itself. */
  gap = loom_ternary (p, LOOM_SCALAR_SELECT,
                      loom_binary (p, LOOM_SCALAR_NE, t, loom_op_iota_along (p, LOOM_I64, 2, 1, classes, 0, 1)), gap,
                      loom_op_const_like (ctx, x, 0));
  gap = loom_reduce (p, LOOM_REDUCE_SUM, gap, 1u << 1, FALSE);
  gap = loom_binary (p, LOOM_SCALAR_DIV, gap, loom_op_const_like (ctx, x, (double)classes));
  w = loom_op_class_weight (ctx, 2);
  if (w != 0)
    {
      LoomValue in[2] = { w, loom_reshape (p, t, 1, &n) };

      gap = loom_binary (p, LOOM_SCALAR_MUL, gap, loom_emit (p, loom_prim ("gather_rows"), NULL, 2, in, NULL));
    }
  loom_op_output_loss (ctx, gap);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,5", "i64:B" }, .range = "class:5" },
  { .params = "p=2 margin=0.5 reduction=sum weight=1,2,0.5", .inputs = { "f32:B,3", "i64:B" }, .range = "class:3" },
  { .params = "reduction=none", .inputs = { "f32:B,3", "i64:B", "i64:3" }, .range = "class:3" },
  { .inputs = { "f32:4", "i64:" }, .range = "class:4" },
  { .params = "reduction=sum", .inputs = { "f32:0,4", "i64:0" }, .range = "class:4" },
  { NULL },
};

const LoomOp loom_op_multi_margin_loss = {
  .name = "multi_margin_loss",
  .title = "Multi-class hinge loss (SVM)",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-hinge-loss-symbolic",
  .synonyms = "hinge svm support vector machine",
  .usual = TRUE,
  .prediction_kind = LOOM_OUTPUT_SCORES,
  .doc = "Computes the multi-class hinge loss: the target class should lead by a margin.",
  .details = "The loss of the support vector machine: every other class whose score is above that of the target class "
             "minus the margin adds the difference. With an l2_penalty on the weights it is the usual multi-class SVM, "
             "except for the division by the number of classes.",
  .formula = "L = mean Σⱼ max(0, m − xₜ + xⱼ)ᵖ / C, j ≠ t",
  .reference = "torch.nn.MultiMarginLoss",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
