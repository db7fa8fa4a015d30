/* Adaptive average pooling 1D, as torch.nn.AdaptiveAvgPool1d. */
#include "engine/ops/op-layers.h"

static const LoomParamSpec params[] = {
  LOOM_OP_ADAPTIVE_PARAMS (1),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "output_size=2", .inputs = { "f32:B,2,6" } },
  { .params = "output_size=3", .inputs = { "f32:B,2,7" } },
  { .params = "output_size=1", .inputs = { "f32:B,2,5" } },
  { .params = "output_size=5", .inputs = { "f32:B,2,3" } },
  { NULL },
};

const LoomOp loom_op_adaptive_avg_pool1d = {
  .name = "adaptive_avg_pool1d",
  .title = "Adaptive average pooling 1D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-avg-pool2d-symbolic",
  .doc = "Averages a sequence over windows so that the output has a given length.",
  .details = "The output length does not depend on the input length, so a linear layer can follow inputs of any "
             "length. If the length is not a multiple of output_size, neighbouring windows overlap by one element. "
             "With output_size 1 it is global average pooling: one number per channel.",
  .formula = "yᵢ = mean of x from ⌊i·n/m⌋ to ⌈(i+1)·n/m⌉",
  .reference = "torch.nn.AdaptiveAvgPool1d",
  .inputs = loom_op_port_signals,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_adaptive,
  .lower = loom_op_lower_adaptive_avg,
  .flops = loom_op_input_flops,
  .samples = samples,
  .summary = loom_op_adaptive_summary,
};
