/* Instance normalisation of sequences, as torch.nn.InstanceNorm1d (Ulyanov et al. 2016). */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_NORM_PARAMS ("false", "false"),
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  if (loom_op_space (ctx, 1, "For features alone use layer_norm.", NULL))
    loom_op_infer_channel_norm (ctx);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" } },
  { .params = "affine=true", .inputs = { "f32:2,2,3" } },
  { .params = "track_running_stats=true affine=true", .inputs = { "f32:B,3,4" } },
  { .params = "track_running_stats=true momentum=0.3 eps=0.001", .inputs = { "f32:2,2,3" } },
  { NULL },
};

const LoomOp loom_op_instance_norm1d = {
  .name = "instance_norm1d",
  .title = "Instance norm 1D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-instance-norm2d-symbolic",
  .doc = "Normalises each channel of each sample to mean 0 and variance 1.",
  .details = "Mean and variance are computed over the length of each channel of each sample, so training and "
             "evaluation are the same unless running statistics are tracked.",
  .formula = "y = γ (x − μ) / √(σ² + ε) + β",
  .reference = "torch.nn.InstanceNorm1d",
  .source = "Ulyanov, Vedaldi and Lempitsky, “Instance Normalization: The Missing Ingredient for Fast Stylization”, "
            "2016, arXiv:1607.08022",
  .inputs = loom_op_port_norm_signals,
  .buffers = loom_op_norm_buffers,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = loom_op_lower_instance_norm,
  .untrainable = loom_op_instance_norm_untrainable,
  .flops = loom_op_norm_flops,
  .samples = samples,
};
