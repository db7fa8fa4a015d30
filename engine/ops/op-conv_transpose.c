/* Transposed convolution over sequences, images and volumes, as torch.nn.ConvTranspose1d, ConvTranspose2d and
 * ConvTranspose3d.
 *
 * A row for each number of dimensions. */
#include "engine/ops/op-layers.h"

#define INPUTS(space, sizes)                                                                                           \
  {                                                                                                                    \
    space,                                                                                                             \
        { "weight", "Ties the kernels to another tensor [in_channels, out_channels / groups, " sizes "].",             \
          LOOM_PORT_WEIGHT },                                                                                          \
        { "bias", "Ties the bias to another tensor [out_channels].", LOOM_PORT_WEIGHT }, { NULL },                     \
  }
static const LoomPortSpec inputs[LOOM_MAX_SPACE][4] = {
  INPUTS (LOOM_OP_SPACE_1, "kernel_size"),
  INPUTS (LOOM_OP_SPACE_2, "height, width"),
  INPUTS (LOOM_OP_SPACE_3, "depth, height, width"),
};

#define PARAMS(n)                                                                                                      \
  LOOM_OP_CONV_COMMON (n),                                                                                             \
      { LOOM_PARAM ("stride", INTS, "1"), .length = n, LOOM_RANGE (1, 10000), .unit = "pixels",                        \
        .doc = "The distance between kernels in the output; 2 doubles the size." },                                    \
      { LOOM_PARAM ("padding", INTS, "0"), .length = n, LOOM_RANGE (0, 1000000), .unit = "pixels",                     \
        .doc = "The number of elements removed at each edge of the output: the padding of the corresponding "          \
               "convolution." },                                                                                       \
      { LOOM_PARAM ("output_padding", INTS, "0"), .length = n, LOOM_RANGE (0, 10000), .unit = "pixels",                \
        .doc = "Added to the size at the end of the output, because several input sizes of a strided convolution "     \
               "give the same output size." },                                                                         \
      LOOM_OP_CONV_DILATION (n), LOOM_OP_CONV_GROUPS, LOOM_OP_CONV_ALGORITHM

static const LoomParamSpec params[LOOM_MAX_SPACE][10] = {
  { PARAMS (1), { NULL } },
  { PARAMS (2), { NULL } },
  { PARAMS (3), { NULL } },
};

static const LoomSample samples[LOOM_MAX_SPACE][7] = {
  {
      { .params = "out_channels=4 kernel_size=3", .inputs = { "f32:B,3,5" } },
      { .params = "out_channels=4 kernel_size=3 stride=2 padding=1 output_padding=1 groups=2",
        .inputs = { "f32:2,2,4" } },
      { .params = "out_channels=2 kernel_size=2 dilation=3 output_padding=2 bias=false", .inputs = { "f32:2,2,3" } },
      { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:1,1,1" } },
      { .params = "out_channels=3 kernel_size=2", .inputs = { "f32:0,2,3" } },
      { NULL },
  },
  {
      { .params = "out_channels=4 kernel_size=3", .inputs = { "f32:B,3,4,3" } },
      { .params = "out_channels=2 kernel_size=3,2 stride=2,1 padding=1,0 output_padding=1,0",
        .inputs = { "f32:2,2,3,4" } },
      { .params = "out_channels=4 kernel_size=2 stride=2 groups=2 bias=false", .inputs = { "f32:1,4,2,3" } },
      { .params = "out_channels=2 kernel_size=3 dilation=2 output_padding=1", .inputs = { "f32:1,2,3,2" } },
      { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:1,1,1,1" } },
      { .params = "out_channels=3 kernel_size=2", .inputs = { "f32:0,2,3,3" } },
      { NULL },
  },
  {
      { .params = "out_channels=2 kernel_size=2", .inputs = { "f32:B,2,2,2,3" } },
      { .params = "out_channels=2 kernel_size=3,2,1 stride=2,1,2 padding=1,1,0 output_padding=1,0,1 groups=2",
        .inputs = { "f32:1,2,2,3,2" } },
      { .params = "out_channels=3 kernel_size=1 bias=false", .inputs = { "f32:1,1,1,1,1" } },
      { .params = "out_channels=3 kernel_size=2", .inputs = { "f32:0,2,3,2,2" } },
      { NULL },
  },
};

/* What the rows have in common. */
#define CONV_TRANSPOSE(n)                                                                                              \
  .title = "Transposed convolution " #n "D", .category = LOOM_CATEGORY_LAYERS,                                         \
  .icon = "loom-conv-transpose" #n "d-symbolic", .synonyms = "deconvolution deconv transposed upconv",                 \
  .formula = "yₖ = bₖ + Σ꜀ Σₚ x꜀[p] · W꜀ₖ shifted by stride · p", .reference = "torch.nn.ConvTranspose" #n "d",        \
  .source = "Dumoulin and Visin, “A Guide to Convolution Arithmetic for Deep Learning”, 2016, arXiv:1603.07285, "  \
            "chapter 4",                                                                                               \
  .inputs = inputs[n - 1], .outputs = loom_op_port_out, .params = params[n - 1],                                       \
  .infer = loom_op_infer_conv_transpose, .lower = loom_op_lower_conv_transpose, .flops = loom_op_conv_transpose_flops, \
  .samples = samples[n - 1], .summary = loom_op_conv_summary

const LoomOp loom_op_conv_transpose1d = {
  .name = "conv_transpose1d",
  CONV_TRANSPOSE (1),
  .doc = "Applies a 1D transposed convolution to a sequence.",
  .details = "Each input element adds a scaled kernel to the output; with stride 2 the sequence becomes twice as long. "
             "It computes the gradient of conv1d with respect to its input. If kernel_size is not a multiple of stride "
             "the kernels overlap unevenly, which causes checkerboard artefacts. Also called a deconvolution.",
};

const LoomOp loom_op_conv_transpose2d = {
  .name = "conv_transpose2d",
  CONV_TRANSPOSE (2),
  .doc = "Applies a 2D transposed convolution to an image.",
  .details = "Each input pixel adds a scaled kernel to the output; with stride 2 the image becomes twice as large. It "
             "computes the gradient of conv2d with respect to its input, and is used in decoders and generators. If "
             "kernel_size is not a multiple of stride the kernels overlap unevenly, which causes checkerboard "
             "artefacts. Also called a deconvolution.",
};

const LoomOp loom_op_conv_transpose3d = {
  .name = "conv_transpose3d",
  CONV_TRANSPOSE (3),
  .doc = "Applies a 3D transposed convolution to a volume.",
  .details = "Each input element adds a scaled kernel to the output; with stride 2 each dimension becomes twice as "
             "long. It computes the gradient of conv3d with respect to its input. If kernel_size is not a multiple of "
             "stride the kernels overlap unevenly, which causes checkerboard artefacts. Also called a deconvolution.",
};
