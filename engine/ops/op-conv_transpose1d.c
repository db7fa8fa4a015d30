/* Transposed convolution over sequences, as torch.nn.ConvTranspose1d. */
#include "engine/ops/op-layers.h"

static const LoomPortSpec inputs[] = {
  { "input", "Sequences [batch, channels, length].", .axes = "BCL" },
  { "weight", "Ties the kernels to another tensor [in_channels, out_channels / groups, kernel_size].",
    LOOM_PORT_WEIGHT },
  { "bias", "Ties the bias to another tensor [out_channels].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_CONV_TRANSPOSE_PARAMS (1),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "out_channels=4 kernel_size=3", .inputs = { "f32:B,3,5" } },
  { .params = "out_channels=4 kernel_size=3 stride=2 padding=1 output_padding=1 groups=2", .inputs = { "f32:2,2,4" } },
  { .params = "out_channels=2 kernel_size=2 dilation=3 output_padding=2 bias=false", .inputs = { "f32:2,2,3" } },
  { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:1,1,1" } },
  { .params = "out_channels=3 kernel_size=2", .inputs = { "f32:0,2,3" } },
  { NULL },
};

const LoomOp loom_op_conv_transpose1d = {
  .name = "conv_transpose1d",
  .title = "Transposed convolution 1D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-conv-transpose1d-symbolic",
  .synonyms = "deconvolution deconv transposed upconv",
  .doc = "Applies a 1D transposed convolution to a sequence.",
  .details = "Each input element adds a scaled kernel to the output; with stride 2 the sequence becomes twice as long. "
             "It computes the gradient of conv1d with respect to its input. If kernel_size is not a multiple of stride "
             "the kernels overlap unevenly, which causes checkerboard artefacts. Also called a deconvolution.",
  .formula = "yₖ = bₖ + Σ꜀ Σₚ x꜀[p] · W꜀ₖ shifted by stride · p",
  .reference = "torch.nn.ConvTranspose1d",
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
