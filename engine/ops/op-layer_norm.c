/* Layer normalisation over the last dimensions, as torch.nn.LayerNorm (Ba et al. 2016). */
#include "engine/ops/op-layers.h"

static const LoomPortSpec inputs[] = {
  { "input", "Features in the last dimensions [ …, normalized_shape]." },
  { "weight", "Ties the scale γ to another tensor [normalized_shape].", LOOM_PORT_WEIGHT },
  { "bias", "Ties the shift β to another tensor [normalized_shape].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_NORMALIZED_SHAPE,
  { LOOM_PARAM ("eps", FLOAT, "1e-05"), LOOM_RANGE (0, 1), .doc = "ε, added to the variance so that it is never 0.",
    .advanced = TRUE },
  { LOOM_PARAM ("elementwise_affine", BOOL, "true"), .doc = "Whether each feature has a learnable scale (and shift)." },
  { LOOM_PARAM ("bias", BOOL, "true"), .doc = "Whether each feature has a learnable shift in addition to the scale.",
    .advanced = TRUE },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue in[3] = { loom_lower_input (ctx, 0), loom_lower_weight (ctx, "weight"), loom_lower_weight (ctx, "bias") };
  LoomNormAttrs attrs = { .eps = loom_infer_float (loom_lower_infer (ctx), "eps"),
                          .axes = loom_op_n_features (loom_lower_infer (ctx)),
                          .affine = in[1] != 0 };

  /* The primitive takes both or none: a scale alone gets a shift of zeros. */
  if (in[1] != 0 && in[2] == 0)
    {
      LoomTensorDesc w = loom_op_desc (ctx, in[1]);

      in[2] = loom_fill (p, w.dtype, w.rank, w.dim, 0);
    }
  loom_lower_output (ctx, 0, loom_emit (p, loom_prim ("layer_norm"), &attrs, 3, in, NULL));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,6" } },
  { .params = "normalized_shape=3,4", .inputs = { "f32:2,3,4" } },
  { .params = "elementwise_affine=false eps=0.001", .inputs = { "f32:B,T,4" } },
  { .params = "bias=false", .inputs = { "f32:B,4" } },
  { .inputs = { "f32:5" } },
  { NULL },
};

const LoomOp loom_op_layer_norm = {
  .name = "layer_norm",
  .title = "Layer norm",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-layer-norm-symbolic",
  .synonyms = "ln layernormalization transformer",
  .usual = TRUE,
  .doc = "Normalises the features of each sample to mean 0 and variance 1.",
  .details = "Mean and variance are computed over the last dimensions only, so they do not depend on the batch, and "
             "training and evaluation are the same. The usual normalisation in transformers, where each position is "
             "normalised separately.",
  .formula = "y = γ (x − μ) / √(σ² + ε) + β",
  .reference = "torch.nn.LayerNorm",
  .source = "Ba, Kiros and Hinton, “Layer Normalization”, 2016, arXiv:1607.06450",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_feature_norm,
  .lower = lower,
  .flops = loom_op_norm_flops,
  .samples = samples,
};
