/* Convolution over volumes, as torch.nn.Conv3d. */
#include "engine/ops/op-layers.h"

static const LoomPortSpec inputs[] = {
  { "input", "Volumes [batch, channels, depth, height, width].", .axes = "BCDHW" },
  { "weight", "Ties the kernels to another tensor [out_channels, in_channels / groups, depth, height, width].",
    LOOM_PORT_WEIGHT },
  { "bias", "Ties the bias to another tensor [out_channels].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_CONV_PARAMS (3),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "out_channels=2 kernel_size=2", .inputs = { "f32:B,2,3,3,4" } },
  { .params = "out_channels=4 kernel_size=3,1,2 stride=2,1,1 padding=1,0,1 groups=2", .inputs = { "f32:1,2,4,3,3" } },
  { .params = "out_channels=1 kernel_size=2 padding=same dilation=2,1,1 bias=false", .inputs = { "f32:1,1,3,2,3" } },
  { .params = "out_channels=1 kernel_size=3 padding=1 padding_mode=circular", .inputs = { "f32:1,1,2,2,2" } },
  { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:1,1,1,1,1" } },
  { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:0,2,3,2,2" } },
  { NULL },
};

const LoomOp loom_op_conv3d = {
  .name = "conv3d",
  .title = "Convolution 3D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-conv3d-symbolic",
  .synonyms = "convolutional cnn",
  .doc = "Applies a 3D convolution to a volume.",
  .details = "Each output channel is the cross-correlation of the input with a learnable kernel over all input "
             "channels of its group. Used for medical scans, simulations and video, where neighbours along the third "
             "dimension are related too. The cost grows with the product of the three kernel sizes.",
  .formula = "yₖ = bₖ + Σ꜀ Wₖ꜀ ⋆ x꜀",
  .reference = "torch.nn.Conv3d",
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
