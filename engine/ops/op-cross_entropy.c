/* Cross-entropy of logits and class numbers, as torch.nn.functional.cross_entropy. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "Scores [batch, classes, …], before any softmax." },
  { "target", "The right class of each sample, whole numbers [batch, …]." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "reduction",
    .type = LOOM_PARAM_ENUM,
    .def = "mean",
    .choices = loom_op_reductions,
    .doc = "One number for the batch (its mean or sum), or one for each sample." },
  { .name = "ignore_index",
    .type = LOOM_PARAM_INT,
    .def = "-100",
    .minimum = -9e15,
    .maximum = 9e15,
    .doc = "Samples of this class do not count.",
    .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0), *t = loom_infer_input (ctx, 1);
  LoomShape want;
  g_autofree char *sx = loom_shape_to_string (&x->shape), *st = loom_shape_to_string (&t->shape);

  if (!loom_op_needs_float (ctx, 0, "input", "compares scores")
      || !loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "scores, batch × classes",
                        "Put a linear with one output per class before it."))
    return;
  if (loom_dtype_is_float (t->dtype) || t->dtype == LOOM_BOOL)
    {
      loom_infer_fault (ctx, LOOM_ERROR_DTYPE, "target",
                        "The target must be class numbers (i64); here comes %s. For numbers use mse_loss.",
                        loom_dtype_name (t->dtype));
      return;
    }
  want = loom_op_reduced_shape (&x->shape, x->shape.rank == 1 ? 1u : 2u, FALSE);
  if (!loom_shape_compatible (&want, &t->shape))
    {
      g_autofree char *sw = loom_shape_to_string (&want);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "target", "Scores %s need class numbers %s; here comes %s.%s", sx, sw,
                        st, x->shape.rank > 2 && t->shape.rank == 1 ? " Put a flatten before the last linear." : "");
      return;
    }
  if (!g_str_equal (loom_infer_string (ctx, "reduction"), "none"))
    want = loom_shape_scalar ();
  loom_infer_output (ctx, 0, x->dtype, &want);
}

/* The mean is over the samples that count, as PyTorch has it; a batch of none gives NaN. */
static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  const char *reduction = loom_infer_string (infer_ctx, "reduction");
  LoomProgram *p = loom_lower_program (ctx);
  LoomCrossEntropyAttrs attrs = { .ignore_index = loom_infer_int (infer_ctx, "ignore_index") };
  LoomValue in[2] = { loom_lower_input (ctx, 0), loom_cast (p, loom_lower_input (ctx, 1), LOOM_I64) }, out[2], y;
  LoomTensorDesc x = loom_op_desc (ctx, in[0]);
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  if (x.rank == 1)
    {
      in[0] = loom_reshape (p, in[0], 2, (gint64[]){ 1, x.dim[0] });
      in[1] = loom_reshape (p, in[1], 1, (gint64[]){ 1 });
    }
  y = loom_emit (p, loom_prim ("cross_entropy"), &attrs, 2, in, out);
  if (!g_str_equal (reduction, "none"))
    y = loom_sum_all (p, y);
  if (g_str_equal (reduction, "mean"))
    {
      LoomValue counts = loom_binary (p, LOOM_SCALAR_NE, in[1], loom_const (p, LOOM_I64, (double)attrs.ignore_index));

      y = loom_binary (p, LOOM_SCALAR_DIV, y, loom_sum_all (p, loom_cast (p, counts, x.dtype)));
    }
  loom_lower_output (ctx, 0, loom_reshape (p, y, rank, dims));
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
  { NULL },
};

const LoomOp loom_op_cross_entropy = {
  .name = "cross_entropy",
  .title = "Cross-entropy",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-cross-entropy-symbolic",
  .doc = "Says how surprised the network is by the right class.",
  .details = "The loss for choosing among classes. Scores become probabilities inside, and the loss is minus the "
             "logarithm of the right one's: 0 when it is certain, ln(classes) when it guesses. Its gradient is simply "
             "the probabilities minus the truth.",
  .formula = "L = ln Σⱼ eˣʲ − xₜ",
  .reference = "torch.nn.CrossEntropyLoss",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
