/* Local response normalisation, as torch.nn.LocalResponseNorm (Krizhevsky et al. 2012, section 3.3). */
#include "engine/ops/op-layers.h"

static const LoomPortSpec inputs[] = {
  { "input", "Features [batch, channels, …]." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("size", INT, "5"), LOOM_RANGE (1, 1e6), .unit = "channels",
    .doc = "The number n of neighbouring channels that are summed." },
  { LOOM_PARAM ("alpha", FLOAT, "0.0001"), LOOM_RANGE (-1e6, 1e6), .doc = "The factor α of the sum of squares." },
  { LOOM_PARAM ("beta", FLOAT, "0.75"), LOOM_RANGE (-100, 100), .doc = "The exponent β of the divisor." },
  { LOOM_PARAM ("k", FLOAT, "1"), LOOM_RANGE (-1e6, 1e6), .doc = "The constant k that is added to the divisor." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  if (loom_op_rank (ctx, 0, "input", 3, LOOM_SHAPE_MAX_RANK, "features, batch × channels × sizes",
                    "Put a reshape before it.")
      && loom_op_needs_float (ctx, 0, "input", NULL))
    loom_op_infer_same (ctx);
}

/* The sum over channels is an average pooling of [N, 1, C, positions] with windows of n rows, each divided by n. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomValue x = loom_lower_input (ctx, 0), v;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 size = loom_infer_int (infer_ctx, "size"), n = d.dim[0], c = d.dim[1];
  gint64 places = loom_desc_count (&d) / MAX (n * c, 1);
  LoomPool2dTo a = { .kernel = { .kernel = { size, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .divisor = size },
                     .size = { c, places } };

  v = loom_reshape (p, loom_unary (p, LOOM_SCALAR_SQUARE, x), 4, (gint64[]){ n, 1, c, places });
  v = loom_op_pad_value (p, v, 2, size / 2, (size - 1) / 2, "zeros", 0);
  v = loom_reshape (p, loom_emit (p, loom_prim ("avg_pool2d"), &a, 1, &v, NULL), d.rank, d.dim);
  v = loom_binary (p, LOOM_SCALAR_MUL, v, loom_const (p, d.dtype, loom_infer_float (infer_ctx, "alpha")));
  v = loom_binary (p, LOOM_SCALAR_ADD, v, loom_const (p, d.dtype, loom_infer_float (infer_ctx, "k")));
  v = loom_binary (p, LOOM_SCALAR_POW, v, loom_const (p, d.dtype, loom_infer_float (infer_ctx, "beta")));
  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_DIV, x, v));
}

static double
flops (const LoomInfer *ctx)
{
  return loom_op_output_count (ctx, 0) * (5 + (double)loom_infer_int (ctx, "size"));
}

static const LoomSample samples[] = {
  { .params = "size=3", .inputs = { "f32:B,5,2,3" } },
  { .params = "size=2 alpha=0.5 beta=0.5 k=2", .inputs = { "f32:2,4,3" } },
  { .params = "size=5 alpha=1", .inputs = { "f32:2,3,2,1,2" } },
  { NULL },
};

const LoomOp loom_op_local_response_norm = {
  .name = "local_response_norm",
  .title = "Local response norm",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-group-norm-symbolic",
  .doc = "Divides each channel by the magnitude of neighbouring channels at the same position.",
  .details
  = "A channel with large activations reduces its neighbours. AlexNet used it; today batch norm is used instead.",
  .formula = "y = x / (k + α/n · Σ over n channels of x²)^β",
  .reference = "torch.nn.LocalResponseNorm",
  .source = "Krizhevsky, Sutskever and Hinton, “ImageNet Classification with Deep Convolutional Neural Networks”, NIPS "
            "2012, section 3.3",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
