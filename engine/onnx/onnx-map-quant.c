/* Imports quantisation: numbers in 2 to 16 bits and the formulas for them. Quantised weights become floats at import
 * (onnx-map-weights.c).
 *
 * Sums of products of bytes are exact, as ONNX requires, and computed as floats, which represent integers up to 2²⁴
 * exactly: some 250 products. For more of them a factor is split into two halves of four bits, each half is multiplied
 * separately, and the products are added as i32. */
#include "engine/onnx/onnx-private.h"

#include <math.h>
#include "engine/onnx/onnx-window.h"

/* A line of numbers, one for each position of an axis of x; others are unchanged. */
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

/* A number for each block of `block_size` numbers along an axis, repeated to the shape of x. */
static const OnnxWire *
blocks_of (OnnxCtx *c, const OnnxWire *v, const OnnxWire *x, gint64 block)
{
  int axis = onnx_axis (c, onnx_attr_int (c, "axis", 1), x->type.shape.rank);
  gint64 n = onnx_dim (c, v, axis), size = onnx_dim (c, x, axis);

  if (n == size || c->failed)
    return v;
  if (block == 0 && n > 0)
    block = (size + n - 1) / n;
  if (block < 1 || (size + block - 1) / block != n)
    onnx_fail (c,
               "%" G_GINT64_FORMAT " scales do not fit %" G_GINT64_FORMAT " numbers in blocks of %" G_GINT64_FORMAT ".",
               n, size, block);
  v = onnx_emit (c, "repeat_interleave", ONNX_IN (v), "repeats", onnx_text (c, "%" G_GINT64_FORMAT, block), "dim",
                 onnx_text (c, "%d", axis), NULL);
  return n * block > size ? onnx_slice (c, v, axis, 0, size, 1) : v;
}

/* [C] along dimension axis of x, and numbers of blocks; a single number is unchanged. */
static const OnnxWire *
along (OnnxCtx *c, const OnnxWire *v, const OnnxWire *x)
{
  int rank = x->type.shape.rank;
  gint64 block = onnx_attr_int (c, "block_size", 0), axis = onnx_attr_int (c, "axis", 1);

  if (v->type.shape.rank == rank && (rank > 1 || block > 0))
    return blocks_of (c, v, x, block);
  if (v->type.shape.rank != 1 || loom_dim_equal (v->type.shape.dim[0], loom_dim (1)))
    return v;
  return channels (c, v, x, onnx_axis (c, axis, rank));
}

#define MAX_PARTS 64 /* of a concatenation */

#define UINT8 ONNX__TENSOR_PROTO__DATA_TYPE__UINT8

static const OnnxWire *
to_float (OnnxCtx *c, const OnnxWire *x)
{
  return onnx_cast (c, x, LOOM_F32);
}

/* Rounds, and clamps to the range of an element type of ONNX. */
static const OnnxWire *
quantize (OnnxCtx *c, const OnnxWire *x, const OnnxWire *scale, const OnnxWire *zero, int elem_type)
{
  const OnnxWire *y = onnx_binary (c, "div", x, scale);
  gint64 least = 0, most = 0;
  LoomDType dtype = LOOM_U8;

  if (onnx_is_small_float (elem_type))
    return onnx_to_small_float (c, y, elem_type, onnx_attr_int (c, "saturate", 1) != 0, "up");
  y = onnx_unary (c, "round", y);
  if (!onnx_type_range (elem_type, &least, &most) || !onnx_dtype (elem_type, &dtype) || most > G_MAXUINT16)
    onnx_fail (
        c,
        "its output type is %s; only integers of 2 to 16 bits and floats of 4 and 8 bits are supported. Quantise "
        "the model to one of them.",
        elem_type != 0 ? onnx_type_name (elem_type) : "not known");
  if (zero != NULL)
    y = onnx_binary (c, "add", y, to_float (c, zero));
  y = onnx_clamp (c, y, (double)least, (double)most);
  return onnx_cast (c, y, dtype);
}

/* Without a zero point the type is output_dtype, and uint8 if that is absent too. */
static void
map_quantize (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  int asked = (int)onnx_attr_int (c, "output_dtype", 0), type = onnx_has (c, 2) ? onnx_elem_type (c, 2) : asked;

  if (asked != 0 && type != asked)
    onnx_fail (c, "its “output_dtype” is %s, but its zero point is %s.", onnx_type_name (asked), onnx_type_name (type));
  onnx_out (c, 0,
            quantize (c, to_float (c, x), along (c, onnx_in (c, 1), x),
                      onnx_has (c, 2) ? along (c, onnx_in (c, 2), x) : NULL,
                      type == 0 && !onnx_has (c, 2) ? UINT8 : type));
}

/* For 32-bit integers the difference is computed before they are rounded to floats. */
static const OnnxWire *
centred (OnnxCtx *c, const OnnxWire *x, const OnnxWire *zero)
{
  if (zero != NULL && x->type.dtype == LOOM_I32)
    return to_float (c, onnx_binary (c, "sub", x, zero));
  return zero != NULL ? onnx_binary (c, "sub", to_float (c, x), to_float (c, zero)) : to_float (c, x);
}

static void
map_dequantize (OnnxCtx *c)
{
  if (onnx_dequantize_weight (c))
    return;
  const OnnxWire *x = onnx_in (c, 0), *scale = along (c, onnx_in (c, 1), x);
  const OnnxWire *y = centred (c, x, onnx_has (c, 2) ? along (c, onnx_in (c, 2), x) : NULL);
  int asked = (int)onnx_attr_int (c, "output_dtype", 0);
  LoomDType dtype = scale->type.dtype;

  if (asked != 0 && !onnx_wire_dtype (asked, &dtype))
    onnx_fail (c, "its output type is %s, which graphs do not have.", onnx_type_name (asked));
  onnx_out (c, 0, onnx_cast (c, onnx_binary (c, "mul", y, scale), dtype));
}

/* x as bytes; the scale is the range of x, extended to include 0, divided by 255 steps. */
static const OnnxWire *
quantize_by_range (OnnxCtx *c, const OnnxWire *x, const OnnxWire **scale, const OnnxWire **zero)
{
  const OnnxWire *flat;
  LoomShape line = { .rank = 1, .dim = { loom_shape_count (&x->type.shape) } };

  flat = onnx_reshape (c, x, &line);
  const OnnxWire *low = onnx_emit (c, "min", ONNX_IN (flat), "dim", "0", NULL);
  const OnnxWire *high = onnx_emit (c, "max", ONNX_IN (flat), "dim", "0", NULL);
  low = onnx_clamp (c, low, -INFINITY, 0);
  high = onnx_clamp (c, high, 0, INFINITY);
  const OnnxWire *span = onnx_binary (c, "sub", high, low);
  /* For zeros alone the scale is 1. */
  span = onnx_emit (c, "where", ONNX_IN (onnx_with_number (c, "eq", span, 0), NULL, span), "input", "255", NULL);
  *scale = onnx_with_number (c, "div", span, 255);
  *zero = onnx_unary (c, "round", onnx_unary (c, "neg", onnx_binary (c, "div", low, *scale)));
  *zero = onnx_clamp (c, *zero, 0, 255);
  *zero = onnx_cast (c, *zero, LOOM_U8);
  return quantize (c, x, *scale, *zero, UINT8);
}

static void
map_dynamic (OnnxCtx *c)
{
  const OnnxWire *scale, *zero;

  onnx_out (c, 0, quantize_by_range (c, onnx_in (c, 0), &scale, &zero));
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

/* ---- exact sums ------------------------------------------------------- */

typedef const OnnxWire *(*Product) (OnnxCtx *c, const OnnxWire *a, const OnnxWire *b);

/* The largest sum of products that a float represents exactly. */
#define MAX_EXACT 16777216
#define MAX_BYTE  255
#define MAX_HALF  16

/* v is 16 part[1] + part[0]; v is from -255 to 255, its halves from -16 to 15. */
static guint
halve (OnnxCtx *c, const OnnxWire *part[2])
{
  const OnnxWire *v = part[0];

  part[1] = onnx_unary (c, "floor", onnx_with_number (c, "mul", v, 1.0 / MAX_HALF));
  part[0] = onnx_binary (c, "sub", v, onnx_with_number (c, "mul", part[1], MAX_HALF));
  return 2;
}

/* A product of differences of bytes, as i32; each element is a sum of n. */
static const OnnxWire *
multiply_exactly (OnnxCtx *c, Product multiply, const OnnxWire *a, const OnnxWire *b, gint64 n)
{
  const OnnxWire *left[2] = { a }, *right[2] = { b }, *sum = NULL;
  guint n_left = 1, n_right = 1;

  if (n > MAX_EXACT / (MAX_BYTE * MAX_BYTE))
    n_left = halve (c, left);
  if (n > MAX_EXACT / (MAX_HALF * MAX_BYTE))
    n_right = halve (c, right);
  if (n > MAX_EXACT / (MAX_HALF * MAX_HALF))
    onnx_fail (c, "its sums have %" G_GINT64_FORMAT " products; at most %d are computed exactly.", n,
               MAX_EXACT / (MAX_HALF * MAX_HALF));
  for (guint i = 0; i < n_left; i++)
    for (guint k = 0; k < n_right; k++)
      {
        const OnnxWire *part = onnx_cast (c, multiply (c, left[i], right[k]), LOOM_I32);

        if (i + k > 0)
          part = onnx_with_number (c, "mul", part, i + k > 1 ? MAX_HALF * MAX_HALF : MAX_HALF);
        sum = sum != NULL ? onnx_binary (c, "add", sum, part) : part;
      }
  return sum;
}

static const OnnxWire *
matmul (OnnxCtx *c, const OnnxWire *a, const OnnxWire *b)
{
  return onnx_binary (c, "matmul", a, b);
}

static const OnnxWire *
matmul_exactly (OnnxCtx *c, const OnnxWire *a, const OnnxWire *b)
{
  int last = a->type.shape.rank - 1;
  gboolean known = last >= 0 && loom_dim_is_known (a->type.shape.dim[last]);

  return multiply_exactly (c, matmul, a, b,
                           known ? a->type.shape.dim[last].coef : onnx_dim (c, b, MAX (b->type.shape.rank - 2, 0)));
}

static void
map_matmul_integer (OnnxCtx *c)
{
  const OnnxWire *a = onnx_in (c, 0), *b = onnx_in (c, 1);

  a = centred (c, a, onnx_has (c, 2) ? rows (c, onnx_in (c, 2), a) : NULL);
  b = centred (c, b, onnx_has (c, 3) ? onnx_in (c, 3) : NULL);
  onnx_out (c, 0, matmul_exactly (c, a, b));
}

/* Inputs: a, its scale and zero point, b, its scale and zero point, and those of the result. */
static void
map_qlinear_matmul (OnnxCtx *c)
{
  const OnnxWire *a = onnx_in (c, 0), *b = onnx_in (c, 3), *y;

  y = matmul_exactly (c, centred (c, a, rows (c, onnx_in (c, 2), a)), centred (c, b, onnx_in (c, 5)));
  y = onnx_binary (c, "mul", to_float (c, y), onnx_binary (c, "mul", rows (c, onnx_in (c, 1), a), onnx_in (c, 4)));
  onnx_out (c, 0, quantize (c, y, onnx_in (c, 6), onnx_in (c, 7), onnx_elem_type (c, 7)));
}

static const OnnxWire *
convolve (OnnxCtx *c, const OnnxWire *x, const OnnxWire *w)
{
  int n = x->type.shape.rank - 2;
  OnnxWindow window;

  if (!c->failed && (n < 1 || n > 3))
    onnx_fail (c, "%d dimensions are not supported.", n);
  for (int i = 0; i < n && !c->failed; i++)
    window.kernel[i] = onnx_dim (c, w, i + 2);
  if (c->failed || !onnx_window_read (c, &window, x, n))
    return x;
  x = onnx_window_pad (c, &window, x, "0");
  return onnx_emit (c, onnx_text (c, "conv%dd", n), ONNX_IN (x, w), "out_channels",
                    onnx_text (c, "%" G_GINT64_FORMAT, onnx_dim (c, w, 0)), "kernel_size",
                    onnx_list (c, (guint)n, window.kernel), "stride", onnx_list (c, (guint)n, window.stride), "padding",
                    onnx_window_padding (c, &window, TRUE), "dilation", onnx_list (c, (guint)n, window.dilation),
                    "groups", onnx_text (c, "%" G_GINT64_FORMAT, onnx_attr_int (c, "group", 1)), "bias", "false", NULL);
}

static const OnnxWire *
convolve_exactly (OnnxCtx *c, const OnnxWire *x, const OnnxWire *w)
{
  gint64 n = 1;

  onnx_check_kernel (c, w);
  for (int i = 1; i < w->type.shape.rank && n < MAX_EXACT; i++)
    n *= onnx_dim (c, w, i);
  return multiply_exactly (c, convolve, x, w, n);
}

static void
map_conv_integer (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_in (c, 1);

  x = centred (c, x, onnx_has (c, 2) ? onnx_in (c, 2) : NULL);
  w = centred (c, w, onnx_has (c, 3) ? channels (c, onnx_in (c, 3), w, 0) : NULL);
  onnx_out (c, 0, convolve_exactly (c, x, w));
}

static void
map_qlinear_conv (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_in (c, 3), *y, *scale;

  y = convolve_exactly (c, centred (c, x, onnx_in (c, 2)), centred (c, w, channels (c, onnx_in (c, 5), w, 0)));
  if (onnx_has (c, 8))
    y = onnx_binary (c, "add", y, channels (c, onnx_in (c, 8), x, 1));
  scale = onnx_binary (c, "mul", onnx_in (c, 1), channels (c, onnx_in (c, 4), x, 1));
  onnx_out (c, 0,
            quantize (c, onnx_binary (c, "mul", to_float (c, y), scale), onnx_in (c, 6), onnx_in (c, 7),
                      onnx_elem_type (c, 7)));
}

/* ---- com.microsoft: quantised layers of onnxruntime ----------------------------------------------------------- */

/* Scale and zero point of input i are inputs i + 1 and i + 2; the zero point may be missing. */
static const OnnxWire *
dequantized (OnnxCtx *c, guint i)
{
  return onnx_binary (c, "mul", centred (c, onnx_in (c, i), onnx_has (c, i + 2) ? onnx_in (c, i + 2) : NULL),
                      onnx_in (c, i + 1));
}

/* The result, with scale and zero point from inputs i and i + 1. */
static void
quantized_out (OnnxCtx *c, const OnnxWire *y, guint i)
{
  gboolean has_zero = onnx_has (c, i + 1);

  onnx_out (c, 0,
            quantize (c, y, onnx_in (c, i), has_zero ? onnx_in (c, i + 1) : NULL,
                      has_zero ? onnx_elem_type (c, i + 1) : UINT8));
}

/* QLinearAdd, QLinearMul */
static void
map_qlinear_pair (OnnxCtx *c)
{
  quantized_out (c, onnx_binary (c, c->map->op, dequantized (c, 0), dequantized (c, 3)), 6);
}

static void
map_qlinear_unary (OnnxCtx *c)
{
  const OnnxWire *x = dequantized (c, 0);

  if (g_str_equal (c->map->op, "leaky_relu"))
    x = onnx_emit (c, "leaky_relu", ONNX_IN (x), "negative_slope", onnx_number (c, onnx_attr_float (c, "alpha", 0.01)),
                   NULL);
  else
    x = onnx_unary (c, c->map->op, x);
  quantized_out (c, x, 3);
}

/* The mean over all dimensions after batch and channels; with `channels_last` over those between. */
static void
map_qlinear_global_pool (OnnxCtx *c)
{
  const OnnxWire *x = dequantized (c, 0);
  gint64 axes[LOOM_SHAPE_MAX_RANK], first = onnx_attr_int (c, "channels_last", 0) ? 1 : 2;
  int n = x->type.shape.rank - 2;

  for (int i = 0; i < n; i++)
    axes[i] = first + i;
  if (n < 1)
    onnx_fail (c, "it has no dimension to pool.");
  quantized_out (c, onnx_reduce (c, "mean", x, (guint)MAX (n, 1), axes, TRUE), 3);
}

static void
map_qlinear_softmax (OnnxCtx *c)
{
  const OnnxWire *x = dequantized (c, 0);
  int rank = x->type.shape.rank, axis = onnx_axis (c, onnx_attr_int (c, "axis", -1), MAX (rank, 1));

  if (onnx_attr_int (c, "opset", 13) < 13 && axis != rank - 1)
    onnx_fail (c, "its softmax over several dimensions is not supported.");
  quantized_out (c, onnx_emit (c, "softmax", ONNX_IN (x), "dim", onnx_text (c, "%d", axis), NULL), 3);
}

/* Inputs: scale and zero point of the result, then each part with its own. */
static void
map_qlinear_concat (OnnxCtx *c)
{
  guint n = (onnx_n_inputs (c) - 2) / 3;
  const OnnxWire **part = g_newa (const OnnxWire *, MAX_PARTS);

  if (onnx_n_inputs (c) < 5 || n > MAX_PARTS)
    {
      onnx_fail (c, "it has %u inputs; 1 to %d parts are supported.", onnx_n_inputs (c), MAX_PARTS);
      return;
    }
  for (guint i = 0; i < n; i++)
    part[i] = dequantized (c, 2 + 3 * i);
  quantized_out (c,
                 onnx_emit (c, "concat", n, part, "dim",
                            onnx_text (c, "%d", onnx_axis (c, onnx_attr_int (c, "axis", 0), part[0]->type.shape.rank)),
                            NULL),
                 0);
}

static const OnnxWire *
turned (OnnxCtx *c, const OnnxWire *x, const char *attribute)
{
  return onnx_attr_int (c, attribute, 0) ? onnx_permute (c, x, (gint64[]){ 1, 0 }) : x;
}

/* alpha a b + c, where c has the scale alpha · a's · b's; without the scale of a result, inputs 7 and 8, it is a float.
 */
static void
map_qgemm (OnnxCtx *c)
{
  const OnnxWire *a = centred (c, turned (c, onnx_in (c, 0), "transA"), onnx_in (c, 2));
  const OnnxWire *b = centred (c, turned (c, onnx_in (c, 3), "transB"), onnx_in (c, 5));
  const OnnxWire *y = matmul_exactly (c, a, b);
  const OnnxWire *scale = onnx_binary (c, "mul", onnx_in (c, 1), onnx_in (c, 4));

  if (onnx_has (c, 6))
    y = onnx_binary (c, "add", y, onnx_in (c, 6));
  y = onnx_with_number (c, "mul", onnx_binary (c, "mul", to_float (c, y), scale), onnx_attr_float (c, "alpha", 1));
  if (onnx_has (c, 7))
    quantized_out (c, y, 7);
  else
    onnx_out (c, 0, y);
}

/* Inputs: a, b, their scales, their zero points, a bias. */
static void
map_matmul_integer_to_float (OnnxCtx *c)
{
  const OnnxWire *a = centred (c, onnx_in (c, 0), onnx_has (c, 4) ? onnx_in (c, 4) : NULL);
  const OnnxWire *b = centred (c, onnx_in (c, 1), onnx_has (c, 5) ? onnx_in (c, 5) : NULL);
  const OnnxWire *y = to_float (c, matmul_exactly (c, a, b));

  y = onnx_binary (c, "mul", y, onnx_binary (c, "mul", onnx_in (c, 2), onnx_in (c, 3)));
  onnx_out (c, 0, onnx_has (c, 6) ? onnx_binary (c, "add", y, onnx_in (c, 6)) : y);
}

/* a is quantised by its own range; inputs: a, b, b's scale and zero point, a bias. */
static void
map_dynamic_matmul (OnnxCtx *c)
{
  const OnnxWire *scale, *zero, *a = quantize_by_range (c, onnx_in (c, 0), &scale, &zero);
  const OnnxWire *b = centred (c, onnx_in (c, 1), onnx_has (c, 3) ? onnx_in (c, 3) : NULL);
  const OnnxWire *y = to_float (c, matmul_exactly (c, centred (c, a, zero), b));

  y = onnx_binary (c, "mul", y, onnx_binary (c, "mul", scale, onnx_in (c, 2)));
  onnx_out (c, 0, onnx_has (c, 4) ? onnx_binary (c, "add", y, onnx_in (c, 4)) : y);
}

const OnnxMap onnx_map_quant[] = {
  { "QuantizeLinear", "round", map_quantize },
  { "DequantizeLinear", "mul", map_dequantize },
  { "DynamicQuantizeLinear", "round", map_dynamic },
  { "MatMulInteger", "matmul", map_matmul_integer },
  { "QLinearMatMul", "matmul", map_qlinear_matmul },
  { "ConvInteger", "conv2d", map_conv_integer },
  { "QLinearConv", "conv2d", map_qlinear_conv },
#define MICROSOFT .domain = "com.microsoft"
  { "QLinearAdd", "add", map_qlinear_pair, MICROSOFT },
  { "QLinearMul", "mul", map_qlinear_pair, MICROSOFT },
  { "QLinearSigmoid", "sigmoid", map_qlinear_unary, MICROSOFT },
  { "QLinearLeakyRelu", "leaky_relu", map_qlinear_unary, MICROSOFT },
  { "QLinearSoftmax", "softmax", map_qlinear_softmax, MICROSOFT },
  { "QLinearGlobalAveragePool", "mean", map_qlinear_global_pool, MICROSOFT },
  { "QLinearConcat", "concat", map_qlinear_concat, MICROSOFT },
  { "QGemm", "matmul", map_qgemm, MICROSOFT },
  { "QuantizeLinear", "round", map_quantize, MICROSOFT },
  { "DequantizeLinear", "mul", map_dequantize, MICROSOFT },
  { "MatMulIntegerToFloat", "matmul", map_matmul_integer_to_float, MICROSOFT },
  { "DynamicQuantizeMatMul", "matmul", map_dynamic_matmul, MICROSOFT },
  { NULL },
};
