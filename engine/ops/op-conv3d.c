/* Convolution over volumes, as torch.nn.Conv3d. */
#include "engine/ops/op-layers.h"

static const LoomPortSpec inputs[] = {
  { "input", "Volumes [batch, channels, depth, height, width].", .axes = "BCDHW" },
  { "weight", "Ties the kernels to another tensor [out, in / groups, depth, height, width].", LOOM_PORT_WEIGHT },
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
  .doc = "Slides small learnt kernels through a volume and reports how well each fits at every place.",
  .details = "Scans, simulations and films have a third dimension in which neighbours belong together, too. A "
             "kernel is a little block there. It is dear: each dimension multiplies the work by the kernel’s "
             "size.",
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
