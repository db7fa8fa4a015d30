/* Average pooling 2D, as torch.nn.AvgPool2d. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_AVG_POOL_PARAMS (2),
  LOOM_OP_POOL_DIVISOR,
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "kernel_size=2", .inputs = { "f32:2,3,6,4" } },
  { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:2,2,5,6" } },
  { .params = "kernel_size=3 stride=2 padding=1 count_include_pad=false", .inputs = { "f32:2,2,5,6" } },
  { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,2,5,5" } },
  { .params = "kernel_size=3 stride=2 padding=1 ceil_mode=true", .inputs = { "f32:1,2,6,6" } },
  { .params = "kernel_size=2,1 divisor_override=3", .inputs = { "f32:2,3,6,4" } },
  { NULL },
};

const LoomOp loom_op_avg_pool2d = {
  .name = "avg_pool2d",
  .title = "Average pooling 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-avg-pool2d-symbolic",
  .doc = "Averages an image over sliding windows.",
  .details = "Reduces height and width by the stride. Unlike max pooling, every element of a window contributes "
             "equally and gets an equal part of the gradient. A window as large as the image averages each channel.",
  .formula = "yᵢⱼ = mean over window(i, j) of x",
  .reference = "torch.nn.AvgPool2d",
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 9.3",
  .inputs = loom_op_port_images,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_pool,
  .lower = loom_op_lower_avg_pool,
  .flops = loom_op_pool_flops,
  .samples = samples,
  .summary = loom_op_pool_summary,
};
