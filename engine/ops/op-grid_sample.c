/* Grid sample: reads images or volumes at given positions, as torch.nn.functional.grid_sample.
 *
 * A position lies between pixels, so each value is a weighted sum of 1 (nearest), 2ⁿ (bilinear) or 4² (bicubic) pixels.
 * Pixels are rows of a table [batch · pixels, channels], which makes each of them one gather; the gradient of the image
 * is then that of an embedding, and the gradient of the positions flows through the weights. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "Images [batch, channels, H, W] or volumes [batch, channels, D, H, W]." },
  { "grid", "Positions [batch, H_out, W_out, 2] as (x, y), or [batch, D_out, H_out, W_out, 3] as (x, y, z), from −1 to "
            "1." },
  { NULL },
};

static const char *const modes[] = { "bilinear", "nearest", "bicubic", NULL };
static const char *const padding_modes[] = { "zeros", "border", "reflection", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("mode", ENUM, "bilinear"), .choices = modes,
    .doc = "How pixels are interpolated; bilinear is trilinear for volumes, and bicubic is for images alone." },
  { LOOM_PARAM ("padding_mode", ENUM, "zeros"), .choices = padding_modes,
    .doc = "The values outside the image: zeros, the nearest pixel of the border, or the image reflected." },
  { LOOM_PARAM ("align_corners", BOOL, "false"),
    .doc = "Whether −1 and 1 are the centres of the outer pixels instead of their outer edges." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0), *grid = loom_infer_input (ctx, 1);
  LoomShape shape = x->shape;
  int n = x->shape.rank - 2;
  LoomDim last;

  if (!loom_op_rank (ctx, 0, "input", 4, 5, "images or volumes, batch × channels × …", "Put a reshape before it.")
      || !loom_op_rank (ctx, 1, "grid", n + 2, n + 2, "a position for each pixel of the output",
                        "Put a reshape before it.")
      || !loom_op_needs_float (ctx, 0, "input", NULL) || !loom_op_same_dtype (ctx, 1, 0, "grid"))
    return;
  last = grid->shape.dim[n + 1];
  if (!loom_dim_compatible (last, loom_dim (n)) || !loom_dim_compatible (x->shape.dim[0], grid->shape.dim[0]))
    {
      g_autofree char *a = loom_shape_to_string (&x->shape), *b = loom_shape_to_string (&grid->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "grid",
                        "The grid has a position of %d numbers for each pixel of the output, for as many samples as "
                        "the input, but got %s for an input %s.",
                        n, b, a);
      return;
    }
  for (int k = 0; k < n; k++)
    {
      shape.dim[k + 2] = grid->shape.dim[k + 1];
      if (loom_dim_is_known (x->shape.dim[k + 2]) && x->shape.dim[k + 2].coef == 0)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "input", "grid_sample needs an image with pixels.");
          return;
        }
    }
  if (n == 3 && g_str_equal (loom_infer_string (ctx, "mode"), "bicubic"))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "mode",
                        "bicubic is for images alone. Use bilinear, which is trilinear for volumes.");
      return;
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* ---- lowering ------------------------------------------------------------------ */

typedef struct
{
  LoomProgram *p;
  LoomDType dtype;
  gint64 n, channels, points, pixels, size[3]; /* of a sample: positions, pixels of the image */
  int dims;
  gboolean align, zeros, reflects;
  LoomValue table; /* [n · pixels, channels] */
} Sampler;

static LoomValue
number (const Sampler *s, double value)
{
  return loom_const (s->p, s->dtype, value);
}

static LoomValue
clamp (const Sampler *s, LoomValue v, gint64 size)
{
  LoomProgram *p = s->p;
  LoomValue zero = number (s, 0), most = number (s, (double)(size - 1));

  /* NaN compares as FALSE and becomes 0, a valid index. */
  v = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_GT, v, zero), v, zero);
  return loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_LT, v, most), v, most);
}

/* Reflects positions at the outer pixels' centres (align) or edges until they are inside. */
static LoomValue
reflect (const Sampler *s, LoomValue v, gint64 size)
{
  LoomProgram *p = s->p;
  double low = s->align ? 0 : -0.5, span = s->align ? (double)(size - 1) : (double)size;
  LoomValue turns, rest, odd;

  if (span == 0)
    return loom_binary (p, LOOM_SCALAR_MUL, v, number (s, 0));
  v = loom_unary (p, LOOM_SCALAR_ABS, loom_binary (p, LOOM_SCALAR_SUB, v, number (s, low)));
  turns = loom_unary (p, LOOM_SCALAR_FLOOR, loom_binary (p, LOOM_SCALAR_DIV, v, number (s, span)));
  rest = loom_binary (p, LOOM_SCALAR_SUB, v, loom_binary (p, LOOM_SCALAR_MUL, turns, number (s, span)));
  odd = loom_binary (p, LOOM_SCALAR_MUL, number (s, 2),
                     loom_unary (p, LOOM_SCALAR_FLOOR, loom_binary (p, LOOM_SCALAR_MUL, turns, number (s, 0.5))));
  odd = loom_binary (p, LOOM_SCALAR_NE, odd, turns);
  rest = loom_ternary (p, LOOM_SCALAR_SELECT, odd, loom_binary (p, LOOM_SCALAR_SUB, number (s, span), rest), rest);
  return loom_binary (p, LOOM_SCALAR_ADD, rest, number (s, low));
}

/* Moves positions, in pixels, into the image as the padding says. */
static LoomValue
inside (const Sampler *s, LoomValue v, gint64 size)
{
  if (s->zeros)
    return v;
  return clamp (s, s->reflects ? reflect (s, v, size) : v, size);
}

/* Positions [n, points, 1] along dimension k of the image, in pixels; x is the first number of a position. */
static LoomValue
position (const Sampler *s, LoomValue grid, int k)
{
  LoomProgram *p = s->p;
  LoomValue v = loom_slice (p, grid, (gint64[]){ 0, 0, s->dims - 1 - k }, (gint64[]){ 1, 1, 1 },
                            (gint64[]){ s->n, s->points, 1 });
  double size = (double)s->size[k];

  v = loom_binary (p, LOOM_SCALAR_ADD, v, number (s, 1));
  v = loom_binary (p, LOOM_SCALAR_MUL, v, number (s, (s->align ? size - 1 : size) / 2));
  return s->align ? v : loom_binary (p, LOOM_SCALAR_SUB, v, number (s, 0.5));
}

/* One pixel of each position: pixel[k] [n, points, 1] are whole numbers, weight is its factor. */
static LoomValue
tap (const Sampler *s, const LoomValue *pixel, LoomValue weight)
{
  LoomProgram *p = s->p;
  LoomValue index = 0, in[2], rows;

  for (int k = 0; k < s->dims; k++)
    {
      LoomValue v = loom_cast (p, clamp (s, pixel[k], s->size[k]), LOOM_I64);

      if (s->zeros)
        {
          LoomValue there
              = loom_binary (p, LOOM_SCALAR_AND, loom_binary (p, LOOM_SCALAR_GE, pixel[k], number (s, 0)),
                             loom_binary (p, LOOM_SCALAR_LE, pixel[k], number (s, (double)(s->size[k] - 1))));

          weight = loom_ternary (p, LOOM_SCALAR_SELECT, there, weight, number (s, 0));
        }
      index = index == 0
                  ? v
                  : loom_binary (p, LOOM_SCALAR_ADD, v,
                                 loom_binary (p, LOOM_SCALAR_MUL, index, loom_const (p, LOOM_I64, (double)s->size[k])));
    }
  index = loom_binary (p, LOOM_SCALAR_ADD, index, loom_op_iota_along (p, LOOM_I64, 3, 0, s->n, 0, (double)s->pixels));
  in[0] = s->table;
  in[1] = loom_reshape (p, index, 1, (gint64[]){ s->n * s->points });
  rows = loom_emit (p, loom_prim ("gather_rows"), NULL, 2, in, NULL);
  rows = loom_reshape (p, rows, 3, (gint64[]){ s->n, s->points, s->channels });
  return weight != 0 ? loom_binary (p, LOOM_SCALAR_MUL, rows, weight) : rows;
}

/* The factors of the four pixels around a position at distance t after the second one, by cubic convolution with A =
 * −3/4 (Keys, "Cubic convolution interpolation for digital image processing", 1981). */
static void
cubic (const Sampler *s, LoomValue t, LoomValue factor[4])
{
  LoomProgram *p = s->p;
  const double a = -0.75;

  for (int i = 0; i < 4; i++)
    {
      /* the distance of pixel i from the position: 1 + t, t, 1 − t, 2 − t */
      LoomValue d = i < 2 ? loom_binary (p, LOOM_SCALAR_ADD, t, number (s, 1 - i))
                          : loom_binary (p, LOOM_SCALAR_SUB, number (s, i - 1), t);
      const double inner[4] = { a + 2, -(a + 3), 0, 1 }, outer[4] = { a, -5 * a, 8 * a, -4 * a };
      const double *c = i == 1 || i == 2 ? inner : outer;
      LoomValue v = number (s, c[0]);

      for (int k = 1; k < 4; k++)
        v = loom_binary (p, LOOM_SCALAR_ADD, loom_binary (p, LOOM_SCALAR_MUL, v, d), number (s, c[k]));
      factor[i] = v;
    }
}

/* Sums the taps^dims pixels around each position. */
static LoomValue
interpolate (const Sampler *s, const LoomValue *at, int taps)
{
  LoomProgram *p = s->p;
  LoomValue first[3], factor[3][4], sum = 0;
  int n = 1;

  for (int k = 0; k < s->dims; k++)
    {
      LoomValue t;

      n *= taps;
      if (taps == 1)
        {
          first[k] = loom_unary (p, LOOM_SCALAR_ROUND, at[k]);
          continue;
        }
      first[k] = loom_unary (p, LOOM_SCALAR_FLOOR, at[k]);
      t = loom_binary (p, LOOM_SCALAR_SUB, at[k], first[k]);
      if (taps == 4)
        cubic (s, t, factor[k]);
      else
        {
          factor[k][0] = loom_binary (p, LOOM_SCALAR_SUB, number (s, 1), t);
          factor[k][1] = t;
        }
    }
  for (int i = 0; i < n; i++)
    {
      LoomValue pixel[3], weight = 0, part;

      for (int k = 0, rest = i; k < s->dims; k++, rest /= taps)
        {
          int offset = rest % taps - (taps == 4);

          pixel[k] = offset == 0 ? first[k] : loom_binary (p, LOOM_SCALAR_ADD, first[k], number (s, offset));
          if (taps == 4)
            pixel[k] = inside (s, pixel[k], s->size[k]);
          if (taps > 1)
            weight = weight == 0 ? factor[k][rest % taps]
                                 : loom_binary (p, LOOM_SCALAR_MUL, weight, factor[k][rest % taps]);
        }
      if (weight == 0 && s->zeros)
        weight = number (s, 1);
      part = tap (s, pixel, weight);
      sum = sum == 0 ? part : loom_binary (p, LOOM_SCALAR_ADD, sum, part);
    }
  return sum;
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  const char *mode = loom_infer_string (infer_ctx, "mode"), *padding = loom_infer_string (infer_ctx, "padding_mode");
  int taps = g_str_equal (mode, "nearest") ? 1 : g_str_equal (mode, "bicubic") ? 4 : 2;
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomValue x = loom_lower_input (ctx, 0), grid = loom_lower_input (ctx, 1), at[3], y;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  Sampler s = { .p = p,
                .dtype = d.dtype,
                .n = dims[0],
                .channels = dims[1],
                .points = 1,
                .pixels = 1,
                .dims = rank - 2,
                .align = loom_infer_bool (infer_ctx, "align_corners"),
                .zeros = g_str_equal (padding, "zeros"),
                .reflects = g_str_equal (padding, "reflection") };

  for (int k = 0; k < s.dims; k++)
    {
      s.size[k] = d.dim[2 + k];
      s.points *= dims[2 + k];
      s.pixels *= s.size[k];
    }
  x = loom_permute (p, loom_reshape (p, x, 3, (gint64[]){ s.n, s.channels, s.pixels }), (const int[]){ 0, 2, 1 });
  s.table = loom_reshape (p, x, 2, (gint64[]){ s.n * s.pixels, s.channels });
  grid = loom_reshape (p, grid, 3, (gint64[]){ s.n, s.points, s.dims });
  for (int k = 0; k < s.dims; k++)
    {
      at[k] = position (&s, grid, k);
      if (taps != 4)
        at[k] = inside (&s, at[k], s.size[k]);
    }
  y = loom_permute (p, interpolate (&s, at, taps), (const int[]){ 0, 2, 1 });
  loom_lower_output (ctx, 0, loom_reshape (p, y, rank, dims));
}

static double
flops (const LoomInfer *ctx)
{
  double taps = g_str_equal (loom_infer_string (ctx, "mode"), "bicubic") ? 16 : 8;

  return loom_op_output_count (ctx, 0) * taps * 2;
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,2,3,4", "f32:B,2,5,2" } },
  { .params = "padding_mode=border align_corners=true", .inputs = { "f32:2,1,3,3", "f32:2,3,2,2" } },
  { .params = "padding_mode=reflection", .inputs = { "f32:2,2,3,2", "f32:2,2,2,2" } },
  { .params = "mode=nearest", .inputs = { "f32:2,2,3,4", "f32:2,2,3,2" } },
  { .params = "mode=bicubic padding_mode=border", .inputs = { "f32:1,2,4,4", "f32:1,2,2,2" } },
  { .params = "padding_mode=reflection align_corners=true", .inputs = { "f32:1,2,2,3,3", "f32:1,2,2,1,3" } },
  { .inputs = { "f32:0,1,2,2", "f32:0,2,2,2" } },
  { NULL },
};

const LoomOp loom_op_grid_sample = {
  .name = "grid_sample",
  .title = "Grid sample",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-upsample-symbolic",
  .synonyms = "spatial transformer warp remap flow",
  .doc = "Reads an image or a volume at given positions, between which it interpolates.",
  .details = "Used to rotate, warp or deform images by positions that a network predicts (spatial transformer, optical "
             "flow). Gradients flow to the image and, except with nearest, to the positions.",
  .formula = "y[i, j] = x at grid[i, j]",
  .reference = "torch.nn.functional.grid_sample",
  .source = "Jaderberg, Simonyan, Zisserman and Kavukcuoglu, “Spatial Transformer Networks”, NeurIPS 2015, "
            "arXiv:1506.02025",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
