/* Max pooling 3D, as torch.nn.MaxPool3d. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_MAX_POOL_PARAMS (3),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "kernel_size=2", .inputs = { "f32:2,2,4,4,2" }, .range = "distinct" },
  { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:1,2,5,4,5" }, .range = "distinct" },
  { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,1,5,3,5" }, .range = "distinct" },
  { .params = "kernel_size=2,3,1 stride=1 dilation=2,1,2", .inputs = { "f32:1,1,5,3,5" }, .range = "distinct" },
  { .params = "kernel_size=1", .inputs = { "f32:1,1,1,1,1" }, .range = "distinct" },
  { NULL },
};

const LoomOp loom_op_max_pool3d = {
  .name = "max_pool3d",
  .title = "Max pooling 3D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-max-pool2d-symbolic",
  .doc = "Takes the maximum of a volume over sliding windows.",
  .details = "Reduces depth, height and width by the stride. Only the maximum of each window gets a gradient.",
  .formula = "yᵢⱼₖ = max over window(i, j, k) of x",
  .reference = "torch.nn.MaxPool3d",
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 9.3",
  .inputs = loom_op_port_volumes,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_pool,
  .lower = loom_op_lower_max_pool,
  .flops = loom_op_pool_flops,
  .samples = samples,
  .summary = loom_op_pool_summary,
};
