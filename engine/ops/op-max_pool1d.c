/* Max pooling 1D, as torch.nn.MaxPool1d. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_MAX_POOL_PARAMS (1),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "kernel_size=2", .inputs = { "f32:2,3,6" }, .range = "distinct" },
  { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:2,2,7" }, .range = "distinct" },
  { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,2,5" }, .range = "distinct" },
  { .params = "kernel_size=2 stride=1 dilation=2", .inputs = { "f32:1,2,5" }, .range = "distinct" },
  { .params = "kernel_size=1", .inputs = { "f32:1,1,1" }, .range = "distinct" },
  { NULL },
};

const LoomOp loom_op_max_pool1d = {
  .name = "max_pool1d",
  .title = "Max pooling 1D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-max-pool2d-symbolic",
  .doc = "Takes the maximum of a sequence over sliding windows.",
  .details = "Reduces the length by the stride and makes the network less sensitive to small shifts. Only the maximum "
             "of each window gets a gradient.",
  .formula = "yᵢ = max over window(i) of x",
  .reference = "torch.nn.MaxPool1d",
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 9.3",
  .inputs = loom_op_port_signals,
  .outputs = loom_op_port_indices,
  .params = params,
  .infer = loom_op_infer_pool,
  .lower = loom_op_lower_max_pool,
  .flops = loom_op_pool_flops,
  .samples = samples,
  .summary = loom_op_pool_summary,
};
