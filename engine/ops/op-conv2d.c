/* Convolution over images, as torch.nn.Conv2d with zero padding. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "Images [batch, channels, height, width]." },
  { "weight", "Ties the kernels to another tensor [out, in / groups, height, width].", LOOM_PORT_WEIGHT },
  { "bias", "Ties the bias to another tensor [out_channels].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const char *const padding_modes[] = { "zeros", NULL };

static const LoomParamSpec params[] = {
  { .name = "out_channels",
    .type = LOOM_PARAM_INT,
    .minimum = 1,
    .maximum = 1e6,
    .unit = "channels",
    .doc = "How many kernels there are, and so how many images come out." },
  { .name = "kernel_size",
    .type = LOOM_PARAM_INTS,
    .length = 2,
    .minimum = 1,
    .maximum = 10000,
    .unit = "pixels",
    .doc = "Height and width of the window that each kernel looks through." },
  { .name = "stride",
    .type = LOOM_PARAM_INTS,
    .def = "1",
    .length = 2,
    .minimum = 1,
    .maximum = 10000,
    .unit = "pixels",
    .doc = "How far the window moves; 2 halves the image." },
  { .name = "padding",
    .type = LOOM_PARAM_STRING,
    .def = "0",
    .unit = "pixels",
    .doc = "Zeros around the image: a number, two numbers, “same” (keeps the size) or “valid” (none)." },
  { .name = "dilation",
    .type = LOOM_PARAM_INTS,
    .def = "1",
    .length = 2,
    .minimum = 1,
    .maximum = 10000,
    .doc = "Distance between the pixels that a kernel looks at.",
    .advanced = TRUE },
  { .name = "groups",
    .type = LOOM_PARAM_INT,
    .def = "1",
    .minimum = 1,
    .maximum = 1e6,
    .doc = "Splits the channels into groups that do not see each other.",
    .advanced = TRUE },
  { .name = "bias", .type = LOOM_PARAM_BOOL, .def = "true", .doc = "Adds a learnt number to each output channel." },
  { .name = "padding_mode",
    .type = LOOM_PARAM_ENUM,
    .def = "zeros",
    .choices = padding_modes,
    .doc = "What stands around the image.",
    .advanced = TRUE },
  { NULL },
};

typedef struct
{
  gint64 kernel[2], stride[2], dilation[2], pad[4], groups;
} Window;

/* One or two numbers up to 1,000,000. */
static gboolean
parse_padding (const char *text, gint64 pad[2])
{
  g_auto (GStrv) part = g_strsplit (text, ",", 3);
  guint n = g_strv_length (part);

  if (n != 1 && n != 2)
    return FALSE;
  for (guint i = 0; i < 2; i++)
    {
      if (!g_ascii_string_to_signed (g_strstrip (part[i < n ? i : 0]), 10, 0, 1000000, &pad[i], NULL))
        return FALSE;
    }
  return TRUE;
}

/* FALSE and a word in *why for the parameter at fault. */
static gboolean
window_of (const LoomInfer *ctx, Window *w)
{
  const char *padding = loom_infer_string (ctx, "padding");

  loom_infer_ints (ctx, "kernel_size", w->kernel, 2);
  loom_infer_ints (ctx, "stride", w->stride, 2);
  loom_infer_ints (ctx, "dilation", w->dilation, 2);
  w->groups = loom_infer_int (ctx, "groups");
  if (g_str_equal (padding, "same"))
    {
      /* An odd one is put at the end, as PyTorch does. */
      for (int i = 0; i < 2; i++)
        {
          gint64 total = w->dilation[i] * (w->kernel[i] - 1);

          w->pad[2 * i] = total / 2;
          w->pad[2 * i + 1] = total - total / 2;
        }
      return w->stride[0] == 1 && w->stride[1] == 1;
    }
  else
    {
      gint64 pad[2] = { 0, 0 };

      if (!g_str_equal (padding, "valid") && !parse_padding (padding, pad))
        return FALSE;
      for (int i = 0; i < 4; i++)
        w->pad[i] = pad[i / 2];
      return TRUE;
    }
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 in, out = loom_infer_int (ctx, "out_channels");
  LoomShape shape = x->shape;
  LoomInit init;
  Window w;

  if (!loom_op_images (ctx, "Put a reshape before it.", "multiplies by weights"))
    return;
  if (!window_of (ctx, &w))
    {
      if (g_str_equal (loom_infer_string (ctx, "padding"), "same"))
        loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "padding", "Padding “same” keeps the size, so it needs stride 1.");
      else
        loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "padding",
                                              "Padding “%s” is not a number, two numbers, “same” or “valid”.",
                                              loom_infer_string (ctx, "padding")),
                            "padding", "0", "Use 0.");
      return;
    }
  if (!loom_op_plain_dim (ctx, x->shape.dim[1], "each input channel", &in))
    return;
  if (in % w.groups != 0 || out % w.groups != 0)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "groups",
                        "%" G_GINT64_FORMAT " input and %" G_GINT64_FORMAT
                        " output channels cannot both be split into %" G_GINT64_FORMAT " groups.",
                        in, out, w.groups);
      return;
    }
  shape.dim[1] = loom_dim (out);
  if (!loom_op_windows (ctx, w.kernel, w.stride, w.pad, w.dilation, FALSE, "Use a smaller kernel or more padding.",
                        &shape))
    return;
  init = loom_init_fan_in (in / w.groups * w.kernel[0] * w.kernel[1]);
  loom_infer_weight (
      ctx, &(LoomWeightSpec){ .name = "weight",
                              .shape = loom_shape (4, (gint64[]){ out, in / w.groups, w.kernel[0], w.kernel[1] }),
                              .init = init,
                              .dtype = LOOM_F32 });
  if (loom_infer_bool (ctx, "bias"))
    loom_infer_weight (
        ctx, &(LoomWeightSpec){
                 .name = "bias", .shape = loom_shape (1, (gint64[]){ out }), .init = init, .dtype = LOOM_F32 });
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue in[3] = { loom_lower_input (ctx, 0), loom_lower_weight (ctx, "weight"), loom_lower_weight (ctx, "bias") };
  LoomConv2dTo attrs = { .kernel = { .has_bias = in[2] != 0, .act = LOOM_SCALAR_ID } };
  Window w;

  window_of (loom_lower_infer (ctx), &w);
  for (int i = 0; i < 2; i++)
    {
      attrs.kernel.stride[i] = w.stride[i];
      attrs.kernel.dilation[i] = w.dilation[i];
    }
  for (int i = 0; i < 4; i++)
    attrs.kernel.pad[i] = w.pad[i];
  attrs.kernel.groups = w.groups;
  loom_lower_output (ctx, 0, loom_emit (p, loom_prim ("conv2d"), &attrs, 3, in, NULL));
}

static double
flops (const LoomInfer *ctx)
{
  Window w;

  window_of (ctx, &w);
  return 2.0 * loom_op_output_count (ctx, 0) * (double)(loom_infer_input (ctx, 0)->shape.dim[1].coef / w.groups)
         * (double)(w.kernel[0] * w.kernel[1]);
}

static char *
summary (const LoomInfer *ctx)
{
  Window w;
  GString *s = g_string_new (NULL);

  window_of (ctx, &w);
  g_string_append_printf (s, "%" G_GINT64_FORMAT " channels · %" G_GINT64_FORMAT "×%" G_GINT64_FORMAT,
                          loom_infer_int (ctx, "out_channels"), w.kernel[0], w.kernel[1]);
  if (w.stride[0] != 1 || w.stride[1] != 1)
    g_string_append_printf (s, " · stride %" G_GINT64_FORMAT, w.stride[0]);
  if (!g_str_equal (loom_infer_string (ctx, "padding"), "0"))
    g_string_append_printf (s, " · pad %s", loom_infer_string (ctx, "padding"));
  return g_string_free (s, FALSE);
}

static const LoomSample samples[] = {
  { .params = "out_channels=4 kernel_size=3", .inputs = { "f32:B,3,6,5" } },
  { .params = "out_channels=4 kernel_size=3 padding=1 bias=false", .inputs = { "f32:2,2,5,5" } },
  { .params = "out_channels=2 kernel_size=3,2 stride=2,1 padding=1,0", .inputs = { "f32:2,2,6,5" } },
  { .params = "out_channels=2 kernel_size=4 padding=same", .inputs = { "f32:1,1,5,6" } },
  { .params = "out_channels=4 kernel_size=2 dilation=2 groups=2 padding=valid", .inputs = { "f32:2,4,5,5" } },
  { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:1,1,1,1" } },
  { .params = "out_channels=3 kernel_size=1", .inputs = { "f32:0,2,3,3" } },
  { NULL },
};

const LoomOp loom_op_conv2d = {
  .name = "conv2d",
  .title = "Convolution 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-conv2d-symbolic",
  .doc = "Slides small learnt kernels over an image and reports how well each fits at every place.",
  .details
  = "A kernel is a little pattern; what it finds in one corner it finds in every other, so few weights see the "
    "whole image. Early layers learn edges and spots, later ones what is made of them. With padding (kernel - "
    "1) / 2 the size stays; with stride 2 it halves.",
  .formula = "yₖ = bₖ + Σ꜀ Wₖ꜀ ⋆ x꜀",
  .reference = "torch.nn.Conv2d",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
  .summary = summary,
};
