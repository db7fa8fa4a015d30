/* Transposed convolution over volumes, as torch.nn.ConvTranspose3d. */
#include "engine/ops/op-layers.h"

static const LoomPortSpec inputs[] = {
  { "input", "Volumes [batch, channels, depth, height, width].", .axes = "BCDHW" },
  { "weight", "Ties the kernels to another tensor [in_channels, out_channels / groups, depth, height, width].",
    LOOM_PORT_WEIGHT },
  { "bias", "Ties the bias to another tensor [out_channels].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_CONV_TRANSPOSE_PARAMS (3),
  { NULL },
};

static const LoomSample samples[] = {
  { .params = "out_channels=2 kernel_size=2", .inputs = { "f32:B,2,2,2,3" } },
  { .params = "out_channels=2 kernel_size=3,2,1 stride=2,1,2 padding=1,1,0 output_padding=1,0,1 groups=2",
    .inputs = { "f32:1,2,2,3,2" } },
  { .params = "out_channels=3 kernel_size=1 bias=false", .inputs = { "f32:1,1,1,1,1" } },
  { .params = "out_channels=3 kernel_size=2", .inputs = { "f32:0,2,3,2,2" } },
  { NULL },
};

const LoomOp loom_op_conv_transpose3d = {
  .name = "conv_transpose3d",
  .title = "Transposed convolution 3D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-conv-transpose3d-symbolic",
  .synonyms = "deconvolution deconv transposed upconv",
  .doc = "Applies a 3D transposed convolution to a volume.",
  .details = "Each input element adds a scaled kernel to the output; with stride 2 each dimension becomes twice as "
             "long. It computes the gradient of conv3d with respect to its input. If kernel_size is not a multiple of "
             "stride the kernels overlap unevenly, which causes checkerboard artefacts. Also called a deconvolution.",
  .formula = "yₖ = bₖ + Σ꜀ Σₚ x꜀[p] · W꜀ₖ shifted by stride · p",
  .reference = "torch.nn.ConvTranspose3d",
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
