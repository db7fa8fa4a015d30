/* Average pooling over sequences, images and volumes, as torch.nn.AvgPool1d, AvgPool2d and AvgPool3d.
 *
 * A row for each number of dimensions. */
#include "engine/ops/op-layers.h"

#define PARAMS(n)                                                                                                      \
  LOOM_OP_POOL_KERNEL (n), LOOM_OP_POOL_STRIDE (n),                                                                    \
      LOOM_OP_POOL_PADDING (n, "The zero padding of both sides; at most half the window."),                            \
      { LOOM_PARAM ("count_include_pad", BOOL, "true"), .doc = "Whether padding counts in the divisor of the mean.",   \
        .advanced = TRUE },                                                                                            \
      LOOM_OP_POOL_CEIL_MODE

#define DIVISOR                                                                                                        \
  {                                                                                                                    \
    LOOM_PARAM ("divisor_override", INT, ""), LOOM_RANGE (1, 1e9),                                                     \
        .doc = "The divisor of each window; if not set, its size.", .advanced = TRUE                                   \
  }

static const LoomParamSpec params[LOOM_MAX_SPACE][7] = {
  { PARAMS (1), { NULL } },
  { PARAMS (2), DIVISOR, { NULL } },
  { PARAMS (3), DIVISOR, { NULL } },
};

static const LoomSample samples[LOOM_MAX_SPACE][7] = {
  {
      { .params = "kernel_size=2", .inputs = { "f32:2,3,6" } },
      { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:2,2,7" } },
      { .params = "kernel_size=3 stride=2 padding=1 count_include_pad=false", .inputs = { "f32:2,2,7" } },
      { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,2,5" } },
      { .params = "kernel_size=3 stride=2 padding=1 ceil_mode=true", .inputs = { "f32:1,2,6" } },
      { NULL },
  },
  {
      { .params = "kernel_size=2", .inputs = { "f32:2,3,6,4" } },
      { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:2,2,5,6" } },
      { .params = "kernel_size=3 stride=2 padding=1 count_include_pad=false", .inputs = { "f32:2,2,5,6" } },
      { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,2,5,5" } },
      { .params = "kernel_size=3 stride=2 padding=1 ceil_mode=true", .inputs = { "f32:1,2,6,6" } },
      { .params = "kernel_size=2,1 divisor_override=3", .inputs = { "f32:2,3,6,4" } },
      { NULL },
  },
  {
      { .params = "kernel_size=2", .inputs = { "f32:2,2,4,4,2" } },
      { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:1,2,5,4,5" } },
      { .params = "kernel_size=3 stride=2 padding=1 count_include_pad=false", .inputs = { "f32:1,2,5,4,5" } },
      { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,1,5,3,5" } },
      { .params = "kernel_size=3 stride=2 padding=1 ceil_mode=true", .inputs = { "f32:1,1,4,6,4" } },
      { .params = "kernel_size=2,1,2 divisor_override=3", .inputs = { "f32:2,2,4,4,2" } },
      { NULL },
  },
};

/* What the rows have in common. */
#define AVG_POOL(n)                                                                                                    \
  .title = "Average pooling " #n "D", .category = LOOM_CATEGORY_LAYERS, .icon = "loom-avg-pool2d-symbolic",            \
  .reference = "torch.nn.AvgPool" #n "d",                                                                              \
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 9.3",                          \
  .inputs = loom_op_port_space[n - 1], .outputs = loom_op_port_out, .params = params[n - 1],                           \
  .infer = loom_op_infer_pool, .lower = loom_op_lower_avg_pool, .flops = loom_op_pool_flops,                           \
  .samples = samples[n - 1], .summary = loom_op_pool_summary

const LoomOp loom_op_avg_pool1d = {
  .name = "avg_pool1d",
  AVG_POOL (1),
  .doc = "Averages a sequence over sliding windows.",
  .details = "Reduces the length by the stride. Unlike max pooling, every element of a window contributes equally and "
             "gets an equal part of the gradient. A window as long as the sequence averages each channel.",
  .formula = "yᵢ = mean over window(i) of x",
};

const LoomOp loom_op_avg_pool2d = {
  .name = "avg_pool2d",
  AVG_POOL (2),
  .doc = "Averages an image over sliding windows.",
  .details = "Reduces height and width by the stride. Unlike max pooling, every element of a window contributes "
             "equally and gets an equal part of the gradient. A window as large as the image averages each channel.",
  .formula = "yᵢⱼ = mean over window(i, j) of x",
};

const LoomOp loom_op_avg_pool3d = {
  .name = "avg_pool3d",
  AVG_POOL (3),
  .doc = "Averages a volume over sliding windows.",
  .details = "Reduces depth, height and width by the stride. Unlike max pooling, every element of a window contributes "
             "equally and gets an equal part of the gradient. A window as large as the volume averages each channel.",
  .formula = "yᵢⱼₖ = mean over window(i, j, k) of x",
};
