/* Batch normalisation of features, sequences, images and volumes, as torch.nn.BatchNorm1d, BatchNorm2d and BatchNorm3d
 * (Ioffe and Szegedy 2015).
 *
 * A row for each number of dimensions. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_NORM_PARAMS ("true", "true"),
  { NULL },
};

/* With one dimension or none. */
static void
infer_signals (LoomInfer *ctx)
{
  if (!loom_op_rank (ctx, 0, "input", 2, 3, "features, batch × channels, or sequences, batch × channels × length",
                     "For images use batch_norm2d.")
      || !loom_op_needs_float (ctx, 0, "input", NULL))
    return;
  loom_op_infer_channel_norm (ctx);
}

static void
infer (LoomInfer *ctx)
{
  const int n = loom_op_dimensions (ctx);

  if (loom_op_space (ctx, n,
                     n == 2 ? "For other shapes use batch_norm1d or layer_norm."
                            : "For other shapes use batch_norm1d or batch_norm2d.",
                     NULL))
    loom_op_infer_channel_norm (ctx);
}

static const LoomSample samples[LOOM_MAX_SPACE][6] = {
  {
      { .inputs = { "f32:B,3,4" } },
      { .params = "affine=false", .inputs = { "f32:2,2,3" } },
      { .params = "momentum=0.3 eps=0.001", .inputs = { "f32:3,2,1" } },
      { .params = "track_running_stats=false", .inputs = { "f32:B,3" } },
      { .params = "momentum=none", .inputs = { "f32:B,3,4" } },
      { NULL },
  },
  {
      { .inputs = { "f32:B,3,4,4" } },
      { .params = "affine=false", .inputs = { "f32:2,2,3,3" } },
      { .params = "momentum=0.3 eps=0.001", .inputs = { "f32:3,2,2,1" } },
      { .params = "track_running_stats=false", .inputs = { "f32:2,3,2,2" } },
      { .params = "momentum=none", .inputs = { "f32:B,3,4,4" } },
      { NULL },
  },
  {
      { .inputs = { "f32:B,2,2,3,2" } },
      { .params = "affine=false", .inputs = { "f32:2,2,1,3,3" } },
      { .params = "momentum=0.3 eps=0.001", .inputs = { "f32:3,2,2,1,2" } },
      { .params = "track_running_stats=false", .inputs = { "f32:2,3,2,1,2" } },
      { .params = "momentum=none", .inputs = { "f32:B,2,2,3,2" } },
      { NULL },
  },
};

/* What the rows have in common. */
#define BATCH_NORM(n)                                                                                                  \
  .title = "Batch norm " #n "D", .category = LOOM_CATEGORY_LAYERS, .icon = "loom-batch-norm2d-symbolic",               \
  .details = "In training it uses the mean and variance of the batch and updates running statistics; evaluation uses " \
             "the running statistics, so a sample does not depend on the rest of its batch. Keeping the scale of "     \
             "activations constant makes deep networks easier to train.",                                              \
  .formula = "y = γ (x − μ) / √(σ² + ε) + β", .reference = "torch.nn.BatchNorm" #n "d",                                \
  .source = "Ioffe and Szegedy, “Batch Normalization: Accelerating Deep Network Training by Reducing Internal "      \
            "Covariate Shift”, ICML 2015, arXiv:1502.03167",                                                           \
  .inputs = loom_op_port_norm[n - 1], .buffers = loom_op_norm_buffers, .outputs = loom_op_port_out, .params = params,  \
  .lower = loom_op_lower_batch_norm, .untrainable = loom_op_batch_norm_untrainable, .flops = loom_op_norm_flops,       \
  .samples = samples[n - 1]

const LoomOp loom_op_batch_norm1d = {
  .name = "batch_norm1d",
  BATCH_NORM (1),
  .synonyms = "bn batchnormalization",
  .doc = "Normalises each channel to mean 0 and variance 1 over the batch (and length).",
  .infer = infer_signals,
};

const LoomOp loom_op_batch_norm2d = {
  .name = "batch_norm2d",
  BATCH_NORM (2),
  .synonyms = "bn batchnormalization",
  .usual = TRUE,
  .doc = "Normalises each channel to mean 0 and variance 1 over the batch, height and width.",
  .infer = infer,
};

const LoomOp loom_op_batch_norm3d = {
  .name = "batch_norm3d",
  BATCH_NORM (3),
  .doc = "Normalises each channel to mean 0 and variance 1 over the batch, depth, height and width.",
  .infer = infer,
};
