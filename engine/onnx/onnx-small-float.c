/* Floats of 8 and 4 bits: their values, and rounding to them on a wire.
 *
 * Graphs carry them as f32, in which all of their values are exact. A number is divided by the distance of its
 * neighbours in the type, 2^(e - mantissa bits), rounded to even and multiplied again. The exponent e = floor(log2 |x|)
 * may be off by one next to a power of two; both distances round such a number to that power.
 * Formats: OCP Microscaling Formats 1.0 (2023), section 5.3; FP8 Formats for Deep Learning (Micikevicius et al. 2022);
 * the types with "fnuz" have one zero, one NaN, and no infinities (Noune et al. 2022). */
#include "engine/onnx/onnx-private.h"

#include <math.h>

typedef enum
{
  ONLY_NUMBERS,
  ONE_NAN,    /* the largest code of each sign; no infinities */
  ZERO_NAN,   /* the code of -0; no infinities */
  INFINITIES, /* as in IEEE 754 */
} Special;

#define FIRST 17
#define E8M0  24

typedef struct
{
  guint bits, mantissa;
  int bias;
  double largest;
  Special special;
} SmallFloat;

/* By elem_type - FIRST; no bits: an integer. */
static const SmallFloat rows[] = {
  { 8, 3, 7, 448, ONE_NAN },       /* float8e4m3fn */
  { 8, 3, 8, 240, ZERO_NAN },      /* float8e4m3fnuz */
  { 8, 2, 15, 57344, INFINITIES }, /* float8e5m2 */
  { 8, 2, 16, 57344, ZERO_NAN },   /* float8e5m2fnuz */
  { 0 },                           /* uint4 */
  { 0 },                           /* int4 */
  { 4, 1, 1, 6, ONLY_NUMBERS },    /* float4e2m1 */
  { 8, 0, 127, 0x1p127, ONE_NAN }, /* float8e8m0, without sign or zero */
};

gboolean
onnx_is_small_float (int elem_type)
{
  return elem_type >= FIRST && elem_type < FIRST + (int)G_N_ELEMENTS (rows) && rows[elem_type - FIRST].bits > 0;
}

float
onnx_small_float_value (int elem_type, guint bits)
{
  const SmallFloat *row = &rows[elem_type - FIRST];
  guint sign = bits >> (row->bits - 1) & 1, most = (1U << (row->bits - 1)) - 1, code = bits & most;
  guint exponent = code >> row->mantissa, part = code & ((1U << row->mantissa) - 1);
  double x;

  if (elem_type == E8M0)
    return (bits & 255) == 255 ? NAN : (float)ldexp (1, (int)(bits & 255) - row->bias);
  if ((row->special == ONE_NAN && code == most) || (row->special == ZERO_NAN && sign && code == 0))
    return NAN;
  if (row->special == INFINITIES && exponent == most >> row->mantissa)
    return part != 0 ? NAN : sign ? -INFINITY : INFINITY;
  /* The smallest exponent has no implied one. */
  x = ldexp (part + (exponent > 0 ? 1U << row->mantissa : 0), (int)MAX (exponent, 1) - row->bias - (int)row->mantissa);
  return (float)(sign ? -x : x);
}

static const OnnxWire *
exponent_of (OnnxCtx *c, const OnnxWire *x)
{
  return onnx_unary (c, "log2", onnx_unary (c, "abs", x));
}

/* A power of two; 2^-127 for zero. */
static const OnnxWire *
to_power (OnnxCtx *c, const OnnxWire *x, const char *round_mode)
{
  const OnnxWire *e = exponent_of (c, x);

  if (g_str_equal (round_mode, "nearest"))
    /* The half between 2^e and 2^(e + 1) is 1.5 · 2^e, which rounds up. */
    e = onnx_unary (c, "floor", exponent_of (c, onnx_with_number (c, "mul", x, 4.0 / 3)));
  else
    e = onnx_unary (c, g_str_equal (round_mode, "down") ? "floor" : "ceil", e);
  return onnx_unary (c, "exp2", onnx_clamp (c, e, -127, 127));
}

/* x / 1 up to the largest number; beyond it x / 0 or 0 / 0. */
static const OnnxWire *
overflow (OnnxCtx *c, const OnnxWire *x, const SmallFloat *row)
{
  const OnnxWire *fits = onnx_with_number (c, "le", onnx_unary (c, "abs", x), row->largest);

  fits = onnx_cast (c, fits, x->type.dtype);
  return onnx_binary (c, "div", row->special == INFINITIES ? x : onnx_binary (c, "mul", x, fits), fits);
}

const OnnxWire *
onnx_to_small_float (OnnxCtx *c, const OnnxWire *x, int elem_type, gboolean saturate, const char *round_mode)
{
  const OnnxWire *e, *step;
  const SmallFloat *row;

  if (!onnx_is_small_float (elem_type))
    return x;
  row = &rows[elem_type - FIRST];
  x = loom_dtype_is_float (x->type.dtype) ? x : onnx_cast (c, x, LOOM_F32);
  if (elem_type == E8M0)
    return to_power (c, x, round_mode);
  /* A type without NaN has 0 for it. */
  if (row->special == ONLY_NUMBERS)
    x = onnx_emit (c, "where", ONNX_IN (onnx_unary (c, "isnan", x), NULL, x), "input", "0", NULL);
  saturate = saturate || row->special == ONLY_NUMBERS;
  if (saturate)
    x = onnx_clamp (c, x, -row->largest, row->largest);
  e = onnx_clamp (c, onnx_unary (c, "floor", exponent_of (c, x)), 1 - row->bias, 64);
  step = onnx_unary (c, "exp2", onnx_with_number (c, "sub", e, row->mantissa));
  x = onnx_binary (c, "mul", onnx_unary (c, "round", onnx_binary (c, "div", x, step)), step);
  return saturate ? x : overflow (c, x, row);
}
