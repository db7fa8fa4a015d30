/* Upsample: resizes sequences, images or volumes, as torch.nn.Upsample (and torch.nn.functional.interpolate).
 *
 * Dimensions are resized one after another. Each is moved to the front, where its positions are rows: an output
 * position gathers one, two or four input positions and weights them, and the gradient scatters. The indices are
 * computed in integers, because a position that is exactly on an input position must not be rounded to its
 * neighbour. Integer factors of mode nearest are repetitions and gather nothing. */
#include "engine/ops/op-layers.h"

#include <math.h>

static const LoomPortSpec inputs[] = {
  { "input", "Sequences, images or volumes: [batch, channels, …] with one to three spatial dimensions." },
  { NULL },
};

static const char *const modes[] = { "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("size", INTS, ""), LOOM_RANGE (1, 1e6), .unit = "pixels",
    .doc = "The output size: one for all spatial dimensions, or one for each; or give scale_factor." },
  { LOOM_PARAM ("scale_factor", FLOATS, ""), LOOM_RANGE (1e-6, 1e6),
    .doc = "The factor of the output size: one for all spatial dimensions, or one for each; or give size." },
  { LOOM_PARAM ("mode", ENUM, "nearest"), .choices = modes,
    .doc = "The interpolation: nearest, linear (sequences), bilinear or bicubic (images), or trilinear (volumes)." },
  { LOOM_PARAM ("align_corners", BOOL, "false"),
    .doc
    = "Whether the centres of the corner pixels are aligned, instead of their outer corners; not for mode nearest.",
    .advanced = TRUE },
  { NULL },
};

/* One number for all dimensions or one for each; FALSE for any other count. */
static gboolean
sizes_of (const LoomInfer *ctx, int n, gint64 *size)
{
  gint64 given[LOOM_SHAPE_MAX_RANK];
  guint count = loom_infer_ints (ctx, "size", given, G_N_ELEMENTS (given));

  for (int i = 0; i < n; i++)
    size[i] = given[count == 1 ? 0 : i];
  return count == 1 || (int)count == n;
}

static gboolean
factors_of (const LoomInfer *ctx, int n, double *factor)
{
  double given[LOOM_SHAPE_MAX_RANK];
  guint count = loom_infer_floats (ctx, "scale_factor", given, G_N_ELEMENTS (given));

  for (int i = 0; i < n; i++)
    factor[i] = given[count == 1 ? 0 : i];
  return count == 1 || (int)count == n;
}

/* The number of input positions that an output position is computed from, along each dimension. */
static int
taps_of (const char *mode)
{
  return g_str_has_prefix (mode, "nearest") ? 1 : g_str_equal (mode, "bicubic") ? 4 : 2;
}

/* ---- inference -------------------------------------------------------- */

static gboolean
check_mode (LoomInfer *ctx, int n)
{
  static const char *const mixing[] = { "linear", "bilinear", "trilinear" };
  const char *mode = loom_infer_string (ctx, "mode");
  int taps = taps_of (mode);

  if (taps == 1 && loom_infer_bool (ctx, "align_corners"))
    {
      loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "align_corners",
                                            "align_corners applies only to interpolating modes, not to “%s”.", mode),
                          "align_corners", "false", "Remove it.");
      return FALSE;
    }
  if (taps == 1 || g_str_equal (mode, mixing[n - 1]) || (taps == 4 && n == 2))
    return TRUE;
  loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "mode",
                                        "Mode “%s” does not apply to an input with %d spatial dimensions.", mode, n),
                      "mode", mixing[n - 1], "Use the mode for this number of dimensions.");
  return FALSE;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int n = x->shape.rank - 2;
  gboolean by_size = loom_infer_is_set (ctx, "size");
  gint64 size[LOOM_SHAPE_MAX_RANK];
  double factor[LOOM_SHAPE_MAX_RANK];
  LoomShape shape = x->shape;

  if (!loom_op_rank (ctx, 0, "input", 3, 5, "batch × channels × one to three sizes", "Put a reshape before it.")
      || !loom_op_needs_float (ctx, 0, "input", "interpolates neighbours"))
    return;
  if (by_size == loom_infer_is_set (ctx, "scale_factor"))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "size", "upsample needs either size or scale_factor, and not both.");
      return;
    }
  if (!(by_size ? sizes_of (ctx, n, size) : factors_of (ctx, n, factor)))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, by_size ? "size" : "scale_factor",
                        "Give one number for all dimensions, or %d: one for each.", n);
      return;
    }
  if (!check_mode (ctx, n))
    return;
  for (int i = 0; i < n; i++)
    {
      LoomDim *d = &shape.dim[2 + i];

      if (loom_dim_is_known (*d) && d->coef == 0)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "input", "upsample cannot resize a size of 0.");
          return;
        }
      if (by_size)
        *d = loom_dim (size[i]);
      else if (factor[i] == floor (factor[i]))
        *d = loom_dim_mul (*d, loom_dim ((gint64)factor[i]));
      else
        *d = loom_dim_is_known (*d) ? loom_dim ((gint64)floor ((double)d->coef * factor[i])) : loom_dim_unknown ();
      if (loom_dim_is_known (*d) && d->coef == 0)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "scale_factor", "The output is empty with a scale_factor of %g.",
                            factor[i]);
          return;
        }
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* ---- lowering --------------------------------------------------------- */

/* The number of input positions per output position, as a fraction. */
typedef struct
{
  gint64 num, den;
} Ratio;

/* 1/factor. Factors are usually fractions of small numbers; others are approximated with a denominator of 2²⁰. */
static Ratio
inverse (double factor)
{
  gint64 den = 1;

  while (den <= 1000 && fabs (factor * (double)den - round (factor * (double)den)) > 1e-9 * (double)den)
    den++;
  if (den > 1000)
    den = 1 << 20;
  return (Ratio){ den, MAX ((gint64)round (factor * (double)den), 1) };
}

static LoomValue
whole (LoomProgram *p, gint64 value)
{
  return loom_const (p, LOOM_I64, (double)value);
}

/* floor(v / by) of integers, and the remainder. If by divides v exactly the quotient is an integer, which rounding
 * finds even if the float has too few digits. */
static LoomValue
divide (LoomProgram *p, LoomValue v, gint64 by, LoomDType real, LoomValue *rest)
{
  LoomValue q;

  *rest = loom_binary (p, LOOM_SCALAR_MOD, v, whole (p, by));
  q = loom_cast (p, loom_binary (p, LOOM_SCALAR_SUB, v, *rest), real);
  q = loom_binary (p, LOOM_SCALAR_DIV, q, loom_const (p, real, (double)by));
  q = loom_unary (p, LOOM_SCALAR_FLOOR, loom_binary (p, LOOM_SCALAR_ADD, q, loom_const (p, real, 0.5)));
  return loom_cast (p, q, LOOM_I64);
}

/* For each of `out` output positions its position among `in` input positions: [out] integers, and the fraction
 * beyond them, [out] from 0 to 1 (0 for mode nearest, which does not use it). */
static LoomValue
positions (LoomProgram *p, const char *mode, gboolean align, Ratio r, gint64 in, gint64 out, LoomDType real,
           LoomValue *beyond)
{
  LoomIotaTo iota = { .kernel = { .step = 1 }, .dtype = LOOM_I64, .to = { .rank = 1, .dim = { out } } };
  LoomValue place, rest;
  gint64 by;

  if (align)
    {
      /* o·(in - 1)/(out - 1) */
      iota.kernel.step = (double)(out > 1 ? in - 1 : 0);
      by = MAX (out - 1, 1);
    }
  else if (g_str_equal (mode, "nearest"))
    {
      iota.kernel.step = (double)r.num;
      by = r.den;
    }
  else
    {
      /* (o + ½)·num/den, less ½ if neighbours are interpolated */
      iota.kernel.step = (double)(2 * r.num);
      iota.kernel.start = (double)(r.num - (taps_of (mode) > 1 ? r.den : 0));
      by = 2 * r.den;
    }
  place = loom_emit (p, loom_prim ("iota"), &iota, 0, NULL, NULL);
  if (taps_of (mode) == 2)
    place = loom_binary (p, LOOM_SCALAR_MAX, place, whole (p, 0));
  place = divide (p, place, by, real, &rest);
  *beyond = loom_binary (p, LOOM_SCALAR_DIV, loom_cast (p, rest, real), loom_const (p, real, (double)by));
  return place;
}

/* Keys' cubic with a = -¾ (Keys 1981) at distance t + `from`, 0 ≤ t ≤ 1: inner is for the two nearest positions. */
static LoomValue
cubic (LoomProgram *p, LoomValue t, gboolean inner, LoomDType real)
{
  const double a = -0.75;
  const double c[4] = { inner ? 1 : -4 * a, inner ? 0 : 8 * a, inner ? -(a + 3) : -5 * a, inner ? a + 2 : a };
  LoomValue sum = loom_const (p, real, c[3]);

  for (int k = 2; k >= 0; k--)
    sum = loom_ternary (p, LOOM_SCALAR_FMA, sum, t, loom_const (p, real, c[k]));
  return sum;
}

/* The weight of tap k of n for a fraction t. */
static LoomValue
weight_of (LoomProgram *p, int k, int n, LoomValue t, LoomDType real)
{
  LoomValue one = loom_const (p, real, 1), other = loom_binary (p, LOOM_SCALAR_SUB, one, t);

  if (n == 2)
    return k == 0 ? other : t;
  if (k == 1 || k == 2)
    return cubic (p, k == 1 ? t : other, TRUE, real);
  return cubic (p, loom_binary (p, LOOM_SCALAR_ADD, k == 0 ? t : other, one), FALSE, real);
}

/* x with its first axis resized. */
static LoomValue
resize_rows (LoomProgram *p, const char *mode, gboolean align, Ratio r, LoomValue x, gint64 out)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;
  int taps = taps_of (mode);
  gint64 in = d.dim[0], column[LOOM_MAX_RANK] = { out, 1, 1, 1, 1 };
  LoomValue beyond, place = positions (p, mode, align, r, in, out, d.dtype, &beyond), sum = 0;

  beyond = loom_reshape (p, beyond, d.rank, column);
  for (int k = 0; k < taps; k++)
    {
      gint64 shift = taps == 4 ? k - 1 : k;
      LoomValue index = loom_binary (p, LOOM_SCALAR_ADD, place, whole (p, shift)), row;

      index = loom_binary (p, LOOM_SCALAR_MAX, index, whole (p, 0));
      index = loom_binary (p, LOOM_SCALAR_MIN, index, whole (p, in - 1));
      row = loom_emit (p, loom_prim ("gather_rows"), NULL, 2, (LoomValue[]){ x, index }, NULL);
      if (taps > 1)
        row = loom_binary (p, LOOM_SCALAR_MUL, row, weight_of (p, k, taps, beyond, d.dtype));
      sum = sum == 0 ? row : loom_binary (p, LOOM_SCALAR_ADD, sum, row);
    }
  return sum;
}

/* Images [N,C,H,W] with each pixel repeated: this is the gradient of average pooling without the division. The
 * primitive works on NCHW images directly. */
static LoomValue
repeat_pixels (LoomProgram *p, LoomValue x, gint64 down, gint64 across)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;
  LoomPool2dTo a
      = { .kernel = { .kernel = { down, across }, .stride = { down, across }, .dilation = { 1, 1 }, .divisor = 1 },
          .size = { d.dim[2] * down, d.dim[3] * across } };

  if (down == 1 && across == 1)
    return x;
  return loom_emit (p, loom_prim ("avg_pool2d_grad"), &a, 1, &x, NULL);
}

/* Integer factors of mode nearest. Rows and columns of a volume are those of images of C·D channels, and its depth
 * is the rows of images whose columns are all positions of one depth. */
static LoomValue
repeat (LoomProgram *p, LoomValue x, int rank, const gint64 *dims)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;
  gint64 times[LOOM_MAX_RANK] = { 0 };

  for (int i = 0; i < rank; i++)
    times[i] = dims[i] / MAX (d.dim[i], 1);
  if (rank == 5)
    {
      x = loom_reshape (p, x, 4, (gint64[]){ d.dim[0], d.dim[1] * d.dim[2], d.dim[3], d.dim[4] });
      x = loom_reshape (p, repeat_pixels (p, x, times[3], times[4]), 4,
                        (gint64[]){ d.dim[0], d.dim[1], d.dim[2], dims[3] * dims[4] });
      x = repeat_pixels (p, x, times[2], 1);
    }
  else
    x = repeat_pixels (p, loom_op_as_images (p, x), rank == 4 ? times[2] : 1, times[rank - 1]);
  return loom_reshape (p, x, rank, dims);
}

/* Spatial dimensions are resized from the last to the first; each is moved to the front before, so in the end all of
 * them are before batch and channels, in their order. */
static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  const char *mode = loom_infer_string (infer_ctx, "mode");
  gboolean align = loom_infer_bool (infer_ctx, "align_corners"), by_size = loom_infer_is_set (infer_ctx, "size");
  LoomValue x = loom_lower_input (ctx, 0);
  gint64 dims[LOOM_MAX_RANK];
  double factor[LOOM_SHAPE_MAX_RANK] = { 0 };
  int rank = loom_op_output_dims (ctx, 0, dims), n = rank - 2, forward[LOOM_MAX_RANK], back[LOOM_MAX_RANK];
  gboolean repeats = taps_of (mode) == 1;
  LoomTensorDesc from = loom_op_desc (ctx, x);

  if (!by_size)
    factors_of (infer_ctx, n, factor);
  for (int i = 0; i < n; i++)
    repeats = repeats && dims[2 + i] % from.dim[2 + i] == 0
              && (by_size || (double)dims[2 + i] == (double)from.dim[2 + i] * factor[i]);
  if (repeats)
    {
      loom_lower_output (ctx, 0, repeat (p, x, rank, dims));
      return;
    }
  for (int i = 0; i < rank; i++)
    {
      forward[i] = (i + rank - 1) % rank;
      back[i] = (i + n) % rank;
    }
  for (int i = n - 1; i >= 0; i--)
    {
      LoomTensorDesc d = loom_op_desc (ctx, x);
      gint64 in = d.dim[rank - 1], out = dims[2 + i];
      Ratio r = by_size || (double)out == (double)in * factor[i] ? (Ratio){ in, out } : inverse (factor[i]);

      x = resize_rows (p, mode, align, r, loom_permute (p, x, forward), out);
    }
  loom_lower_output (ctx, 0, loom_permute (p, x, back));
}

static double
flops (const LoomInfer *ctx)
{
  int taps = taps_of (loom_infer_string (ctx, "mode"));

  return taps == 1 ? 0 : 2 * loom_op_output_count (ctx, 0) * (double)taps;
}

static char *
summary (const LoomInfer *ctx)
{
  gboolean by_size = loom_infer_is_set (ctx, "size");

  return g_strdup_printf ("%s %s · %s", by_size ? "to" : "×",
                          loom_infer_attribute (ctx, by_size ? "size" : "scale_factor"),
                          loom_infer_string (ctx, "mode"));
}

static const LoomSample samples[] = {
  { .params = "scale_factor=2", .inputs = { "f32:B,2,2,3" } },
  { .params = "size=5", .inputs = { "f32:2,2,3" } },
  { .params = "size=3,5 mode=bilinear", .inputs = { "f32:B,2,2,3" } },
  { .params = "scale_factor=2 mode=bilinear align_corners=true", .inputs = { "f32:1,2,3,2" } },
  { .params = "scale_factor=1.5 mode=linear", .inputs = { "f32:2,2,5" } },
  { .params = "size=2,3,4 mode=trilinear", .inputs = { "f32:1,1,2,2,3" } },
  { .params = "scale_factor=2,1.5 mode=bicubic", .inputs = { "f32:1,2,3,4" } },
  { .params = "scale_factor=0.5,3 mode=nearest-exact", .inputs = { "f32:1,2,4,2" } },
  { .params = "size=4", .inputs = { "f32:0,2,2,2" } },
  { NULL },
};

const LoomOp loom_op_upsample = {
  .name = "upsample",
  .title = "Upsample",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-upsample-symbolic",
  .synonyms = "interpolate resize enlarge bilinear nearest",
  .doc = "Resizes sequences, images or volumes by interpolation.",
  .details
  = "Mode nearest repeats elements, the other modes interpolate between neighbours. Followed by a convolution it is an "
    "alternative to a transposed convolution without checkerboard artefacts. Also known as resize, or interpolate.",
  .formula = "yᵢ = Σ wᵢⱼ xⱼ over the input positions j next to the output position i",
  .reference = "torch.nn.Upsample",
  .source = "Keys, “Cubic Convolution Interpolation for Digital Image Processing”, IEEE Transactions on Acoustics, "
            "Speech, and Signal Processing 29, 1981 (mode bicubic)",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
  .summary = summary,
};
