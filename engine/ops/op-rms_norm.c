/* Root-mean-square normalisation, as torch.nn.RMSNorm (Zhang and Sennrich 2019). */
#include "engine/ops/op-layers.h"

#include <float.h>

static const LoomPortSpec inputs[] = {
  { "input", "Features in the last dimensions [ …, normalized_shape]." },
  { "weight", "Ties the scale γ to another tensor [normalized_shape].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_NORMALIZED_SHAPE,
  { LOOM_PARAM ("eps", FLOAT, ""), LOOM_RANGE (0, 1),
    .doc = "ε, added to the mean square; if not set, the machine epsilon of the type.", .advanced = TRUE },
  { LOOM_PARAM ("elementwise_affine", BOOL, "true"), .doc = "Whether each feature has a learnable scale." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomValue x = loom_lower_input (ctx, 0), weight = loom_lower_weight (ctx, "weight"), square;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  double count = 1, eps = d.dtype == LOOM_F64 ? DBL_EPSILON : FLT_EPSILON;
  guint32 axes = 0;

  if (loom_infer_is_set (infer_ctx, "eps"))
    eps = loom_infer_float (infer_ctx, "eps");
  for (int i = d.rank - loom_op_n_features (infer_ctx); i < d.rank; i++)
    {
      axes |= 1u << i;
      count *= (double)d.dim[i];
    }
  square = loom_reduce (p, LOOM_REDUCE_SUM, loom_unary (p, LOOM_SCALAR_SQUARE, x), axes, TRUE);
  square = loom_binary (p, LOOM_SCALAR_DIV, square, loom_const (p, d.dtype, count));
  square = loom_binary (p, LOOM_SCALAR_ADD, square, loom_const (p, d.dtype, eps));
  x = loom_binary (p, LOOM_SCALAR_MUL, x, loom_unary (p, LOOM_SCALAR_RSQRT, square));
  if (weight != 0)
    x = loom_binary (p, LOOM_SCALAR_MUL, x, weight);
  loom_lower_output (ctx, 0, x);
}

static double
flops (const LoomInfer *ctx)
{
  return 5 * loom_op_output_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,6" } },
  { .params = "normalized_shape=3,4", .inputs = { "f32:2,3,4" } },
  { .params = "elementwise_affine=false eps=0.001", .inputs = { "f32:B,T,4" } },
  { .inputs = { "f32:5" } },
  { NULL },
};

const LoomOp loom_op_rms_norm = {
  .name = "rms_norm",
  .title = "RMS norm",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-rms-norm-symbolic",
  .synonyms = "transformer llama",
  .doc = "Divides the features of each sample by their root mean square.",
  .details = "Like layer norm without the subtraction of the mean. It is cheaper, and large language models use it in "
             "place of layer norm with similar results.",
  .formula = "y = γ x / √(mean(x²) + ε)",
  .reference = "torch.nn.RMSNorm",
  .source = "Zhang and Sennrich, “Root Mean Square Layer Normalization”, NeurIPS 2019, arXiv:1910.07467",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_feature_norm,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
