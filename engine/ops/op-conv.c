/* Convolution over sequences, images and volumes, as torch.nn.Conv1d, Conv2d and Conv3d.
 *
 * A row for each number of dimensions. */
#include "engine/ops/op-layers.h"

#define INPUTS(space, sizes)                                                                                           \
  {                                                                                                                    \
    space,                                                                                                             \
        { "weight", "Ties the kernels to another tensor [out_channels, in_channels / groups, " sizes "].",             \
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
        .doc = "The distance between windows; 2 halves the size." },                                                   \
      { LOOM_PARAM ("padding", STRING, "0"), .unit = "pixels",                                                         \
        .doc                                                                                                           \
        = "The padding of both sides: a number, one for each dimension, “same” (keeps the size) or “valid” (none)." }, \
      LOOM_OP_CONV_DILATION (n), LOOM_OP_CONV_GROUPS,                                                                  \
      { LOOM_PARAM ("padding_mode", ENUM, "zeros"), .choices = loom_op_padding_modes,                                  \
        .doc = "The padding mode: zeros, a reflection without the edge, the edge repeated, or the opposite end "       \
               "(circular).",                                                                                          \
        .advanced = TRUE },                                                                                            \
      LOOM_OP_CONV_ALGORITHM

static const LoomParamSpec params[LOOM_MAX_SPACE][10] = {
  { PARAMS (1), { NULL } },
  { PARAMS (2), { NULL } },
  { PARAMS (3), { NULL } },
};

static const LoomSample samples[LOOM_MAX_SPACE][12] = {
  {
      { .params = "out_channels=4 kernel_size=3", .inputs = { "f32:B,3,6" } },
      { .params = "out_channels=4 kernel_size=3 padding=1 stride=2 bias=false", .inputs = { "f32:2,2,7" } },
      { .params = "out_channels=4 kernel_size=2 dilation=2 groups=2 padding=same", .inputs = { "f32:2,4,5" } },
      { .params = "out_channels=2 kernel_size=3 padding=2 padding_mode=reflect", .inputs = { "f32:2,2,4" } },
      { .params = "out_channels=2 kernel_size=4 padding=same padding_mode=replicate", .inputs = { "f32:2,2,3" } },
      { .params = "out_channels=2 kernel_size=3 padding=2 padding_mode=circular", .inputs = { "f32:2,1,4" } },
      { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:1,1,1" } },
      { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:0,2,3" } },
      { NULL },
  },
  {
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
  },
  {
      { .params = "out_channels=2 kernel_size=2", .inputs = { "f32:B,2,3,3,4" } },
      { .params = "out_channels=4 kernel_size=3,1,2 stride=2,1,1 padding=1,0,1 groups=2",
        .inputs = { "f32:1,2,4,3,3" } },
      { .params = "out_channels=1 kernel_size=2 padding=same dilation=2,1,1 bias=false",
        .inputs = { "f32:1,1,3,2,3" } },
      { .params = "out_channels=1 kernel_size=3 padding=1 padding_mode=circular", .inputs = { "f32:1,1,2,2,2" } },
      { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:1,1,1,1,1" } },
      { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:0,2,3,2,2" } },
      { NULL },
  },
};

/* The stride by which a kernel of size 1 makes these sizes of those; 1 if there is none. */
static gint64
stride_between (const LoomShape *from, const LoomShape *to)
{
  gint64 stride = 1;

  for (int i = 2; i < from->rank; i++)
    {
      const LoomDim *a = &from->dim[i], *b = &to->dim[i];

      if (!loom_dim_is_known (*a) || !loom_dim_is_known (*b) || b->coef < 1 || a->coef < b->coef)
        return 1;
      const gint64 needed = b->coef > 1 ? (a->coef + b->coef - 1) / b->coef : 1;
      stride = i == 2 ? needed : stride == needed ? stride : 1;
    }
  return stride;
}

/* A projection of each position to the channels of the tensor that the result is combined with, as in the shortcuts of
 * residual networks (He et al., “Deep Residual Learning for Image Recognition”, 2016, section 3.3, option B). */
static char **
adapt (const LoomType *from, const LoomType *const *siblings, guint n_siblings)
{
  g_autoptr (GStrvBuilder) list = g_strv_builder_new ();

  for (guint i = 0; i < n_siblings && loom_dtype_is_float (from->dtype); i++)
    {
      const LoomShape *shape = &siblings[i]->shape;

      if (from->shape.rank < 3 || shape->rank != from->shape.rank || !loom_dim_is_known (from->shape.dim[1])
          || !loom_dim_is_known (shape->dim[1]) || shape->dim[1].coef == from->shape.dim[1].coef)
        continue;
      const gint64 stride = stride_between (&from->shape, shape);
      g_autofree char *attributes
          = g_strdup_printf ("out_channels=%" G_GINT64_FORMAT " kernel_size=1", shape->dim[1].coef);
      g_autofree char *stepped = g_strdup_printf ("%s stride=%" G_GINT64_FORMAT, attributes, stride);

      g_strv_builder_add (list, stride > 1 ? stepped : attributes);
    }
  return g_strv_builder_end (list);
}

/* What the rows have in common. */
#define CONV(n)                                                                                                          \
  .title = "Convolution " #n "D", .category = LOOM_CATEGORY_LAYERS, .icon = "loom-conv" #n "d-symbolic",                 \
  .formula = "yₖ = bₖ + Σ꜀ Wₖ꜀ ⋆ x꜀", .reference = "torch.nn.Conv" #n "d",                                               \
  .source                                                                                                                \
      = "LeCun, Bottou, Bengio and Haffner, “Gradient-Based Learning Applied to Document Recognition”, Proceedings " \
        "of the IEEE 86, 1998",                                                                                          \
  .inputs = inputs[n - 1], .outputs = loom_op_port_out, .params = params[n - 1], .infer = loom_op_infer_conv,            \
  .adapt = adapt, .lower = loom_op_lower_conv, .flops = loom_op_conv_flops, .samples = samples[n - 1],                   \
  .summary = loom_op_conv_summary

const LoomOp loom_op_conv1d = {
  .name = "conv1d",
  CONV (1),
  .synonyms = "convolutional cnn",
  .doc = "Applies a 1D convolution to a sequence.",
  .details = "Each output channel is the cross-correlation of the input with a learnable kernel over all input "
             "channels of its group. The same kernel is applied at every position, so a pattern is found wherever it "
             "occurs. Dilation enlarges the receptive field without more weights.",
};

const LoomOp loom_op_conv2d = {
  .name = "conv2d",
  CONV (2),
  .synonyms = "convolutional cnn filter",
  .usual = TRUE,
  .doc = "Applies a 2D convolution to an image.",
  .details = "Each output channel is the cross-correlation of the input with a learnable kernel over all input "
             "channels of its group. The same kernel is applied at every position, so few weights cover the whole "
             "image. For an odd kernel, padding (kernel_size - 1) / 2 keeps the size; stride 2 halves it.",
};

const LoomOp loom_op_conv3d = {
  .name = "conv3d",
  CONV (3),
  .synonyms = "convolutional cnn",
  .doc = "Applies a 3D convolution to a volume.",
  .details = "Each output channel is the cross-correlation of the input with a learnable kernel over all input "
             "channels of its group. Used for medical scans, simulations and video, where neighbours along the third "
             "dimension are related too. The cost grows with the product of the three kernel sizes.",
};
