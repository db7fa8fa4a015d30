/* Imports GridSample: an image sampled at the positions in another tensor, composed of gathers.
 *
 * The value between pixels is a weighted sum of its 1 (nearest), 4 (bilinear) or 16 (bicubic) neighbours. Neighbours
 * outside are zeros, the edge, or a mirror image; each neighbour is mapped separately. PyTorch's grid_sample maps the
 * position first, with the same result, since both are linear in between. */
#include "engine/onnx/onnx-private.h"

#include <string.h>

typedef struct
{
  gint64 n, c, h, w, count; /* count: number of positions for one image */
  gboolean align;
  const char *padding;
  const OnnxWire *pixels; /* [N, C, H·W] */
  const OnnxWire *sum;
} Sampling;

static const OnnxWire *
plus (OnnxCtx *c, const OnnxWire *x, double y)
{
  return y == 0 ? x : onnx_with_number (c, "add", x, y);
}

static const OnnxWire *
times (OnnxCtx *c, const OnnxWire *x, double y)
{
  return y == 1 ? x : onnx_with_number (c, "mul", x, y);
}

/* −1 and 1 are the outer edges of the outermost pixels, or (align_corners) their centres. */
static const OnnxWire *
coordinate (OnnxCtx *c, const Sampling *s, const OnnxWire *grid, gint64 which, gint64 size)
{
  LoomShape line = loom_shape (3, (gint64[]){ s->n, 1, s->count });
  const OnnxWire *g = onnx_reshape (c, onnx_slice (c, grid, 3, which, which + 1, 1), &line);

  g = times (c, plus (c, g, 1), (double)(s->align ? size - 1 : size) / 2);
  return s->align ? g : plus (c, g, -0.5);
}

/* Maps the number of a pixel into the image. *inside: 1 or 0 if pixels outside count as zero, else NULL. */
static const OnnxWire *
bring_inside (OnnxCtx *c, const Sampling *s, const OnnxWire *at, gint64 size, const OnnxWire **inside)
{
  *inside = NULL;
  if (g_str_equal (s->padding, "zeros"))
    *inside = onnx_cast (c,
                         onnx_binary (c, "logical_and", onnx_with_number (c, "ge", at, 0),
                                      onnx_with_number (c, "le", at, (double)size - 1)),
                         LOOM_F32);
  else if (g_str_equal (s->padding, "reflection"))
    {
      /* A triangle wave between the two mirrors. */
      double low = s->align ? 0 : -0.5, span = s->align ? (double)size - 1 : (double)size;
      if (span > 0)
        {
          at = onnx_with_number (c, "fmod", onnx_unary (c, "abs", plus (c, at, -low)), 2 * span);
          at = onnx_unary (c, "abs", plus (c, at, -span));
          at = plus (c, onnx_unary (c, "neg", at), span + low);
        }
    }
  return onnx_emit (c, "clamp", ONNX_IN (at), "min", "0", "max", onnx_number (c, (double)size - 1), NULL);
}

/* Adds weight times the pixel at (x, y); x and y are integers as floats. */
static void
add_tap (OnnxCtx *c, Sampling *s, const OnnxWire *x, const OnnxWire *y, const OnnxWire *weight)
{
  const OnnxWire *in_x, *in_y, *v;
  LoomShape wide = loom_shape (3, (gint64[]){ s->n, s->c, s->count });

  x = bring_inside (c, s, x, s->w, &in_x);
  y = bring_inside (c, s, y, s->h, &in_y);
  const OnnxWire *at
      = onnx_binary (c, "add", times (c, onnx_cast (c, onnx_unary (c, "round", y), LOOM_I64), (double)s->w),
                     onnx_cast (c, onnx_unary (c, "round", x), LOOM_I64));
  at = s->c == 1 ? at : onnx_emit (c, "expand", ONNX_IN (at), "shape", onnx_dims (c, &wide), NULL);
  v = onnx_emit (c, "gather", ONNX_IN (s->pixels, at), "dim", "2", NULL);
  if (in_x != NULL)
    v = onnx_binary (c, "mul", v, onnx_binary (c, "mul", in_x, in_y));
  if (weight != NULL)
    v = onnx_binary (c, "mul", v, weight);
  s->sum = s->sum != NULL ? onnx_binary (c, "add", s->sum, v) : v;
}

/* Keys' cubic with a = -0.75, at the four distances 1 + t, t, 1 - t and 2 - t (Horner's scheme). */
static void
cubic_weights (OnnxCtx *c, const OnnxWire *t, const OnnxWire *weight[4])
{
  const double a = -0.75;
  const OnnxWire *one_less = plus (c, times (c, t, -1), 1);

  for (int k = 0; k < 4; k++)
    {
      gboolean near = k == 1 || k == 2;
      const OnnxWire *d = k < 2 ? t : one_less, *y;
      d = near ? d : plus (c, d, 1);
      if (near)
        {
          y = plus (c, times (c, d, a + 2), -(a + 3));
          y = plus (c, onnx_binary (c, "mul", onnx_binary (c, "mul", y, d), d), 1);
        }
      else
        {
          y = plus (c, times (c, d, a), -5 * a);
          y = plus (c, onnx_binary (c, "mul", y, d), 8 * a);
          y = plus (c, onnx_binary (c, "mul", y, d), -4 * a);
        }
      weight[k] = y;
    }
}

static void
interpolate (OnnxCtx *c, Sampling *s, const OnnxWire *x, const OnnxWire *y, gboolean cubic)
{
  const OnnxWire *x0 = onnx_unary (c, "floor", x), *y0 = onnx_unary (c, "floor", y), *wx[4], *wy[4];
  const OnnxWire *tx = onnx_binary (c, "sub", x, x0), *ty = onnx_binary (c, "sub", y, y0);
  int n = cubic ? 4 : 2, first = cubic ? -1 : 0;

  if (cubic)
    {
      cubic_weights (c, tx, wx);
      cubic_weights (c, ty, wy);
    }
  else
    {
      wx[0] = plus (c, times (c, tx, -1), 1);
      wy[0] = plus (c, times (c, ty, -1), 1);
      wx[1] = tx;
      wy[1] = ty;
    }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      add_tap (c, s, plus (c, x0, i + first), plus (c, y0, j + first), onnx_binary (c, "mul", wx[i], wy[j]));
}

void
onnx_map_grid_sample (OnnxCtx *c)
{
  const OnnxWire *image = onnx_in (c, 0), *grid = onnx_in (c, 1);
  const char *mode = onnx_opset (c) < 20 ? onnx_attr_word (c, "mode", "bilinear", "nearest", "bicubic")
                                         : onnx_attr_word (c, "mode", "linear", "nearest", "cubic");

  if (!c->failed && (image->type.shape.rank != 4 || grid->type.shape.rank != 4))
    onnx_fail (c, "only images [batch, channels, height, width] are supported.");
  if (c->failed)
    return;
  Sampling s = { .n = onnx_dim (c, image, 0),
                 .c = onnx_dim (c, image, 1),
                 .h = onnx_dim (c, image, 2),
                 .w = onnx_dim (c, image, 3),
                 .count = onnx_dim (c, grid, 1) * onnx_dim (c, grid, 2),
                 .align = onnx_attr_int (c, "align_corners", 0) != 0,
                 .padding = onnx_attr_word (c, "padding_mode", "zeros", "border", "reflection") };
  LoomShape flat = loom_shape (3, (gint64[]){ s.n, s.c, s.h * s.w });
  LoomShape out = loom_shape (4, (gint64[]){ s.n, s.c, onnx_dim (c, grid, 1), onnx_dim (c, grid, 2) });
  s.pixels = onnx_reshape (c, image, &flat);
  const OnnxWire *x = coordinate (c, &s, grid, 0, s.w), *y = coordinate (c, &s, grid, 1, s.h);
  if (g_str_equal (mode, "nearest"))
    add_tap (c, &s, onnx_unary (c, "round", x), onnx_unary (c, "round", y), NULL);
  else
    interpolate (c, &s, x, y, g_str_has_suffix (mode, "cubic"));
  onnx_out (c, 0, onnx_reshape (c, s.sum, &out));
}
