/* Lowers convolution and transposed convolution over one, two and three dimensions to the primitives over images.
 *
 * A sequence is an image of one row. For a volume, the depth taps of the kernel become channels, so that one
 * convolution of N·D images with C·taps channels computes all taps. The channels are ordered like the weights of
 * PyTorch (all taps of a channel together), groups included, so the weights only need a reshape. */
#include "engine/ops/op-layers.h"

#include <inttypes.h>

const char *const loom_op_padding_modes[] = { "zeros", "reflect", "replicate", "circular", NULL };
const char *const loom_op_conv_algorithms[] = { "auto", "direct", NULL };

typedef struct
{
  LoomWindows w;
  gint64 groups;
  gint64 extra[LOOM_MAX_SPACE]; /* output_padding of a transposed convolution */
} Conv;

/* ---- parameters ------------------------------------------------------- */

static Conv
conv_of (const LoomInfer *ctx)
{
  Conv c = { .w.n = loom_op_space_of (ctx, "kernel_size"), .groups = loom_infer_int (ctx, "groups") };

  loom_infer_ints (ctx, "kernel_size", c.w.kernel, LOOM_MAX_SPACE);
  loom_infer_ints (ctx, "stride", c.w.stride, LOOM_MAX_SPACE);
  loom_infer_ints (ctx, "dilation", c.w.dilation, LOOM_MAX_SPACE);
  return c;
}

/* One number up to 1,000,000, or one for each dimension. */
static gboolean
parse_padding (const char *text, Conv *c)
{
  g_auto (GStrv) part = g_strsplit (text, ",", LOOM_MAX_SPACE + 1);
  int n = (int)g_strv_length (part);

  if (n != 1 && n != c->w.n)
    return FALSE;
  for (int i = 0; i < c->w.n; i++)
    {
      gint64 value;

      /* Stripping twice is harmless if one number is used for all dimensions. */
      if (!g_ascii_string_to_signed (g_strstrip (part[i < n ? i : 0]), 10, 0, 1000000, &value, NULL))
        return FALSE;
      c->w.front[i] = c->w.back[i] = value;
    }
  return TRUE;
}

/* FALSE if the text is not a padding, or is “same” where the size cannot be kept. */
static gboolean
plain_of (const LoomInfer *ctx, Conv *c)
{
  const char *padding = loom_infer_string (ctx, "padding");
  gboolean fits = TRUE;

  *c = conv_of (ctx);
  if (g_str_equal (padding, "valid"))
    return TRUE;
  if (!g_str_equal (padding, "same"))
    return parse_padding (padding, c);
  /* If the total is odd, the additional element is at the end, as in PyTorch. */
  for (int i = 0; i < c->w.n; i++)
    {
      gint64 total = c->w.dilation[i] * (c->w.kernel[i] - 1);

      c->w.front[i] = total / 2;
      c->w.back[i] = total - total / 2;
      fits = fits && c->w.stride[i] == 1;
    }
  return fits;
}

static Conv
transposed_of (const LoomInfer *ctx)
{
  Conv c = conv_of (ctx);

  loom_infer_ints (ctx, "padding", c.w.front, LOOM_MAX_SPACE);
  loom_infer_ints (ctx, "output_padding", c.extra, LOOM_MAX_SPACE);
  return c;
}

/* ---- inference -------------------------------------------------------- */

static void
complain_padding (LoomInfer *ctx, int n)
{
  static const char *const each[] = { "", "two numbers, ", "three numbers, " };

  if (g_str_equal (loom_infer_string (ctx, "padding"), "same"))
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "padding", "Padding “same” keeps the size, so it needs stride 1.");
  else
    loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "padding",
                                          "Padding “%s” is not a number, %s“same” or “valid”.",
                                          loom_infer_string (ctx, "padding"), each[n - 1]),
                        "padding", "0", "Use 0.");
}

/* Declares weight [first, second / groups, kernel…] and the bias. PyTorch computes fan_in from the second size of
 * the weights, in a transposed convolution too. */
static gboolean
declare_weights (LoomInfer *ctx, const Conv *c, gint64 in, gint64 out, gboolean transposed)
{
  gint64 size[LOOM_MAX_SPACE + 2] = { transposed ? in : out, (transposed ? out : in) / c->groups }, fan_in = size[1];
  LoomInit init;

  if (in % c->groups != 0 || out % c->groups != 0)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "groups",
                        "%" PRId64 " input and %" PRId64 " output channels cannot be divided into %" PRId64 " groups.",
                        in, out, c->groups);
      return FALSE;
    }
  for (int i = 0; i < c->w.n; i++)
    {
      size[2 + i] = c->w.kernel[i];
      fan_in *= c->w.kernel[i];
    }
  init = loom_init_fan_in (fan_in);
  loom_infer_weight (
      ctx,
      &(LoomWeightSpec){ .name = "weight", .shape = loom_shape (c->w.n + 2, size), .init = init, .dtype = LOOM_F32 });
  if (loom_infer_bool (ctx, "bias"))
    loom_infer_weight (
        ctx, &(LoomWeightSpec){
                 .name = "bias", .shape = loom_shape (1, (gint64[]){ out }), .init = init, .dtype = LOOM_F32 });
  return TRUE;
}

/* Reflecting and wrapping padding are limited by the size of the input. */
static gboolean
check_padding_mode (LoomInfer *ctx, const Conv *c)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  const char *mode = loom_infer_string (ctx, "padding_mode");

  for (int i = 0; i < c->w.n; i++)
    {
      g_autofree char *text = NULL;

      if (loom_op_pad_fits (x->shape.dim[2 + i], c->w.front[i], c->w.back[i], mode))
        continue;
      text = loom_shape_to_string (&x->shape);
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "padding",
                        "Padding “%s” by %" PRId64 " needs a larger size than %s. Use less padding, or zeros.", mode,
                        MAX (c->w.front[i], c->w.back[i]), text);
      return FALSE;
    }
  return TRUE;
}

void
loom_op_infer_conv (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int n = loom_op_space_of (ctx, "kernel_size");
  gint64 in, out = loom_infer_int (ctx, "out_channels");
  LoomShape shape = x->shape;
  Conv c;

  if (!loom_op_space (ctx, n, "Put a reshape before it.", "multiplies by weights")
      || !loom_op_needs_weight_type (ctx, 0, "input"))
    return;
  if (!plain_of (ctx, &c))
    {
      complain_padding (ctx, n);
      return;
    }
  if (!loom_op_plain_dim (ctx, x->shape.dim[1], "each input channel", &in)
      || !loom_op_windows (ctx, &c.w, FALSE, "Use a smaller kernel or more padding.", &shape)
      || !check_padding_mode (ctx, &c) || !declare_weights (ctx, &c, in, out, FALSE))
    return;
  shape.dim[1] = loom_dim (out);
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* (n - 1)·stride - 2·padding + dilation·(kernel - 1) + output_padding + 1. */
static LoomDim
grown (const Conv *c, LoomDim n, int i)
{
  gint64 reach = c->w.dilation[i] * (c->w.kernel[i] - 1) + c->extra[i] + 1 - 2 * c->w.front[i];

  if (loom_dim_is_known (n))
    return loom_dim (MAX ((n.coef - 1) * c->w.stride[i] + reach, 0));
  return reach == c->w.stride[i] ? loom_dim_mul (n, loom_dim (reach)) : loom_dim_unknown ();
}

void
loom_op_infer_conv_transpose (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  Conv c = transposed_of (ctx);
  gint64 in, out = loom_infer_int (ctx, "out_channels");
  LoomShape shape = x->shape;

  if (!loom_op_space (ctx, c.w.n, "Put a reshape before it.", "multiplies by weights")
      || !loom_op_needs_weight_type (ctx, 0, "input")
      || !loom_op_plain_dim (ctx, x->shape.dim[1], "each input channel", &in))
    return;
  for (int i = 0; i < c.w.n; i++)
    {
      LoomDim *d = &shape.dim[2 + i];

      if (c.extra[i] >= MAX (c.w.stride[i], c.w.dilation[i]))
        {
          loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "output_padding",
                                                "An output_padding of %" PRId64
                                                " must be less than the stride or the dilation.",
                                                c.extra[i]),
                              "output_padding", "0", "Use 0.");
          return;
        }
      *d = grown (&c, *d, i);
      if (loom_dim_is_known (*d) && d->coef < 1)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "padding",
                            "Nothing remains after removing %" PRId64
                            " at each edge. Use less padding or a larger kernel.",
                            c.w.front[i]);
          return;
        }
    }
  if (!declare_weights (ctx, &c, in, out, TRUE))
    return;
  shape.dim[1] = loom_dim (out);
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* ---- lowering --------------------------------------------------------- */

/* The windows of the primitive are over the last two dimensions; a sequence is given a height of 1. */
static LoomConv2dTo
attrs_of (const LoomLower *ctx, const Conv *c)
{
  LoomConv2dTo a = { .kernel = { .stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = c->groups } };

  if (loom_lower_is_direct (ctx) || g_str_equal (loom_infer_string (loom_lower_infer (ctx), "algorithm"), "direct"))
    a.kernel.algorithm = LOOM_CONV_DIRECT;
  for (int i = MAX (c->w.n - 2, 0); i < c->w.n; i++)
    {
      int k = 2 - c->w.n + i;

      a.kernel.stride[k] = c->w.stride[i];
      a.kernel.dilation[k] = c->w.dilation[i];
      a.kernel.pad[2 * k] = c->w.front[i];
      a.kernel.pad[2 * k + 1] = c->w.back[i];
    }
  return a;
}

/* [K,C,kernel…] as kernels of images: [K,C,1,k] of a sequence, [K,C·kd,kh,kw] of a volume. */
static LoomValue
flat_weights (LoomProgram *p, LoomValue w)
{
  LoomTensorDesc d = loom_value_info (p, w)->desc;

  if (d.rank != 5)
    return loom_op_as_images (p, w);
  return loom_reshape (p, w, 4, (gint64[]){ d.dim[0], d.dim[1] * d.dim[2], d.dim[3], d.dim[4] });
}

static LoomValue
swap_channels_and_depth (LoomProgram *p, LoomValue v)
{
  return loom_permute (p, v, (int[]){ 0, 2, 1, 3, 4 });
}

/* v [N,D,C,H,W], a slice along D. */
static LoomValue
slice_depth (LoomProgram *p, LoomValue v, gint64 at, gint64 step, gint64 n)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc;

  d.dim[1] = n;
  return loom_slice (p, v, (gint64[]){ 0, at, 0, 0, 0 }, (gint64[]){ 1, step, 1, 1, 1 }, d.dim);
}

/* x [N,C,D,H,W] → [N·windows, C·kd, H, W]: each channel is followed by the taps of its window. */
static LoomValue
taps_as_channels (LoomProgram *p, const LoomWindows *w, LoomValue x, gint64 windows)
{
  gint64 taps = w->kernel[0];
  g_autofree LoomValue *part = g_new (LoomValue, taps);
  LoomValue pile = loom_op_pad_value (p, swap_channels_and_depth (p, x), 1, w->front[0], w->back[0], "zeros", 0);
  LoomTensorDesc d = loom_value_info (p, pile)->desc;

  for (gint64 t = 0; t < taps; t++)
    part[t] = loom_reshape (p, slice_depth (p, pile, t * w->dilation[0], w->stride[0], windows), 6,
                            (gint64[]){ d.dim[0], windows, d.dim[2], 1, d.dim[3], d.dim[4] });
  return loom_reshape (p, loom_concat (p, (guint)taps, part, 3), 4,
                       (gint64[]){ d.dim[0] * windows, d.dim[2] * taps, d.dim[3], d.dim[4] });
}

/* The inverse, y [N·D, C·kd, H, W] → [N,C,size,H,W]: each tap is added at its position in the input. */
static LoomValue
channels_as_taps (LoomProgram *p, const LoomWindows *w, LoomValue y, gint64 depth, gint64 size)
{
  LoomTensorDesc d = loom_value_info (p, y)->desc;
  gint64 taps = w->kernel[0], n = d.dim[0] / MAX (depth, 1), c = d.dim[1] / taps;
  gint64 six[6] = { n, depth, c, taps, d.dim[2], d.dim[3] }, one[6] = { n, depth, c, 1, d.dim[2], d.dim[3] };
  gint64 five[5] = { n, depth, c, d.dim[2], d.dim[3] };
  gint64 full[5] = { n, size + 2 * w->front[0], c, d.dim[2], d.dim[3] };
  LoomValue sum = 0;

  y = loom_reshape (p, y, 6, six);
  for (gint64 t = 0; t < taps; t++)
    {
      LoomValue tap = loom_reshape (p, loom_slice (p, y, (gint64[]){ 0, 0, 0, t, 0, 0 }, NULL, one), 5, five);

      tap = loom_pad (p, tap, (gint64[]){ 0, t * w->dilation[0], 0, 0, 0 }, (gint64[]){ 1, w->stride[0], 1, 1, 1 },
                      full, 0);
      sum = sum == 0 ? tap : loom_binary (p, LOOM_SCALAR_ADD, sum, tap);
    }
  return swap_channels_and_depth (p, slice_depth (p, sum, w->front[0], 1, size));
}

void
loom_op_lower_conv (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  const char *mode = loom_infer_string (infer, "padding_mode");
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), bias = loom_lower_weight (ctx, "bias"), in[3], y;
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomConv2dTo attrs;
  Conv c;

  plain_of (infer, &c);
  for (int i = 0; i < c.w.n && !g_str_equal (mode, "zeros"); i++)
    {
      x = loom_op_pad_value (p, x, 2 + i, c.w.front[i], c.w.back[i], mode, 0);
      c.w.front[i] = c.w.back[i] = 0;
    }
  attrs = attrs_of (ctx, &c);
  attrs.kernel.has_bias = bias != 0;
  in[0] = c.w.n == 3 ? taps_as_channels (p, &c.w, x, dims[2]) : loom_op_as_images (p, x);
  in[1] = flat_weights (p, loom_lower_weight (ctx, "weight"));
  in[2] = bias;
  y = loom_emit (p, loom_prim ("conv2d"), &attrs, 3, in, NULL);
  if (c.w.n == 3)
    y = swap_channels_and_depth (p, loom_reshape (p, y, 5, (gint64[]){ dims[0], dims[2], dims[1], dims[3], dims[4] }));
  loom_lower_output (ctx, 0, loom_reshape (p, y, rank, dims));
}

/* [N·D, C, H, W] of x [N,C,D,H,W]. */
static LoomValue
pile_of_images (LoomProgram *p, LoomValue x)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;

  return loom_reshape (p, swap_channels_and_depth (p, x), 4,
                       (gint64[]){ d.dim[0] * d.dim[2], d.dim[1], d.dim[3], d.dim[4] });
}

/* g padded with zeros at the end to exactly the output size of a convolution over an input of a->size. If the
 * dilation is larger than the stride, output_padding can add another window. */
static LoomValue
fill_windows (LoomProgram *p, const LoomConv2dTo *a, const LoomTensorDesc *w, LoomValue g)
{
  for (int k = 0; k < 2; k++)
    {
      gint64 room = a->size[k] + a->kernel.pad[2 * k] + a->kernel.pad[2 * k + 1]
                    - a->kernel.dilation[k] * (w->dim[2 + k] - 1) - 1;
      gint64 have = loom_value_info (p, g)->desc.dim[2 + k];

      g = loom_op_pad_value (p, g, 2 + k, 0, room / a->kernel.stride[k] + 1 - have, "zeros", 0);
    }
  return g;
}

/* The input gradient of a convolution, applied to x instead of a gradient. */
void
loom_op_lower_conv_transpose (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  Conv c = transposed_of (loom_lower_infer (ctx));
  LoomValue x = loom_lower_input (ctx, 0), bias = loom_lower_weight (ctx, "bias"), in[2], y;
  LoomTensorDesc d = loom_op_desc (ctx, x), w;
  gint64 dims[LOOM_MAX_RANK], ones[LOOM_MAX_SPACE + 1] = { 0, 1, 1, 1 };
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomConv2dTo attrs;

  memcpy (c.w.back, c.w.front, sizeof c.w.back);
  attrs = attrs_of (ctx, &c);
  attrs.size[0] = c.w.n > 1 ? dims[rank - 2] : 1;
  attrs.size[1] = dims[rank - 1];
  in[1] = flat_weights (p, loom_lower_weight (ctx, "weight"));
  w = loom_op_desc (ctx, in[1]);
  in[0] = fill_windows (p, &attrs, &w, c.w.n == 3 ? pile_of_images (p, x) : loom_op_as_images (p, x));
  y = loom_emit (p, loom_prim ("conv2d_input_grad"), &attrs, 2, in, NULL);
  if (c.w.n == 3)
    y = channels_as_taps (p, &c.w, y, d.dim[2], dims[2]);
  y = loom_reshape (p, y, rank, dims);
  if (bias != 0)
    {
      ones[0] = dims[1];
      y = loom_binary (p, LOOM_SCALAR_ADD, y, loom_reshape (p, bias, c.w.n + 1, ones));
    }
  loom_lower_output (ctx, 0, y);
}

/* ---- cost and card ---------------------------------------------------- */

/* Two operations for each tap of each window: `windows` elements, `channels` of the other side. */
static double
work (const Conv *c, double windows, double channels)
{
  double taps = 1;

  for (int i = 0; i < c->w.n; i++)
    taps *= (double)c->w.kernel[i];
  return 2.0 * windows * channels / (double)c->groups * taps;
}

double
loom_op_conv_flops (const LoomInfer *ctx)
{
  Conv c = conv_of (ctx);

  return work (&c, loom_op_output_count (ctx, 0), (double)loom_infer_input (ctx, 0)->shape.dim[1].coef);
}

double
loom_op_conv_transpose_flops (const LoomInfer *ctx)
{
  Conv c = conv_of (ctx);

  return work (&c, loom_op_input_count (ctx, 0), (double)loom_infer_int (ctx, "out_channels"));
}

char *
loom_op_conv_summary (const LoomInfer *ctx)
{
  Conv c = conv_of (ctx);
  g_autofree char *kernel = loom_op_times (c.w.n, c.w.kernel);
  const char *padding = loom_infer_attribute (ctx, "padding");
  GString *s = g_string_new (NULL);
  gboolean strided = FALSE;

  g_string_append_printf (s, "%" G_GINT64_FORMAT " channels · %s", loom_infer_int (ctx, "out_channels"), kernel);
  for (int i = 0; i < c.w.n; i++)
    strided = strided || c.w.stride[i] != 1;
  if (strided)
    g_string_append_printf (s, " · stride %" G_GINT64_FORMAT, c.w.stride[0]);
  if (padding != NULL && !g_str_equal (padding, "0"))
    g_string_append_printf (s, " · pad %s", padding);
  return g_string_free (s, FALSE);
}
