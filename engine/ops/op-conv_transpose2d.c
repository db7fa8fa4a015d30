/* Transposed convolution over images, as torch.nn.ConvTranspose2d. */
#include "engine/ops/op-layers.h"

static const LoomPortSpec inputs[] = {
  { "input", "Images [batch, channels, height, width].", .axes = "BCHW" },
  { "weight", "Ties the kernels to another tensor [in_channels, out_channels / groups, height, width].",
    LOOM_PORT_WEIGHT },
  { "bias", "Ties the bias to another tensor [out_channels].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_CONV_TRANSPOSE_PARAMS (2),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "out_channels=4 kernel_size=3", .inputs = { "f32:B,3,4,3" } },
  { .params = "out_channels=2 kernel_size=3,2 stride=2,1 padding=1,0 output_padding=1,0", .inputs = { "f32:2,2,3,4" } },
  { .params = "out_channels=4 kernel_size=2 stride=2 groups=2 bias=false", .inputs = { "f32:1,4,2,3" } },
  { .params = "out_channels=2 kernel_size=3 dilation=2 output_padding=1", .inputs = { "f32:1,2,3,2" } },
  { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:1,1,1,1" } },
  { .params = "out_channels=3 kernel_size=2", .inputs = { "f32:0,2,3,3" } },
  { NULL },
};

const LoomOp loom_op_conv_transpose2d = {
  .name = "conv_transpose2d",
  .title = "Transposed convolution 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-conv-transpose2d-symbolic",
  .synonyms = "deconvolution deconv transposed upconv",
  .doc = "Applies a 2D transposed convolution to an image.",
  .details = "Each input pixel adds a scaled kernel to the output; with stride 2 the image becomes twice as large. It "
             "computes the gradient of conv2d with respect to its input, and is used in decoders and generators. If "
             "kernel_size is not a multiple of stride the kernels overlap unevenly, which causes checkerboard "
             "artefacts. Also called a deconvolution.",
  .formula = "yₖ = bₖ + Σ꜀ Σₚ x꜀[p] · W꜀ₖ shifted by stride · p",
  .reference = "torch.nn.ConvTranspose2d",
  .source
  = "Dumoulin and Visin, “A Guide to Convolution Arithmetic for Deep Learning”, 2016, arXiv:1603.07285, chapter 4",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_conv_transpose,
  .lower = loom_op_lower_conv_transpose,
  .flops = loom_op_conv_transpose_flops,
  .samples = samples,
  .summary = loom_op_conv_summary,
};
