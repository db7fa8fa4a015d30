/* Max pooling 2D, as torch.nn.MaxPool2d. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_MAX_POOL_PARAMS (2),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "kernel_size=2", .inputs = { "f32:2,3,6,4" }, .range = "distinct" },
  { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:2,2,5,6" }, .range = "distinct" },
  { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,2,5,5" }, .range = "distinct" },
  { .params = "kernel_size=2,3 stride=1 dilation=2,1", .inputs = { "f32:1,2,5,5" }, .range = "distinct" },
  { .params = "kernel_size=1", .inputs = { "f32:1,1,1,1" }, .range = "distinct" },
  { NULL },
};

const LoomOp loom_op_max_pool2d = {
  .name = "max_pool2d",
  .title = "Max pooling 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-max-pool2d-symbolic",
  .synonyms = "subsampling downsample",
  .usual = TRUE,
  .doc = "Takes the maximum of an image over sliding windows.",
  .details = "Reduces height and width by the stride and makes the network less sensitive to small shifts. Only the "
             "maximum of each window gets a gradient.",
  .formula = "yᵢⱼ = max over window(i, j) of x",
  .reference = "torch.nn.MaxPool2d",
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 9.3",
  .inputs = loom_op_port_images,
  .outputs = loom_op_port_indices,
  .params = params,
  .infer = loom_op_infer_pool,
  .lower = loom_op_lower_max_pool,
  .flops = loom_op_pool_flops,
  .samples = samples,
  .summary = loom_op_pool_summary,
};
