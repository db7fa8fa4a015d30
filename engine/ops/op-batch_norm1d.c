/* Batch normalisation of features and sequences, as torch.nn.BatchNorm1d (Ioffe and Szegedy 2015). */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_NORM_PARAMS ("true", "true"),
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  if (!loom_op_rank (ctx, 0, "input", 2, 3, "features, batch × channels, or sequences, batch × channels × length",
                     "For images use batch_norm2d.")
      || !loom_op_needs_float (ctx, 0, "input", NULL))
    return;
  loom_op_infer_channel_norm (ctx);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" } },
  { .params = "affine=false", .inputs = { "f32:2,2,3" } },
  { .params = "momentum=0.3 eps=0.001", .inputs = { "f32:3,2,1" } },
  { .params = "track_running_stats=false", .inputs = { "f32:B,3" } },
  { .params = "momentum=none", .inputs = { "f32:B,3,4" } },
  { NULL },
};

const LoomOp loom_op_batch_norm1d = {
  .name = "batch_norm1d",
  .title = "Batch norm 1D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-batch-norm2d-symbolic",
  .synonyms = "bn batchnormalization",
  .doc = "Normalises each channel to mean 0 and variance 1 over the batch (and length).",
  .details = "In training it uses the mean and variance of the batch and updates running statistics; evaluation uses "
             "the running statistics, so a sample does not depend on the rest of its batch. Keeping the scale of "
             "activations constant makes deep networks easier to train.",
  .formula = "y = γ (x − μ) / √(σ² + ε) + β",
  .reference = "torch.nn.BatchNorm1d",
  .source = "Ioffe and Szegedy, “Batch Normalization: Accelerating Deep Network Training by Reducing Internal "
            "Covariate Shift”, ICML 2015, arXiv:1502.03167",
  .inputs = loom_op_port_norm_signals,
  .buffers = loom_op_norm_buffers,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = loom_op_lower_batch_norm,
  .untrainable = loom_op_batch_norm_untrainable,
  .flops = loom_op_norm_flops,
  .samples = samples,
};
