/* Negative log likelihood of class indices, as torch.nn.functional.nll_loss. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The log probabilities [batch, classes, …], from a log_softmax.", LOOM_PORT_PREDICTION },
  { "target", "The target classes as integers [batch, …].", LOOM_PORT_TARGET },
  { "weight", "A weight for each class [classes].", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  LOOM_OP_CLASS_WEIGHT,
  { LOOM_PARAM ("ignore_index", INT, "-100"), LOOM_RANGE (-9e15, 9e15),
    .doc = "Samples with this target class are ignored.", .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape each;

  if (loom_op_needs_float (ctx, 0, "input", "reads log probabilities")
      && loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "log probabilities, batch × classes",
                       "Put a log_softmax before it.")
      && loom_op_infer_classes (ctx, &each)
      && loom_op_infer_class_weight (ctx, 2, x->shape.dim[x->shape.rank == 1 ? 0 : 1]))
    loom_op_infer_loss (ctx, x->dtype, &each);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_cast (p, loom_lower_input (ctx, 1), LOOM_I64), safe, counts, w, y;
  LoomTensorDesc d = loom_op_desc (ctx, x);

  if (d.rank == 1)
    {
      x = loom_reshape (p, x, 2, (gint64[]){ 1, d.dim[0] });
      t = loom_reshape (p, t, 1, (gint64[]){ 1 });
    }
  w = loom_op_target_weight (ctx, t, loom_infer_int (loom_lower_infer (ctx), "ignore_index"), d.dtype,
                             loom_op_class_weight (ctx, 2), &safe, &counts);
  y = loom_gather (p, x, loom_op_with_class_axis (p, safe), 1);
  d = loom_op_desc (ctx, t);
  y = loom_unary (p, LOOM_SCALAR_NEG, loom_reshape (p, y, d.rank, d.dim));
  y = loom_ternary (p, LOOM_SCALAR_SELECT, counts, loom_binary (p, LOOM_SCALAR_MUL, y, w),
                    loom_op_const_like (ctx, y, 0));
  loom_op_output_counted_loss (ctx, y, loom_sum_all (p, w));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,5", "i64:B" }, .range = "class:5" },
  { .params = "reduction=sum weight=1,2,0.5", .inputs = { "f32:B,3", "i64:B" }, .range = "class:3" },
  { .params = "reduction=none ignore_index=0", .inputs = { "f32:2,3,T", "i64:2,T", "i64:3" }, .range = "class:3" },
  { .inputs = { "f32:4", "i64:" }, .range = "class:4" },
  { .params = "reduction=sum", .inputs = { "f32:0,4", "i64:0" }, .range = "class:4" },
  { NULL },
};

const LoomOp loom_op_nll_loss = {
  .name = "nll_loss",
  .title = "Negative log likelihood loss (NLL)",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-cross-entropy-symbolic",
  .synonyms = "negative log likelihood",
  .prediction_kind = LOOM_OUTPUT_LOG_PROBABILITIES,
  .doc = "Returns the negative log probability of the target class.",
  .details = "With log_softmax before it this equals cross_entropy. Class weights can compensate for rare classes, and "
             "ignore_index skips samples without a label.",
  .formula = "L = −Σ wₜ · xₜ / Σ wₜ",
  .reference = "torch.nn.NLLLoss",
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 6.2",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
