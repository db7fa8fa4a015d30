/* Adaptive max pooling 2D, as torch.nn.AdaptiveMaxPool2d. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_ADAPTIVE_PARAMS (2),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "output_size=2", .inputs = { "f32:B,2,6,4" }, .range = "distinct" },
  { .params = "output_size=3", .inputs = { "f32:B,2,7,5" }, .range = "distinct" },
  { .params = "output_size=1", .inputs = { "f32:B,2,5,3" }, .range = "distinct" },
  { .params = "output_size=5,2", .inputs = { "f32:B,2,3,4" }, .range = "distinct" },
  { NULL },
};

const LoomOp loom_op_adaptive_max_pool2d = {
  .name = "adaptive_max_pool2d",
  .title = "Adaptive max pooling 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-max-pool2d-symbolic",
  .doc = "Takes the maximum of an image over windows so that the output has a given height and width.",
  .details = "The output size does not depend on the input size, so a linear layer can follow images of any size. If a "
             "size is not a multiple of output_size, neighbouring windows overlap by one pixel. With output_size 1 it "
             "is global max pooling: one number per channel.",
  .formula = "yᵢ = max of x from ⌊i·n/m⌋ to ⌈(i+1)·n/m⌉",
  .reference = "torch.nn.AdaptiveMaxPool2d",
  .inputs = loom_op_port_images,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_adaptive,
  .lower = loom_op_lower_adaptive_max,
  .flops = loom_op_input_flops,
  .samples = samples,
  .summary = loom_op_adaptive_summary,
};
