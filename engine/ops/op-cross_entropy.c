/* Cross-entropy of logits, as torch.nn.functional.cross_entropy. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The logits [batch, classes, …].", LOOM_PORT_PREDICTION },
  { "target", "The target classes as integers [batch, …], or class probabilities with the shape of the input.",
    LOOM_PORT_TARGET },
  { "weight", "A weight for each class [classes].", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("reduction", ENUM, "mean"), .choices = loom_op_reductions,
    .doc = "How the losses of the samples are reduced: none, their mean or their sum." },
  { LOOM_PARAM ("ignore_index", INT, "-100"), LOOM_RANGE (-9e15, 9e15),
    .doc = "Samples with this target class are ignored.", .advanced = TRUE },
  { LOOM_PARAM ("label_smoothing", FLOAT, "0"), LOOM_RANGE (0, 1),
    .doc = "The probability mass that is spread evenly over all classes of the target, from 0 to 1.",
    .advanced = TRUE },
  LOOM_OP_CLASS_WEIGHT,
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0), *t = loom_infer_input (ctx, 1);
  LoomShape each;

  if (!loom_op_needs_float (ctx, 0, "input", "compares logits")
      || !loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "logits, batch × classes",
                        "Put a linear with one output per class before it.")
      || !loom_op_infer_class_weight (ctx, 2, x->shape.dim[x->shape.rank == 1 ? 0 : 1]))
    return;
  /* A float target of the shape of the logits holds class probabilities. */
  if (loom_dtype_is_float (t->dtype) && loom_shape_compatible (&x->shape, &t->shape))
    each = loom_op_reduced_shape (&x->shape, x->shape.rank == 1 ? 1u : 2u, FALSE);
  else if (!loom_op_infer_classes (ctx, &each))
    return;
  loom_op_infer_loss (ctx, x->dtype, &each);
}

/* Σ over the classes of a, weighted with w [C] unless w is 0; [N, C, d…] → [N, d…]. */
static LoomValue
sum_classes (LoomProgram *p, LoomValue a, LoomValue w)
{
  LoomTensorDesc d = loom_value_info (p, a)->desc;
  gint64 dims[LOOM_MAX_RANK];

  for (int i = 0; i < d.rank; i++)
    dims[i] = i == 1 ? d.dim[1] : 1;
  if (w != 0)
    a = loom_binary (p, LOOM_SCALAR_MUL, a, loom_reshape (p, w, d.rank, dims));
  return loom_reduce (p, LOOM_REDUCE_SUM, a, 1u << 1, FALSE);
}

/* -Σ t ln softmax(x), for class probabilities t. As in PyTorch the mean divides by the number of samples, whatever
 * their weights. */
static void
lower_probabilities (LoomLower *ctx, LoomValue x, LoomValue t, double smoothing)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomSoftmaxAttrs attrs = { .axis = 1, .log = true };
  LoomTensorDesc d = loom_op_desc (ctx, x);
  LoomValue y = loom_emit (p, loom_prim ("softmax"), &attrs, 1, &x, NULL);

  if (smoothing > 0)
    t = loom_ternary (p, LOOM_SCALAR_FMA, t, loom_op_const_like (ctx, x, 1 - smoothing),
                      loom_op_const_like (ctx, x, smoothing / (double)d.dim[1]));
  y = loom_unary (p, LOOM_SCALAR_NEG,
                  sum_classes (p, loom_binary (p, LOOM_SCALAR_MUL, t, y), loom_op_class_weight (ctx, 2)));
  loom_op_output_loss (ctx, y);
}

/* As in PyTorch the mean is over the samples that are not ignored; NaN if there are none. The composite supports
 * neither class weights nor smoothing: its losses are weighted here, and the smoothing term is computed from its ln
 * Σ exp. */
static void
lower_classes (LoomLower *ctx, LoomValue x, LoomValue t, double smoothing)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomCrossEntropyAttrs attrs = { .ignore_index = loom_infer_int (loom_lower_infer (ctx), "ignore_index") };
  LoomValue in[2] = { x, t }, out[2], class_weight = loom_op_class_weight (ctx, 2), w, safe, counts, y;
  LoomTensorDesc d = loom_op_desc (ctx, x);

  y = loom_emit (p, loom_prim ("cross_entropy"), &attrs, 2, in, out);
  w = loom_op_target_weight (ctx, t, attrs.ignore_index, d.dtype, class_weight, &safe, &counts);
  if (class_weight != 0)
    y = loom_binary (p, LOOM_SCALAR_MUL, y, w);
  if (smoothing > 0)
    {
      LoomValue all
          = sum_classes (p, loom_binary (p, LOOM_SCALAR_SUB, loom_op_with_class_axis (p, out[1]), x), class_weight);

      all = loom_ternary (p, LOOM_SCALAR_SELECT, counts, all, loom_op_const_like (ctx, x, 0));
      all = loom_binary (p, LOOM_SCALAR_MUL, all, loom_op_const_like (ctx, x, smoothing / (double)d.dim[1]));
      y = loom_ternary (p, LOOM_SCALAR_FMA, y, loom_op_const_like (ctx, x, 1 - smoothing), all);
    }
  loom_op_output_counted_loss (ctx, y, loom_sum_all (p, w));
}

static void
lower (LoomLower *ctx)
{
  double smoothing = loom_infer_float (loom_lower_infer (ctx), "label_smoothing");
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), t = loom_lower_input (ctx, 1);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gboolean classes = !loom_dtype_is_float (loom_op_desc (ctx, t).dtype);

  t = loom_cast (p, t, classes ? LOOM_I64 : d.dtype);
  if (d.rank == 1)
    {
      x = loom_reshape (p, x, 2, (gint64[]){ 1, d.dim[0] });
      t = classes ? loom_reshape (p, t, 1, (gint64[]){ 1 }) : loom_reshape (p, t, 2, (gint64[]){ 1, d.dim[0] });
    }
  if (classes)
    lower_classes (ctx, x, t, smoothing);
  else
    lower_probabilities (ctx, x, t, smoothing);
}

static double
flops (const LoomInfer *ctx)
{
  return 5 * loom_op_input_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,5", "i64:B" }, .range = "class:5" },
  { .params = "reduction=sum", .inputs = { "f32:B,5", "i64:B" }, .range = "class:5" },
  { .params = "reduction=none", .inputs = { "f32:B,5", "i64:B" }, .range = "class:5" },
  { .params = "ignore_index=1", .inputs = { "f32:B,3", "i64:B" }, .range = "class:3" },
  { .params = "reduction=none ignore_index=0", .inputs = { "f32:2,3,T", "i64:2,T" }, .range = "class:3" },
  { .inputs = { "f32:4", "i64:" }, .range = "class:4" },
  { .params = "reduction=sum", .inputs = { "f32:0,4", "i64:0" }, .range = "class:4" },
  { .inputs = { "f32:1,1", "i64:1" }, .range = "class:1" },
  { .params = "label_smoothing=0.1 weight=1,2,0.5", .inputs = { "f32:B,3", "i64:B" }, .range = "class:3" },
  { .params = "label_smoothing=0.2 ignore_index=0", .inputs = { "f32:2,3,T", "i64:2,T", "i64:3" }, .range = "class:3" },
  { .params = "reduction=none", .inputs = { "f32:B,3", "f32:B,3", "i64:3" } },
  { .params = "label_smoothing=0.3", .inputs = { "f32:2,3,T", "f32:2,3,T" } },
  { .inputs = { "f32:4", "f32:4" } },
  { NULL },
};

const LoomOp loom_op_cross_entropy = {
  .name = "cross_entropy",
  .title = "Cross-entropy",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-cross-entropy-symbolic",
  .synonyms = "ce softmax log likelihood classification xent",
  .metric = "accuracy",
  .usual = TRUE,
  .prediction_kind = LOOM_OUTPUT_LOGITS,
  .doc = "Computes the cross-entropy between logits and target classes.",
  .details = "The usual loss for classification: it applies log_softmax to the logits and returns the negative log "
             "probability of the target class. It is 0 for a certain correct prediction and ln(classes) for uniform "
             "logits. The gradient of each sample’s loss is softmax(logits) − target.",
  .formula = "L = ln Σⱼ eˣʲ − xₜ",
  .reference = "torch.nn.CrossEntropyLoss",
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 6.2",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
