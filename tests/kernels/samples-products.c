/* The samples of matrix products, convolutions and pooling. */
#include "tests/kernels/kernel-harness.h"

/* Products that sum one of their operands over the inner axis. */
static void
summing_samples (GPtrArray *all)
{
  static const int sizes[][3] = { { 1, 1, 1 }, { 10, 128, 32 }, { 37, 7, 19 }, { 130, 33, 70 }, { 64, 48, 250 } };

  for (int v = 0; v < 16 * (int)G_N_ELEMENTS (sizes); v++)
    {
      const int *size = sizes[v / 16]; /* m, n, k */
      gboolean ta = v % 2 == 0, wide = v / 2 % 2 == 0, tb = v / 4 % 2 == 1, of_b = v / 8 % 2 == 1;
      LoomTensorDesc a = { F, 0, 2, { ta ? size[2] : size[0], ta ? size[0] : size[2] } };
      LoomTensorDesc b = { F, 0, 2, { tb ? size[1] : size[2], tb ? size[2] : size[1] } };
      LoomTensorDesc y = { F, 0, 2, { size[0], size[1] } }, s = { F, 0, 2, { 1, size[of_b] } };
      Sample *to = sample_add (all, "matmul", 5e-5, "%d x %d x %d%s%s, sum of %s%s", size[0], size[2], size[1],
                               ta ? " Ta" : "", tb ? " Tb" : "", of_b ? "b" : "a", wide ? ", f32 result" : "");

      sample_in (to, a, FILL_NORMAL, 0);
      sample_in (to, b, FILL_NORMAL, 0);
      sample_out (to, y);
      sample_out (to, s);
      to->joined = TRUE;
      to->wide = wide ? 1 << 2 | 1 << 3 : 0;
      SAMPLE_ATTRS (to, LoomMatmulAttrs) = (LoomMatmulAttrs){ .trans_a = ta, .trans_b = tb, .sum_b = of_b };
    }
}

/* Products times the derivative of an activation, over rows of a mask's length and less, and columns by eight and not.
 */
static void
derivative_samples (GPtrArray *all)
{
  static const struct
  {
    const char *batch;
    int m, n, k;
  } cases[] = { { "", 1, 1, 1 },    { "", 10, 128, 32 }, { "", 37, 8, 19 }, { "", 130, 33, 70 },
                { "", 64, 136, 2 }, { "", 3, 264, 40 },  { "", 15, 16, 1 }, { "3,5,", 7, 24, 20 } };
  static const LoomScalarOp derivatives[] = { LOOM_SCALAR_RELU_GRAD, LOOM_SCALAR_GELU_TANH_GRAD };

  for (int v = 0; v < (int)G_N_ELEMENTS (cases); v++)
    for (int flags = 0; flags < 4; flags++)
      for (int f = 0; f < 2 * (int)G_N_ELEMENTS (derivatives); f++)
        {
          const gboolean tb = flags & 1, ta = flags >> 1 && cases[v].batch[0] == '\0', wide = f % 2;
          const LoomScalarOp derivative = derivatives[f / 2];
          const int m = cases[v].m, n = cases[v].n, k = cases[v].k;
          char a[64], b[64], y[64];
          Sample *s;

          g_snprintf (a, sizeof a, "%s%d,%d", cases[v].batch, ta ? k : m, ta ? m : k);
          g_snprintf (b, sizeof b, "%d,%d", tb ? n : k, tb ? k : n);
          g_snprintf (y, sizeof y, "%s%d,%d", cases[v].batch, m, n);
          s = sample_add (all, "matmul", 2e-5, "%s x %s%s%s, %s%s", a, b, ta ? " Ta" : "", tb ? " Tb" : "",
                          loom_scalar_name (derivative), wide ? ", f32 result" : "");
          sample_in (s, desc (F, a), FILL_NORMAL, 0);
          sample_in (s, desc (F, b), FILL_NORMAL, 0);
          sample_in (s, desc (F, y), derivative == LOOM_SCALAR_RELU_GRAD ? FILL_SPECIAL : FILL_NORMAL, 0);
          sample_out (s, desc (F, y));
          s->joined = TRUE;
          s->wide = wide ? 1 << 2 | 1 << 3 : 0;
          SAMPLE_ATTRS (s, LoomMatmulAttrs)
              = (LoomMatmulAttrs){ .trans_a = ta, .trans_b = tb, .derivative = derivative };
        }
}

static void
matmul_samples (GPtrArray *all)
{
  static const struct
  {
    const char *batch_a, *batch_b, *batch_y;
    int m, n, k;
  } cases[] = {
    { "", "", "", 1, 1, 1 },
    { "", "", "", 16, 16, 4 },
    { "", "", "", 16, 3, 16 },
    { "", "", "", 7, 37, 19 },
    { "", "", "", 32, 10, 128 },
    { "", "", "", 33, 130, 70 },
    { "", "", "", 0, 5, 4 },
    { "", "", "", 3, 5, 0 },
    { "", "", "", 15, 17, 1 },
    { "3,", "3,", "3,", 5, 6, 7 },
    { "2,1,", "3,", "2,3,", 4, 5, 6 },
    { "", "4,", "4,", 20, 30, 40 },
    { "2,3,", "1,3,", "2,3,", 30, 20, 25 },
    { "2,1,3,", "1,5,3,", "2,5,3,", 4, 5, 7 },
    { "", "", "", 32, 48, 64 },
    { "3,", "", "3,", 4, 6, 8 },
    { "0,", "0,", "0,", 4, 6, 8 },
    { "", "", "", 1, 37, 45 },
    { "", "", "", 2, 130, 70 },
    { "", "", "", 3, 18, 33 },
    { "2,", "", "2,", 2, 33, 50 },
    { "", "", "", 1, 300, 256 }, /* long enough for two threads */
  };
  static const LoomScalarOp acts[]
      = { LOOM_SCALAR_ID, LOOM_SCALAR_RELU, LOOM_SCALAR_GELU, LOOM_SCALAR_GELU_TANH, LOOM_SCALAR_SIGMOID };

  /* Calls of mixed precision: 16-bit operands with a bias in f32, with a result in f32, with both. */
  for (int v = 0; v < (int)G_N_ELEMENTS (cases); v++)
    for (int kind = 0; kind < 3; kind++)
      {
        char a[64], b[64], y[64];
        Sample *s;

        g_snprintf (a, sizeof a, "%s%d,%d", cases[v].batch_a, cases[v].m, cases[v].k);
        g_snprintf (b, sizeof b, "%s%d,%d", cases[v].batch_b, cases[v].k, cases[v].n);
        g_snprintf (y, sizeof y, "%s%d,%d", cases[v].batch_y, cases[v].m, cases[v].n);
        s = sample_add (all, "matmul", 2e-5, "%s x %s, f32 %s", a, b,
                        kind == 0   ? "bias"
                        : kind == 1 ? "result"
                                    : "bias and result");
        sample_in (s, desc (F, a), FILL_NORMAL, 0);
        sample_in (s, desc (F, b), FILL_NORMAL, 0);
        g_snprintf (b, sizeof b, "%d", cases[v].n);
        if (kind != 1)
          sample_in (s, desc (F, b), FILL_NORMAL, 0);
        sample_out (s, desc (F, y));
        s->wide = kind == 2 ? 1 << 2 | 1 << 3 : 1 << 2;
        SAMPLE_ATTRS (s, LoomMatmulAttrs) = (LoomMatmulAttrs){ .has_bias = kind != 1, .act = LOOM_SCALAR_ID };
      }
  for (int v = 0; v < (int)G_N_ELEMENTS (cases); v++)
    for (int flags = 0; flags < 8; flags++)
      for (int act = 0; act < (v % 4 == 1 ? (int)G_N_ELEMENTS (acts) : 3); act++)
        {
          gboolean ta = flags & 1, tb = (flags >> 1) & 1, bias = flags >> 2;
          int m = cases[v].m, n = cases[v].n, k = cases[v].k;
          char a[64], b[64], y[64];
          Sample *s;

          g_snprintf (a, sizeof a, "%s%d,%d", cases[v].batch_a, ta ? k : m, ta ? m : k);
          g_snprintf (b, sizeof b, "%s%d,%d", cases[v].batch_b, tb ? n : k, tb ? k : n);
          g_snprintf (y, sizeof y, "%s%d,%d", cases[v].batch_y, m, n);
          s = sample_add (all, "matmul", 2e-5, "%s x %s%s%s%s %s", a, b, ta ? " Ta" : "", tb ? " Tb" : "",
                          bias ? " bias" : "", loom_scalar_name (acts[act]));
          sample_in (s, desc (F, a), FILL_NORMAL, 0);
          sample_in (s, desc (F, b), FILL_NORMAL, 0);
          g_snprintf (b, sizeof b, "%d", n);
          if (bias)
            sample_in (s, desc (F, b), FILL_NORMAL, 0);
          sample_out (s, desc (F, y));
          SAMPLE_ATTRS (s, LoomMatmulAttrs)
              = (LoomMatmulAttrs){ .trans_a = ta, .trans_b = tb, .has_bias = bias, .act = acts[act] };
        }
}

static gint64
conv_size (gint64 n, gint64 pad, gint64 kernel, gint64 stride, gint64 dilation)
{
  return (n + pad - dilation * (kernel - 1) - 1) / stride + 1;
}

static void
conv_samples (GPtrArray *all)
{
  /* N, C, H, W, K, R, S, stride, pad t b l r, dilation, groups */
  static const int cases[][16] = {
    { 9, 1, 11, 13, 16, 5, 5, 1, 1, 2, 2, 2, 2, 1, 1, 1 },  { 5, 1, 8, 9, 32, 3, 3, 1, 1, 0, 1, 1, 0, 1, 1, 1 },
    { 1, 1, 5, 6, 3, 3, 3, 1, 1, 0, 0, 0, 0, 1, 1, 1 },     { 2, 1, 12, 12, 6, 5, 5, 1, 1, 2, 2, 2, 2, 1, 1, 1 },
    { 3, 6, 8, 8, 16, 5, 5, 1, 1, 0, 0, 0, 0, 1, 1, 1 },    { 2, 3, 9, 7, 5, 3, 2, 2, 1, 1, 0, 0, 1, 1, 1, 1 },
    { 1, 4, 9, 9, 8, 3, 3, 1, 2, 2, 2, 2, 2, 2, 2, 2 },     { 2, 16, 6, 6, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16 },
    { 4, 32, 10, 10, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1 },
    { 2, 5, 4, 4, 7, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1 },     { 2, 8, 9, 9, 8, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 8 },
    { 3, 4, 1, 19, 8, 1, 5, 1, 2, 0, 0, 2, 2, 1, 1, 2 },    { 2, 6, 1, 8, 4, 1, 3, 1, 1, 0, 0, 1, 1, 1, 2, 1 },
    { 2, 4, 9, 8, 6, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 2 },     { 2, 6, 9, 8, 4, 3, 3, 2, 1, 0, 2, 1, 3, 2, 1, 2 },
    { 0, 4, 9, 8, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1 },     { 5, 65, 20, 21, 40, 3, 3, 2, 1, 0, 1, 1, 1, 1, 1, 1 },
    { 2, 3, 9, 12, 65, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1 },   { 2, 32, 7, 9, 32, 2, 3, 1, 2, 2, 0, 1, 3, 2, 3, 1 },
    { 5, 3, 7, 6, 4, 7, 6, 1, 1, 0, 0, 0, 0, 1, 1, 1 },     { 2, 8, 4, 4, 16, 3, 3, 1, 1, 0, 0, 2, 2, 1, 1, 1 },
    { 2, 8, 8, 7, 16, 4, 4, 1, 1, 1, 2, 1, 2, 1, 1, 1 },
  };

  for (int v = 0; v < (int)G_N_ELEMENTS (cases); v++)
    for (int mode = 0; mode < 4; mode++) /* bit 0: bias, bit 1: relu, forward only */
      {
        const int *c = cases[v];
        gint64 P = conv_size (c[2], c[9] + c[10], c[5], c[7], c[13]);
        gint64 Q = conv_size (c[3], c[11] + c[12], c[6], c[8], c[14]);
        LoomTensorDesc x = { F, 0, 4, { c[0], c[1], c[2], c[3] } };
        LoomTensorDesc w = { F, 0, 4, { c[4], c[1] / c[15], c[5], c[6] } };
        LoomTensorDesc y = { F, 0, 4, { c[0], c[4], P, Q } };
        LoomTensorDesc bias = { F, 0, 1, { c[4] } };
        LoomConv2dAttrs attrs = { { c[7], c[8] },   { c[9], c[10], c[11], c[12] },
                                  { c[13], c[14] }, c[15],
                                  mode & 1,         mode & 2 ? LOOM_SCALAR_RELU : LOOM_SCALAR_ID };
        /* A library sums hundreds of products in f32. */
        const double tolerance = w.dim[1] * w.dim[2] * w.dim[3] > 500 ? 5e-5 : 3e-5;
        Sample *s = sample_add (all, "conv2d", tolerance, "case %d mode %d", v, mode);

        sample_in (s, x, FILL_NORMAL, 0);
        sample_in (s, w, FILL_NORMAL, 0);
        if (mode & 1)
          sample_in (s, bias, FILL_NORMAL, 0);
        sample_out (s, y);
        SAMPLE_ATTRS (s, LoomConv2dAttrs) = attrs;
        s->nhwc = TRUE;
        if (mode & 1) /* at the end of a residual block */
          {
            s = sample_add (all, "conv2d", tolerance, "case %d mode %d, residual", v, mode);
            sample_in (s, x, FILL_NORMAL, 0);
            sample_in (s, w, FILL_NORMAL, 0);
            sample_in (s, bias, FILL_NORMAL, 0);
            sample_in (s, y, FILL_NORMAL, 0);
            sample_out (s, y);
            SAMPLE_ATTRS (s, LoomConv2dAttrs) = attrs;
            s->nhwc = s->joined = TRUE;
          }
        if (mode == 1 && v % 4 == 0) /* as mixed precision has it */
          {
            s = sample_add (all, "conv2d", 3e-5, "case %d, f32 bias", v);
            sample_in (s, x, FILL_NORMAL, 0);
            sample_in (s, w, FILL_NORMAL, 0);
            sample_in (s, bias, FILL_NORMAL, 0);
            sample_out (s, y);
            SAMPLE_ATTRS (s, LoomConv2dAttrs) = attrs;
            s->nhwc = TRUE;
            s->wide = 1 << 2;
            s = sample_add (all, "conv2d_weight_grad", 5e-5, "case %d, f32 results", v);
            sample_in (s, y, FILL_NORMAL, 0);
            sample_in (s, x, FILL_NORMAL, 0);
            sample_out (s, w);
            sample_out (s, bias);
            SAMPLE_ATTRS (s, LoomConv2dAttrs) = attrs;
            s->nhwc = TRUE;
            s->wide = 1 << 2 | 1 << 3;
          }
        if (mode & 2)
          continue;
        s = sample_add (all, "conv2d_weight_grad", 5e-5, "case %d mode %d", v, mode);
        sample_in (s, y, FILL_NORMAL, 0);
        sample_in (s, x, FILL_NORMAL, 0);
        sample_out (s, w);
        if (mode & 1)
          sample_out (s, bias);
        SAMPLE_ATTRS (s, LoomConv2dAttrs) = attrs;
        s->nhwc = TRUE;
        if (mode & 1)
          continue;
        s = sample_add (all, "conv2d_input_grad", 5e-5, "case %d", v);
        sample_in (s, y, FILL_NORMAL, 0);
        sample_in (s, w, FILL_NORMAL, 0);
        sample_out (s, x);
        SAMPLE_ATTRS (s, LoomConv2dAttrs) = attrs;
        s->nhwc = TRUE;
      }
}

/* Convolutions with a pooling (kernels/conv-pooled.h): of numbers that differ; of integers, with ties, and NaN that
 * win; and of zeros, whose results are zeros of both signs, equal to each other. Those of several channels may be
 * computed by Winograd's algorithm, which rounds equal sums differently and spreads NaN (test-winograd.c). */
static void
pooled_conv_samples (GPtrArray *all)
{
  /* N, H, W, K, R, pad, C */
  static const int cases[][7]
      = { { 9, 12, 14, 16, 5, 2, 1 },  { 5, 8, 10, 32, 3, 1, 1 },    { 2, 6, 4, 16, 3, 0, 1 },
          { 1, 28, 28, 16, 3, 1, 1 },  { 12, 14, 12, 48, 3, 1, 16 }, { 9, 12, 18, 16, 3, 1, 20 },
          { 130, 2, 2, 32, 3, 1, 32 }, { 8, 16, 16, 24, 3, 1, 16 } };
  static const struct
  {
    const char *name;
    FillRule x, w, bias;
  } fills[] = { { "", { FILL_NORMAL }, { FILL_NORMAL }, { FILL_NORMAL } },
                { " ties", { FILL_TIES, 0.003 }, { FILL_TIES }, { FILL_TIES } },
                { " zeros", { FILL_ZEROS }, { FILL_VALUE, -1 }, { FILL_VALUE, -0.0 } } };

  for (int v = 0; v < (int)(G_N_ELEMENTS (cases) * G_N_ELEMENTS (fills)); v++)
    for (int mode = 0; mode < 5; mode++) /* bit 0: bias; forward only, bit 1: relu, 4: gelu, which is not monotone */
      {
        const int number = v % (int)G_N_ELEMENTS (cases), *c = cases[number];
        const typeof (fills[0]) *fill = &fills[v / (int)G_N_ELEMENTS (cases)];
        const gint64 P = conv_size (c[1], 2 * c[5], c[4], 1, 1) / 2, Q = conv_size (c[2], 2 * c[5], c[4], 1, 1) / 2;
        const LoomTensorDesc x = { F, 0, 4, { c[0], c[6], c[1], c[2] } }, w = { F, 0, 4, { c[3], c[6], c[4], c[4] } };
        const LoomTensorDesc y = { F, 0, 4, { c[0], c[3], P, Q } }, bias = { F, 0, 1, { c[3] } };
        const LoomTensorDesc indices = { LOOM_U8, 0, 4, { c[0], c[3], P, Q } };
        const LoomConv2dAttrs attrs = { .stride = { 1, 1 },
                                        .pad = { c[5], c[5], c[5], c[5] },
                                        .dilation = { 1, 1 },
                                        .groups = 1,
                                        .has_bias = mode & 1,
                                        .act = mode & 2    ? LOOM_SCALAR_RELU
                                               : mode == 4 ? LOOM_SCALAR_GELU
                                                           : LOOM_SCALAR_ID,
                                        .pooled = true };
        Sample *s;

        if (c[6] > 1 && fill != fills)
          continue;
        s = sample_add (all, "conv2d", c[6] > 1 ? 1e-4 : 3e-5, "pooled %d mode %d%s", number, mode, fill->name);
        sample_in (s, x, fill->x.kind, fill->x.value);
        sample_in (s, w, fill->w.kind, fill->w.value);
        if (mode & 1)
          sample_in (s, bias, fill->bias.kind, fill->bias.value);
        sample_out (s, y);
        sample_out (s, indices);
        SAMPLE_ATTRS (s, LoomConv2dAttrs) = attrs;
        s->nhwc = s->joined = TRUE;
        if (mode > 1)
          continue;
        s = sample_add (all, "conv2d_weight_grad", 5e-5, "pooled %d mode %d%s", number, mode, fill->name);
        /* Whether the product of NaN and padding is added depends on the back end. */
        sample_in (s, y, fill->x.kind, c[5] == 0 ? 10 * fill->x.value : 0);
        sample_in (s, x, FILL_NORMAL, 0);
        sample_in (s, indices, FILL_CLASS, 4);
        sample_out (s, w);
        if (mode & 1)
          sample_out (s, bias);
        SAMPLE_ATTRS (s, LoomConv2dAttrs) = attrs;
        s->nhwc = s->joined = TRUE;
        if (mode & 1 || fill != fills)
          continue;
        s = sample_add (all, "conv2d_input_grad", 5e-5, "pooled %d", number);
        sample_in (s, y, FILL_NORMAL, 0);
        sample_in (s, w, FILL_NORMAL, 0);
        sample_in (s, indices, FILL_CLASS, 4);
        sample_out (s, x);
        SAMPLE_ATTRS (s, LoomConv2dAttrs) = attrs;
        s->nhwc = s->joined = TRUE;
      }
}

static gint64
pool_size (gint64 n, gint64 pad, gint64 kernel, gint64 stride, gint64 dilation, gboolean ceil_mode)
{
  gint64 span = n + 2 * pad - dilation * (kernel - 1) - 1;
  gint64 size = (span + (ceil_mode ? stride - 1 : 0)) / stride + 1;

  return ceil_mode && (size - 1) * stride >= n + pad ? size - 1 : size;
}

static void
pool_samples (GPtrArray *all)
{
  /* N, C, H, W, kernel, stride, pad, dilation, ceil, count_include_pad, divisor */
  static const int cases[][14] = {
    { 2, 3, 8, 8, 2, 2, 2, 2, 0, 0, 1, 0, 1, 0 },     { 2, 70, 9, 7, 3, 2, 2, 3, 1, 1, 1, 0, 0, 0 },
    { 1, 5, 10, 10, 3, 3, 1, 1, 1, 1, 2, 0, 1, 0 },   { 2, 4, 7, 7, 3, 3, 2, 2, 1, 1, 1, 1, 1, 0 },
    { 2, 4, 7, 8, 2, 3, 3, 2, 0, 1, 1, 1, 0, 0 },     { 1, 2, 6, 6, 4, 4, 2, 2, 2, 2, 1, 1, 1, 3 },
    { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0 },     { 1, 2, 20, 20, 17, 17, 3, 3, 1, 1, 1, 0, 1, 0 },
    { 0, 2, 4, 4, 2, 2, 2, 2, 0, 0, 1, 0, 1, 0 },     { 2, 19, 7, 10, 2, 3, 2, 3, 0, 0, 1, 0, 1, 0 },
    { 32, 16, 24, 24, 2, 2, 2, 2, 0, 0, 1, 0, 1, 0 }, { 3, 32, 9, 7, 2, 2, 2, 2, 0, 0, 1, 0, 1, 0 },
  };

  for (int v = 0; v < (int)G_N_ELEMENTS (cases); v++)
    for (int special = 0; special < 2; special++)
      {
        const int *c = cases[v];
        LoomPool2dAttrs a = { { c[4], c[5] }, { c[6], c[7] }, { c[8], c[9] }, { c[10], c[10] }, c[12], c[13] };
        LoomTensorDesc x = { F, 0, 4, { c[0], c[1], c[2], c[3] } };
        LoomTensorDesc y = { F,
                             0,
                             4,
                             { c[0], c[1], pool_size (c[2], c[8], c[4], c[6], c[10], c[11]),
                               pool_size (c[3], c[9], c[5], c[7], c[10], c[11]) } };
        LoomTensorDesc indices = y;
        Sample *s = sample_add (all, "max_pool2d", 0, "case %d%s", v, special ? " special" : "");

        indices.dtype = c[4] * c[5] <= 256 ? LOOM_U8 : LOOM_I32;
        sample_in (s, x, special ? FILL_SPECIAL : FILL_NORMAL, 0);
        sample_out (s, y);
        sample_out (s, indices);
        SAMPLE_ATTRS (s, LoomPool2dAttrs) = a;
        s->nhwc = TRUE;
        if (special)
          continue;
        s = sample_add (all, "max_pool2d_grad", 1e-5, "case %d", v);
        sample_in (s, y, FILL_NORMAL, 0);
        sample_in (s, indices, FILL_INDICES, 0);
        sample_out (s, x);
        SAMPLE_ATTRS (s, LoomPool2dAttrs) = a;
        s->nhwc = TRUE;
        if (c[10] != 1)
          continue;
        s = sample_add (all, "avg_pool2d", 1e-5, "case %d", v);
        sample_in (s, x, FILL_NORMAL, 0);
        sample_out (s, y);
        SAMPLE_ATTRS (s, LoomPool2dAttrs) = a;
        s->nhwc = TRUE;
        s = sample_add (all, "avg_pool2d_grad", 1e-5, "case %d", v);
        sample_in (s, y, FILL_NORMAL, 0);
        sample_out (s, x);
        SAMPLE_ATTRS (s, LoomPool2dAttrs) = a;
        s->nhwc = TRUE;
      }
}

void
samples_products (GPtrArray *all)
{
  matmul_samples (all);
  derivative_samples (all);
  summing_samples (all);
  conv_samples (all);
  pooled_conv_samples (all);
  pool_samples (all);
}
