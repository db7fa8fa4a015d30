/* Adaptive max pooling 1D, as torch.nn.AdaptiveMaxPool1d. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_ADAPTIVE_PARAMS (1),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "output_size=2", .inputs = { "f32:B,2,6" }, .range = "distinct" },
  { .params = "output_size=3", .inputs = { "f32:B,2,7" }, .range = "distinct" },
  { .params = "output_size=1", .inputs = { "f32:B,2,5" }, .range = "distinct" },
  { .params = "output_size=5", .inputs = { "f32:B,2,3" }, .range = "distinct" },
  { NULL },
};

const LoomOp loom_op_adaptive_max_pool1d = {
  .name = "adaptive_max_pool1d",
  .title = "Adaptive max pooling 1D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-max-pool2d-symbolic",
  .doc = "Takes the maximum of a sequence over windows so that the output has a given length.",
  .details = "The output length does not depend on the input length, so a linear layer can follow inputs of any "
             "length. If the length is not a multiple of output_size, neighbouring windows overlap by one element. "
             "With output_size 1 it is global max pooling: one number per channel.",
  .formula = "yᵢ = max of x from ⌊i·n/m⌋ to ⌈(i+1)·n/m⌉",
  .reference = "torch.nn.AdaptiveMaxPool1d",
  .inputs = loom_op_port_signals,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_adaptive,
  .lower = loom_op_lower_adaptive_max,
  .flops = loom_op_input_flops,
  .samples = samples,
  .summary = loom_op_adaptive_summary,
};
