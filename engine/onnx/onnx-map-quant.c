/* ONNX's quantisation: numbers in eight bits and the formulas around them. Products of eight-bit numbers are computed
 * as floats, which hold integers up to 2²⁴ exactly: sums of some 250 products. */
#include "engine/onnx/onnx-private.h"
#include "engine/onnx/onnx-window.h"

/* [C] beside dimension axis of x; a single number stays one. */
static const OnnxWire *
along (OnnxCtx *c, const OnnxWire *v, const OnnxWire *x)
{
  int rank = x->type.shape.rank;
  LoomShape shape = { .rank = 1, .dim = { v->type.shape.dim[0] } };

  if (v->type.shape.rank != 1 || loom_dim_equal (v->type.shape.dim[0], loom_dim (1)))
    return v;
  for (int i = onnx_axis (c, onnx_attr_int (c, "axis", 1), rank) + 1; i < rank; i++)
    shape.dim[shape.rank++] = loom_dim (1);
  return onnx_reshape (c, v, &shape);
}

/* TRUE if zero points of this input are signed; our types do not tell, since i8 is carried as i64. */
static gboolean
is_signed (const OnnxWire *zero)
{
  return zero != NULL && zero->type.dtype != LOOM_U8;
}

static const OnnxWire *
to_float (OnnxCtx *c, const OnnxWire *x)
{
  return onnx_cast (c, x, LOOM_F32);
}

static const OnnxWire *
quantize (OnnxCtx *c, const OnnxWire *x, const OnnxWire *scale, const OnnxWire *zero)
{
  gboolean sign = is_signed (zero);
  const OnnxWire *y = onnx_unary (c, "round", onnx_binary (c, "div", x, scale));

  if (zero != NULL)
    y = onnx_binary (c, "add", y, to_float (c, zero));
  y = onnx_emit (c, "clamp", ONNX_IN (y), "min", sign ? "-128" : "0", "max", sign ? "127" : "255", NULL);
  return onnx_cast (c, y, zero != NULL ? zero->type.dtype : LOOM_U8);
}

static void
map_quantize (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);

  onnx_out (c, 0,
            quantize (c, to_float (c, x), along (c, onnx_in (c, 1), x),
                      onnx_has (c, 2) ? along (c, onnx_in (c, 2), x) : NULL));
}

static const OnnxWire *
centred (OnnxCtx *c, const OnnxWire *x, const OnnxWire *zero)
{
  return zero != NULL ? onnx_binary (c, "sub", to_float (c, x), to_float (c, zero)) : to_float (c, x);
}

static void
map_dequantize (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  const OnnxWire *y = centred (c, x, onnx_has (c, 2) ? along (c, onnx_in (c, 2), x) : NULL);

  onnx_out (c, 0, onnx_binary (c, "mul", y, along (c, onnx_in (c, 1), x)));
}

/* The range of x, with 0 in it, over 255 steps. */
static void
map_dynamic (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *flat;
  LoomShape line = { .rank = 1, .dim = { loom_shape_count (&x->type.shape) } };

  flat = onnx_reshape (c, x, &line);
  const OnnxWire *low = onnx_emit (c, "min", ONNX_IN (flat), "dim", "0", NULL);
  const OnnxWire *high = onnx_emit (c, "max", ONNX_IN (flat), "dim", "0", NULL);
  low = onnx_emit (c, "clamp", ONNX_IN (low), "max", "0", NULL);
  high = onnx_emit (c, "clamp", ONNX_IN (high), "min", "0", NULL);
  const OnnxWire *scale = onnx_with_number (c, "div", onnx_binary (c, "sub", high, low), 255);
  const OnnxWire *zero = onnx_unary (c, "round", onnx_unary (c, "neg", onnx_binary (c, "div", low, scale)));
  zero = onnx_emit (c, "clamp", ONNX_IN (zero), "min", "0", "max", "255", NULL);
  zero = onnx_cast (c, zero, LOOM_U8);
  onnx_out (c, 0, quantize (c, x, scale, zero));
  onnx_out (c, 1, scale);
  onnx_out (c, 2, zero);
}

/* A zero point for each row of the first matrix or column of the second. */
static const OnnxWire *
rows (OnnxCtx *c, const OnnxWire *zero, const OnnxWire *x)
{
  LoomShape shape = loom_shape (2, (gint64[]){ 1, 1 });

  if (zero == NULL || zero->type.shape.rank != 1 || x->type.shape.rank < 2)
    return zero;
  shape.dim[0] = zero->type.shape.dim[0];
  return onnx_reshape (c, zero, &shape);
}

static void
map_matmul_integer (OnnxCtx *c)
{
  const OnnxWire *a = onnx_in (c, 0), *b = onnx_in (c, 1);

  a = centred (c, a, onnx_has (c, 2) ? rows (c, onnx_in (c, 2), a) : NULL);
  b = centred (c, b, onnx_has (c, 3) ? onnx_in (c, 3) : NULL);
  onnx_out (c, 0, onnx_cast (c, onnx_binary (c, "matmul", a, b), LOOM_I32));
}

/* Inputs: a, its scale and zero point, b, its scale and zero point, and those of the result. */
static void
map_qlinear_matmul (OnnxCtx *c)
{
  const OnnxWire *a = onnx_in (c, 0), *b = onnx_in (c, 3), *y;

  y = onnx_binary (c, "matmul", centred (c, a, rows (c, onnx_in (c, 2), a)), centred (c, b, onnx_in (c, 5)));
  y = onnx_binary (c, "mul", y, onnx_binary (c, "mul", rows (c, onnx_in (c, 1), a), onnx_in (c, 4)));
  onnx_out (c, 0, quantize (c, y, onnx_in (c, 6), onnx_in (c, 7)));
}

static const OnnxWire *
convolve (OnnxCtx *c, const OnnxWire *x, const OnnxWire *w, const OnnxWire *bias)
{
  int n = x->type.shape.rank - 2;
  OnnxWindow window;

  if (!c->failed && (n < 1 || n > 3))
    onnx_fail (c, "of %d dimensions there is none.", n);
  for (int i = 0; i < n && !c->failed; i++)
    window.kernel[i] = onnx_dim (c, w, i + 2);
  if (c->failed || !onnx_window_read (c, &window, x, n))
    return x;
  x = onnx_window_pad (c, &window, x, "0");
  return onnx_emit (c, onnx_text (c, "conv%dd", n), ONNX_IN (x, w, bias), "out_channels",
                    onnx_text (c, "%" G_GINT64_FORMAT, onnx_dim (c, w, 0)), "kernel_size",
                    onnx_list (c, (guint)n, window.kernel), "stride", onnx_list (c, (guint)n, window.stride), "padding",
                    onnx_window_padding (c, &window, TRUE), "dilation", onnx_list (c, (guint)n, window.dilation),
                    "groups", onnx_text (c, "%" G_GINT64_FORMAT, onnx_attr_int (c, "group", 1)), "bias",
                    bias != NULL ? NULL : "false", NULL);
}

/* A zero point for each output channel, beside [out, in, …]. */
static const OnnxWire *
channels (OnnxCtx *c, const OnnxWire *v, const OnnxWire *x, int axis)
{
  LoomShape shape = { .rank = 1, .dim = { v->type.shape.dim[0] } };

  if (v->type.shape.rank != 1)
    return v;
  while (shape.rank < x->type.shape.rank - axis)
    shape.dim[shape.rank++] = loom_dim (1);
  return onnx_reshape (c, v, &shape);
}

static void
map_conv_integer (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_in (c, 1);

  x = centred (c, x, onnx_has (c, 2) ? onnx_in (c, 2) : NULL);
  w = centred (c, w, onnx_has (c, 3) ? channels (c, onnx_in (c, 3), w, 0) : NULL);
  onnx_out (c, 0, onnx_cast (c, convolve (c, x, w, NULL), LOOM_I32));
}

static void
map_qlinear_conv (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_in (c, 3), *y, *scale;
  const OnnxWire *bias = onnx_has (c, 8) ? to_float (c, onnx_in (c, 8)) : NULL;

  y = convolve (c, centred (c, x, onnx_in (c, 2)), centred (c, w, channels (c, onnx_in (c, 5), w, 0)), bias);
  scale = onnx_binary (c, "mul", onnx_in (c, 1), channels (c, onnx_in (c, 4), x, 1));
  onnx_out (c, 0, quantize (c, onnx_binary (c, "mul", y, scale), onnx_in (c, 6), onnx_in (c, 7)));
}

const OnnxMap onnx_map_quant[] = {
  { "QuantizeLinear", "round", map_quantize },       { "DequantizeLinear", "mul", map_dequantize },
  { "DynamicQuantizeLinear", "round", map_dynamic }, { "MatMulInteger", "matmul", map_matmul_integer },
  { "QLinearMatMul", "matmul", map_qlinear_matmul }, { "ConvInteger", "conv2d", map_conv_integer },
  { "QLinearConv", "conv2d", map_qlinear_conv },     { NULL },
};
