/* Convolution over sequences, as torch.nn.Conv1d. */
#include "engine/ops/op-layers.h"

static const LoomPortSpec inputs[] = {
  { "input", "Sequences [batch, channels, length].", .axes = "BCL" },
  { "weight", "Ties the kernels to another tensor [out_channels, in_channels / groups, kernel_size].",
    LOOM_PORT_WEIGHT },
  { "bias", "Ties the bias to another tensor [out_channels].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_CONV_PARAMS (1),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "out_channels=4 kernel_size=3", .inputs = { "f32:B,3,6" } },
  { .params = "out_channels=4 kernel_size=3 padding=1 stride=2 bias=false", .inputs = { "f32:2,2,7" } },
  { .params = "out_channels=4 kernel_size=2 dilation=2 groups=2 padding=same", .inputs = { "f32:2,4,5" } },
  { .params = "out_channels=2 kernel_size=3 padding=2 padding_mode=reflect", .inputs = { "f32:2,2,4" } },
  { .params = "out_channels=2 kernel_size=4 padding=same padding_mode=replicate", .inputs = { "f32:2,2,3" } },
  { .params = "out_channels=2 kernel_size=3 padding=2 padding_mode=circular", .inputs = { "f32:2,1,4" } },
  { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:1,1,1" } },
  { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:0,2,3" } },
  { NULL },
};

const LoomOp loom_op_conv1d = {
  .name = "conv1d",
  .title = "Convolution 1D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-conv1d-symbolic",
  .synonyms = "convolutional cnn",
  .doc = "Applies a 1D convolution to a sequence.",
  .details = "Each output channel is the cross-correlation of the input with a learnable kernel over all input "
             "channels of its group. The same kernel is applied at every position, so a pattern is found wherever it "
             "occurs. Dilation enlarges the receptive field without more weights.",
  .formula = "yₖ = bₖ + Σ꜀ Wₖ꜀ ⋆ x꜀",
  .reference = "torch.nn.Conv1d",
  .source = "LeCun, Bottou, Bengio and Haffner, “Gradient-Based Learning Applied to Document Recognition”, Proceedings "
            "of the IEEE 86, 1998",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_conv,
  .lower = loom_op_lower_conv,
  .flops = loom_op_conv_flops,
  .samples = samples,
  .summary = loom_op_conv_summary,
};
