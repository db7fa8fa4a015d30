/* Average pooling 3D, as torch.nn.AvgPool3d. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_AVG_POOL_PARAMS (3),
  LOOM_OP_POOL_DIVISOR,
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "kernel_size=2", .inputs = { "f32:2,2,4,4,2" } },
  { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:1,2,5,4,5" } },
  { .params = "kernel_size=3 stride=2 padding=1 count_include_pad=false", .inputs = { "f32:1,2,5,4,5" } },
  { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,1,5,3,5" } },
  { .params = "kernel_size=3 stride=2 padding=1 ceil_mode=true", .inputs = { "f32:1,1,4,6,4" } },
  { .params = "kernel_size=2,1,2 divisor_override=3", .inputs = { "f32:2,2,4,4,2" } },
  { NULL },
};

const LoomOp loom_op_avg_pool3d = {
  .name = "avg_pool3d",
  .title = "Average pooling 3D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-avg-pool2d-symbolic",
  .doc = "Averages a volume over sliding windows.",
  .details = "Reduces depth, height and width by the stride. Unlike max pooling, every element of a window contributes "
             "equally and gets an equal part of the gradient. A window as large as the volume averages each channel.",
  .formula = "yᵢⱼₖ = mean over window(i, j, k) of x",
  .reference = "torch.nn.AvgPool3d",
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 9.3",
  .inputs = loom_op_port_volumes,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_pool,
  .lower = loom_op_lower_avg_pool,
  .flops = loom_op_pool_flops,
  .samples = samples,
  .summary = loom_op_pool_summary,
};
