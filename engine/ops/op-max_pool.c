/* Max pooling over sequences, images and volumes, as torch.nn.MaxPool1d, MaxPool2d and MaxPool3d.
 *
 * A row for each number of dimensions. */
#include "engine/ops/op-layers.h"

#define PARAMS(n)                                                                                                      \
  LOOM_OP_POOL_KERNEL (n), LOOM_OP_POOL_STRIDE (n),                                                                    \
      LOOM_OP_POOL_PADDING (                                                                                           \
          n, "The padding of both sides with values that are never the maximum; at most half the window."),            \
      { LOOM_PARAM ("dilation", INTS, "1"), .length = n, LOOM_RANGE (1, 10000),                                        \
        .doc = "The distance between the elements of a window.", .advanced = TRUE },                                   \
      LOOM_OP_POOL_CEIL_MODE

static const LoomParamSpec params[LOOM_MAX_SPACE][6] = {
  { PARAMS (1), { NULL } },
  { PARAMS (2), { NULL } },
  { PARAMS (3), { NULL } },
};

static const LoomSample samples[LOOM_MAX_SPACE][6] = {
  {
      { .params = "kernel_size=2", .inputs = { "f32:2,3,6" }, .range = "distinct" },
      { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:2,2,7" }, .range = "distinct" },
      { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,2,5" }, .range = "distinct" },
      { .params = "kernel_size=2 stride=1 dilation=2", .inputs = { "f32:1,2,5" }, .range = "distinct" },
      { .params = "kernel_size=1", .inputs = { "f32:1,1,1" }, .range = "distinct" },
      { NULL },
  },
  {
      { .params = "kernel_size=2", .inputs = { "f32:2,3,6,4" }, .range = "distinct" },
      { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:2,2,5,6" }, .range = "distinct" },
      { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,2,5,5" }, .range = "distinct" },
      { .params = "kernel_size=2,3 stride=1 dilation=2,1", .inputs = { "f32:1,2,5,5" }, .range = "distinct" },
      { .params = "kernel_size=1", .inputs = { "f32:1,1,1,1" }, .range = "distinct" },
      { NULL },
  },
  {
      { .params = "kernel_size=2", .inputs = { "f32:2,2,4,4,2" }, .range = "distinct" },
      { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:1,2,5,4,5" }, .range = "distinct" },
      { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,1,5,3,5" }, .range = "distinct" },
      { .params = "kernel_size=2,3,1 stride=1 dilation=2,1,2", .inputs = { "f32:1,1,5,3,5" }, .range = "distinct" },
      { .params = "kernel_size=1", .inputs = { "f32:1,1,1,1,1" }, .range = "distinct" },
      { NULL },
  },
};

/* What the rows have in common. */
#define MAX_POOL(n)                                                                                                    \
  .title = "Max pooling " #n "D", .category = LOOM_CATEGORY_LAYERS, .icon = "loom-max-pool2d-symbolic",                \
  .reference = "torch.nn.MaxPool" #n "d",                                                                              \
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 9.3",                          \
  .inputs = loom_op_port_space[n - 1], .params = params[n - 1], .infer = loom_op_infer_pool,                           \
  .lower = loom_op_lower_max_pool, .flops = loom_op_pool_flops, .samples = samples[n - 1],                             \
  .summary = loom_op_pool_summary

const LoomOp loom_op_max_pool1d = {
  .name = "max_pool1d",
  MAX_POOL (1),
  .doc = "Takes the maximum of a sequence over sliding windows.",
  .details = "Reduces the length by the stride and makes the network less sensitive to small shifts. Only the maximum "
             "of each window gets a gradient.",
  .formula = "yᵢ = max over window(i) of x",
  .outputs = loom_op_port_indices,
};

const LoomOp loom_op_max_pool2d = {
  .name = "max_pool2d",
  MAX_POOL (2),
  .synonyms = "subsampling downsample",
  .usual = TRUE,
  .doc = "Takes the maximum of an image over sliding windows.",
  .details = "Reduces height and width by the stride and makes the network less sensitive to small shifts. Only the "
             "maximum of each window gets a gradient.",
  .formula = "yᵢⱼ = max over window(i, j) of x",
  .outputs = loom_op_port_indices,
};

const LoomOp loom_op_max_pool3d = {
  .name = "max_pool3d",
  MAX_POOL (3),
  .doc = "Takes the maximum of a volume over sliding windows.",
  .details = "Reduces depth, height and width by the stride. Only the maximum of each window gets a gradient.",
  .formula = "yᵢⱼₖ = max over window(i, j, k) of x",
  .outputs = loom_op_port_out,
};
