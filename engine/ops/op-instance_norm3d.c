/* Instance normalisation of volumes, as torch.nn.InstanceNorm3d (Ulyanov et al. 2016). */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_NORM_PARAMS ("false", "false"),
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  if (loom_op_space (ctx, 3, "For features alone use layer_norm.", NULL))
    loom_op_infer_channel_norm (ctx);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,2,2,3,2" } },
  { .params = "affine=true", .inputs = { "f32:2,2,1,3,3" } },
  { .params = "track_running_stats=true affine=true", .inputs = { "f32:B,2,2,3,2" } },
  { .params = "track_running_stats=true momentum=0.3 eps=0.001", .inputs = { "f32:2,2,1,3,3" } },
  { NULL },
};

const LoomOp loom_op_instance_norm3d = {
  .name = "instance_norm3d",
  .title = "Instance norm 3D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-instance-norm2d-symbolic",
  .doc = "Normalises each channel of each sample to mean 0 and variance 1.",
  .details = "Mean and variance are computed over depth, height and width of each channel of each sample, so training "
             "and evaluation are the same unless running statistics are tracked.",
  .formula = "y = γ (x − μ) / √(σ² + ε) + β",
  .reference = "torch.nn.InstanceNorm3d",
  .source = "Ulyanov, Vedaldi and Lempitsky, “Instance Normalization: The Missing Ingredient for Fast Stylization”, "
            "2016, arXiv:1607.08022",
  .inputs = loom_op_port_norm_volumes,
  .buffers = loom_op_norm_buffers,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = loom_op_lower_instance_norm,
  .untrainable = loom_op_instance_norm_untrainable,
  .flops = loom_op_norm_flops,
  .samples = samples,
};
