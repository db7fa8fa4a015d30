/* Max pooling of sequences, images and volumes to a given size, as torch.nn.AdaptiveMaxPool1d,
 * AdaptiveMaxPool2d and AdaptiveMaxPool3d.
 *
 * A row for each number of dimensions. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[][2] = {
  { LOOM_OP_ADAPTIVE_PARAMS (1), { NULL } },
  { LOOM_OP_ADAPTIVE_PARAMS (2), { NULL } },
  { LOOM_OP_ADAPTIVE_PARAMS (3), { NULL } },
};

static const LoomSample samples[][5] = {
  {
      { .params = "output_size=2", .inputs = { "f32:B,2,6" }, .range = "distinct" },
      { .params = "output_size=3", .inputs = { "f32:B,2,7" }, .range = "distinct" },
      { .params = "output_size=1", .inputs = { "f32:B,2,5" }, .range = "distinct" },
      { .params = "output_size=5", .inputs = { "f32:B,2,3" }, .range = "distinct" },
      { NULL },
  },
  {
      { .params = "output_size=2", .inputs = { "f32:B,2,6,4" }, .range = "distinct" },
      { .params = "output_size=3", .inputs = { "f32:B,2,7,5" }, .range = "distinct" },
      { .params = "output_size=1", .inputs = { "f32:B,2,5,3" }, .range = "distinct" },
      { .params = "output_size=5,2", .inputs = { "f32:B,2,3,4" }, .range = "distinct" },
      { NULL },
  },
  {
      { .params = "output_size=2", .inputs = { "f32:B,2,4,2,6" }, .range = "distinct" },
      { .params = "output_size=3", .inputs = { "f32:1,2,4,5,3" }, .range = "distinct" },
      { .params = "output_size=1", .inputs = { "f32:2,1,2,3,2" }, .range = "distinct" },
      { .params = "output_size=1,4,2", .inputs = { "f32:1,1,3,2,5" }, .range = "distinct" },
      { NULL },
  },
};

/* What the rows have in common. */
#define ADAPTIVE_MAX_POOL(n)                                                                                           \
  .title = "Adaptive max pooling " #n "D", .category = LOOM_CATEGORY_LAYERS, .icon = "loom-max-pool2d-symbolic",       \
  .formula = "yᵢ = max of x from ⌊i·n/m⌋ to ⌈(i+1)·n/m⌉", .reference = "torch.nn.AdaptiveMaxPool" #n "d",              \
  .inputs = loom_op_port_space[n - 1], .outputs = loom_op_port_out, .params = params[n - 1],                           \
  .infer = loom_op_infer_adaptive, .lower = loom_op_lower_adaptive_max, .flops = loom_op_input_flops,                  \
  .samples = samples[n - 1], .summary = loom_op_adaptive_summary

const LoomOp loom_op_adaptive_max_pool1d = {
  .name = "adaptive_max_pool1d",
  ADAPTIVE_MAX_POOL (1),
  .doc = "Takes the maximum of a sequence over windows so that the output has a given length.",
  .details = "The output length does not depend on the input length, so a linear layer can follow inputs of any "
             "length. If the length is not a multiple of output_size, neighbouring windows overlap by one element. "
             "With output_size 1 it is global max pooling: one number per channel.",
};

const LoomOp loom_op_adaptive_max_pool2d = {
  .name = "adaptive_max_pool2d",
  ADAPTIVE_MAX_POOL (2),
  .doc = "Takes the maximum of an image over windows so that the output has a given height and width.",
  .details = "The output size does not depend on the input size, so a linear layer can follow images of any size. If a "
             "size is not a multiple of output_size, neighbouring windows overlap by one pixel. With output_size 1 it "
             "is global max pooling: one number per channel.",
};

const LoomOp loom_op_adaptive_max_pool3d = {
  .name = "adaptive_max_pool3d",
  ADAPTIVE_MAX_POOL (3),
  .doc = "Takes the maximum of a volume over windows so that the output has a given depth, height and width.",
  .details = "The output size does not depend on the input size. If a size is not a multiple of output_size, "
             "neighbouring windows overlap by one voxel. With output_size 1 it is global max pooling: one number per "
             "channel.",
};
