/* Average pooling 2D, as torch.nn.AvgPool2d. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "Images [batch, channels, height, width]." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "kernel_size",
    .type = LOOM_PARAM_INTS,
    .length = 2,
    .minimum = 1,
    .maximum = 10000,
    .unit = "pixels",
    .doc = "Height and width of the window." },
  { .name = "stride",
    .type = LOOM_PARAM_INTS,
    .def = "",
    .length = 2,
    .minimum = 1,
    .maximum = 10000,
    .unit = "pixels",
    .doc = "How far the window moves; left out, as far as it is wide." },
  { .name = "padding",
    .type = LOOM_PARAM_INTS,
    .def = "0",
    .length = 2,
    .minimum = 0,
    .maximum = 10000,
    .unit = "pixels",
    .doc = "Zeros around the image; at most half the window." },
  { .name = "count_include_pad",
    .type = LOOM_PARAM_BOOL,
    .def = "true",
    .doc = "Counts padding among the pixels that the sum is divided by.",
    .advanced = TRUE },
  { .name = "divisor_override",
    .type = LOOM_PARAM_INT,
    .def = "",
    .minimum = 1,
    .maximum = 1e9,
    .doc = "Divides every window by this number instead of its size.",
    .advanced = TRUE },
  { .name = "ceil_mode",
    .type = LOOM_PARAM_BOOL,
    .def = "false",
    .doc = "Lets a last window hang over the edge instead of leaving pixels out.",
    .advanced = TRUE },
  { NULL },
};

static LoomPool2dTo
windows_of (const LoomInfer *ctx)
{
  LoomPool2dTo a = { .kernel = { .dilation = { 1, 1 } } };

  loom_infer_ints (ctx, "kernel_size", a.kernel.kernel, 2);
  loom_infer_ints (ctx, loom_infer_is_set (ctx, "stride") ? "stride" : "kernel_size", a.kernel.stride, 2);
  loom_infer_ints (ctx, "padding", a.kernel.pad, 2);
  a.kernel.count_include_pad = loom_infer_bool (ctx, "count_include_pad");
  if (loom_infer_is_set (ctx, "divisor_override"))
    a.kernel.divisor = loom_infer_int (ctx, "divisor_override");
  return a;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomPool2dTo a = windows_of (ctx);
  LoomShape shape = x->shape;

  if (!loom_op_rank (ctx, "avg_pool2d", 0, "input", 4, 4, "images, batch × channels × height × width",
                     "Put a reshape before it.")
      || !loom_op_needs_float (ctx, 0, "input", "avg_pool2d needs floats"))
    return;
  for (int i = 0; i < 2; i++)
    {
      if (a.kernel.pad[i] > a.kernel.kernel[i] / 2)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "padding",
                            "Padding %" G_GINT64_FORMAT " is more than half of the window's %" G_GINT64_FORMAT
                            ", so some windows would see nothing.",
                            (gint64)a.kernel.pad[i], (gint64)a.kernel.kernel[i]);
          return;
        }
      if (!loom_op_windows (x->shape.dim[2 + i], a.kernel.kernel[i], a.kernel.stride[i], a.kernel.pad[i],
                            a.kernel.pad[i], a.kernel.dilation[i], loom_infer_bool (ctx, "ceil_mode"),
                            &shape.dim[2 + i]))
        {
          g_autofree char *text = loom_shape_to_string (&x->shape);

          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "kernel_size",
                            "A window of %" G_GINT64_FORMAT " × %" G_GINT64_FORMAT
                            " does not fit into %s. Use a smaller window or fewer poolings.",
                            (gint64)a.kernel.kernel[0], (gint64)a.kernel.kernel[1], text);
          return;
        }
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomPool2dTo a = windows_of (loom_lower_infer (ctx));
  LoomValue x = loom_lower_input (ctx, 0);
  gint64 dims[LOOM_MAX_RANK];

  loom_op_output_dims (ctx, 0, dims);
  a.size[0] = dims[2];
  a.size[1] = dims[3];
  loom_lower_output (ctx, 0, loom_emit (loom_lower_program (ctx), loom_prim ("avg_pool2d"), &a, 1, &x, NULL));
}

static double
flops (const LoomInfer *ctx)
{
  LoomPool2dTo a = windows_of (ctx);

  return loom_op_output_count (ctx, 0) * (double)(a.kernel.kernel[0] * a.kernel.kernel[1]);
}

static char *
summary (const LoomInfer *ctx)
{
  LoomPool2dTo a = windows_of (ctx);

  return g_strdup_printf ("%" G_GINT64_FORMAT "×%" G_GINT64_FORMAT " · stride %" G_GINT64_FORMAT,
                          (gint64)a.kernel.kernel[0], (gint64)a.kernel.kernel[1], (gint64)a.kernel.stride[0]);
}

static const LoomSample samples[] = {
  { .params = "kernel_size=2", .inputs = { "f32:2,3,6,4" } },
  { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:2,2,5,6" } },
  { .params = "kernel_size=3 stride=2 padding=1 count_include_pad=false", .inputs = { "f32:2,2,5,6" } },
  { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,2,5,5" } },
  { .params = "kernel_size=3 stride=2 padding=1 ceil_mode=true", .inputs = { "f32:1,2,6,6" } },
  { .params = "kernel_size=2,1 divisor_override=3", .inputs = { "f32:1,2,4,3" } },
  { NULL },
};

const LoomOp loom_op_avg_pool2d = {
  .name = "avg_pool2d",
  .title = "Average pooling 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-avg-pool2d-symbolic",
  .doc = "Replaces each window by its mean and so makes images smaller.",
  .details = "A gentler way to shrink than taking the largest: everything in the window has a say, and each pixel gets "
             "an equal share of the gradient. With a window as large as the image it sums a channel up in one number.",
  .formula = "yᵢⱼ = mean over window(i, j) of x",
  .reference = "torch.nn.AvgPool2d",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
  .summary = summary,
};
