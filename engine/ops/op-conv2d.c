/* Convolution over images, as torch.nn.Conv2d. */
#include "engine/ops/op-layers.h"

static const LoomPortSpec inputs[] = {
  { "input", "Images [batch, channels, height, width].", .axes = "BCHW" },
  { "weight", "Ties the kernels to another tensor [out_channels, in_channels / groups, height, width].",
    LOOM_PORT_WEIGHT },
  { "bias", "Ties the bias to another tensor [out_channels].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_CONV_PARAMS (2),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "out_channels=4 kernel_size=3", .inputs = { "f32:B,3,6,5" } },
  { .params = "out_channels=4 kernel_size=3 padding=1 bias=false", .inputs = { "f32:2,2,5,5" } },
  { .params = "out_channels=2 kernel_size=3,2 stride=2,1 padding=1,0", .inputs = { "f32:2,2,6,5" } },
  { .params = "out_channels=2 kernel_size=4 padding=same", .inputs = { "f32:1,1,5,6" } },
  { .params = "out_channels=4 kernel_size=2 dilation=2 groups=2 padding=valid", .inputs = { "f32:2,4,5,5" } },
  { .params = "out_channels=4 kernel_size=3 groups=4", .inputs = { "f32:2,4,5,4" } },
  { .params = "out_channels=2 kernel_size=3 padding=2,1 padding_mode=reflect", .inputs = { "f32:1,2,4,3" } },
  { .params = "out_channels=2 kernel_size=2 padding=same padding_mode=replicate", .inputs = { "f32:1,2,3,3" } },
  { .params = "out_channels=2 kernel_size=3 padding=1,3 padding_mode=circular", .inputs = { "f32:1,2,2,3" } },
  { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:1,1,1,1" } },
  { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:0,2,3,3" } },
  { NULL },
};

const LoomOp loom_op_conv2d = {
  .name = "conv2d",
  .title = "Convolution 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-conv2d-symbolic",
  .synonyms = "convolutional cnn filter",
  .usual = TRUE,
  .doc = "Applies a 2D convolution to an image.",
  .details = "Each output channel is the cross-correlation of the input with a learnable kernel over all input "
             "channels of its group. The same kernel is applied at every position, so few weights cover the whole "
             "image. For an odd kernel, padding (kernel_size - 1) / 2 keeps the size; stride 2 halves it.",
  .formula = "yₖ = bₖ + Σ꜀ Wₖ꜀ ⋆ x꜀",
  .reference = "torch.nn.Conv2d",
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
