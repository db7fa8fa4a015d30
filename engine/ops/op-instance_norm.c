/* Instance normalisation of sequences, images and volumes, as torch.nn.InstanceNorm1d, InstanceNorm2d and
 * InstanceNorm3d (Ulyanov et al. 2016).
 *
 * A row for each number of dimensions. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_NORM_PARAMS ("false", "false"),
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  if (loom_op_space (ctx, loom_op_dimensions (ctx), "For features alone use layer_norm.", NULL))
    loom_op_infer_channel_norm (ctx);
}

static const LoomSample samples[LOOM_MAX_SPACE][5] = {
  {
      { .inputs = { "f32:B,3,4" } },
      { .params = "affine=true", .inputs = { "f32:2,2,3" } },
      { .params = "track_running_stats=true affine=true", .inputs = { "f32:B,3,4" } },
      { .params = "track_running_stats=true momentum=0.3 eps=0.001", .inputs = { "f32:2,2,3" } },
      { NULL },
  },
  {
      { .inputs = { "f32:B,3,4,4" } },
      { .params = "affine=true", .inputs = { "f32:2,2,3,3" } },
      { .params = "track_running_stats=true affine=true", .inputs = { "f32:B,3,4,4" } },
      { .params = "track_running_stats=true momentum=0.3 eps=0.001", .inputs = { "f32:2,2,3,3" } },
      { NULL },
  },
  {
      { .inputs = { "f32:B,2,2,3,2" } },
      { .params = "affine=true", .inputs = { "f32:2,2,1,3,3" } },
      { .params = "track_running_stats=true affine=true", .inputs = { "f32:B,2,2,3,2" } },
      { .params = "track_running_stats=true momentum=0.3 eps=0.001", .inputs = { "f32:2,2,1,3,3" } },
      { NULL },
  },
};

/* What the rows have in common. */
#define INSTANCE_NORM(n)                                                                                                  \
  .title = "Instance norm " #n "D", .category = LOOM_CATEGORY_LAYERS, .icon = "loom-instance-norm2d-symbolic",            \
  .doc = "Normalises each channel of each sample to mean 0 and variance 1.",                                              \
  .formula = "y = γ (x − μ) / √(σ² + ε) + β", .reference = "torch.nn.InstanceNorm" #n "d",                                \
  .source = "Ulyanov, Vedaldi and Lempitsky, “Instance Normalization: The Missing Ingredient for Fast Stylization”, " \
            "2016, arXiv:1607.08022",                                                                                     \
  .inputs = loom_op_port_norm[n - 1], .buffers = loom_op_norm_buffers, .outputs = loom_op_port_out, .params = params,     \
  .infer = infer, .lower = loom_op_lower_instance_norm, .untrainable = loom_op_instance_norm_untrainable,                 \
  .flops = loom_op_norm_flops, .samples = samples[n - 1]

const LoomOp loom_op_instance_norm1d = {
  .name = "instance_norm1d",
  INSTANCE_NORM (1),
  .details = "Mean and variance are computed over the length of each channel of each sample, so training and "
             "evaluation are the same unless running statistics are tracked.",
};

const LoomOp loom_op_instance_norm2d = {
  .name = "instance_norm2d",
  INSTANCE_NORM (2),
  .details = "Mean and variance are computed over height and width of each channel of each sample, which removes "
             "brightness and contrast; it is used for style transfer. Training and evaluation are the same unless "
             "running statistics are tracked.",
};

const LoomOp loom_op_instance_norm3d = {
  .name = "instance_norm3d",
  INSTANCE_NORM (3),
  .details = "Mean and variance are computed over depth, height and width of each channel of each sample, so training "
             "and evaluation are the same unless running statistics are tracked.",
};
