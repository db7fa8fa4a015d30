/* Imports operators on the bits of integers, composed of arithmetic: BitShift, BitwiseAnd, Or, Xor, Not, and BitCast
 * between integers of one size. */
#include "engine/onnx/onnx-private.h"

static const OnnxWire *
whole (OnnxCtx *c, const OnnxWire *x)
{
  return onnx_cast (c, x, LOOM_I64);
}

static const OnnxWire *
div_floor (OnnxCtx *c, const OnnxWire *x, const OnnxWire *by)
{
  return onnx_emit (c, "div", ONNX_IN (x, by), "rounding_mode", "floor", NULL);
}

/* x · 2ⁿ, or x / 2ⁿ rounded down; both are exact in integers. */
static const OnnxWire *
shift (OnnxCtx *c, const OnnxWire *x, const OnnxWire *n, gboolean left)
{
  const OnnxWire *by = onnx_binary (c, "pow", onnx_constant (c, 2, LOOM_I64), n);

  return left ? onnx_binary (c, "mul", x, by) : div_floor (c, x, by);
}

/* From set 28 on, a negative n and one that is not less than the number of bits shift all bits out. In two steps of at
 * most 32 bits no power exceeds its type. */
static void
map_bit_shift (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *n = whole (c, onnx_in (c, 1));
  const OnnxWire *wide = whole (c, x), *all = onnx_constant (c, 64, LOOM_I64);
  gboolean left = g_str_equal (onnx_attr_word (c, "direction", "LEFT", "RIGHT"), "LEFT");

  if (c->all->opset < 28)
    wide = shift (c, wide, n, left);
  else
    {
      const OnnxWire *is_negative = onnx_binary (c, "lt", n, onnx_constant (c, 0, LOOM_I64)), *half;

      n = onnx_emit (c, "where", ONNX_IN (is_negative, all, onnx_binary (c, "minimum", n, all)), NULL);
      half = div_floor (c, n, onnx_constant (c, 2, LOOM_I64));
      wide = shift (c, shift (c, wide, half, left), onnx_binary (c, "sub", n, half), left);
    }
  onnx_out (c, 0, onnx_cast (c, onnx_wrap (c, wide, onnx_elem_type (c, 0)), x->type.dtype));
}

/* Bits below the sign of x, along a new last dimension. The powers of two fit i64 for up to 63 bits. */
static const OnnxWire *
bits_of (OnnxCtx *c, const OnnxWire *x, const OnnxWire *powers)
{
  x = div_floor (c, onnx_unsqueeze (c, x, -1), powers);
  return onnx_with_number (c, "remainder", x, 2);
}

/* The bits that both have. In two's complement x is the sum of its bits, of which that of the sign counts -2ⁿ. */
static const OnnxWire *
common (OnnxCtx *c, const OnnxWire *a, const OnnxWire *b, int n, gboolean is_signed)
{
  const OnnxWire *count = onnx_count (c, loom_dim (n)), *sign, *y;
  const OnnxWire *powers = onnx_binary (c, "pow", onnx_constant (c, 2, LOOM_I64), count);

  y = onnx_binary (c, "mul", bits_of (c, a, powers), bits_of (c, b, powers));
  y = onnx_emit (c, "sum", ONNX_IN (onnx_binary (c, "mul", y, powers)), "dim", "-1", NULL);
  if (!is_signed)
    return y;
  sign = onnx_binary (c, "logical_and", onnx_with_number (c, "lt", a, 0), onnx_with_number (c, "lt", b, 0));
  sign = onnx_binary (c, "mul", whole (c, sign),
                      onnx_binary (c, "pow", onnx_constant (c, 2, LOOM_I64), onnx_constant (c, n - 1, LOOM_I64)));
  return onnx_binary (c, "sub", onnx_binary (c, "sub", y, sign), sign);
}

/* a | b = (a without the common bits) + b; a ^ b has the common bits in neither. */
static void
map_bitwise (OnnxCtx *c)
{
  const OnnxWire *a = onnx_in (c, 0), *b = onnx_in (c, 1), *both, *y;
  LoomDType dtype = a->type.dtype;
  gint64 least, most;
  int n = 63;
  gboolean is_signed = onnx_elem_type (c, 0) != ONNX__TENSOR_PROTO__DATA_TYPE__UINT64;

  if (onnx_type_range (onnx_elem_type (c, 0), &least, &most))
    {
      is_signed = least < 0;
      for (n = 0; most > 0; most /= 2)
        n++;
    }
  a = whole (c, a);
  b = whole (c, b);
  both = common (c, a, b, n, is_signed);
  if (g_str_equal (c->node->op_type, "BitwiseAnd"))
    y = both;
  else
    {
      if (g_str_equal (c->node->op_type, "BitwiseXor"))
        b = onnx_binary (c, "sub", b, both);
      y = onnx_binary (c, "add", onnx_binary (c, "sub", a, both), b);
    }
  onnx_out (c, 0, onnx_cast (c, y, dtype));
}

/* -1 - x, and for an unsigned type its largest number - x. */
static void
map_bitwise_not (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y;
  gint64 least = -1, most = 0;

  if (onnx_elem_type (c, 0) == ONNX__TENSOR_PROTO__DATA_TYPE__UINT64)
    onnx_fail (c, "the result has numbers of 2⁶³ or more, which no type of graphs can hold.");
  onnx_type_range (onnx_elem_type (c, 0), &least, &most);
  y = onnx_unary (c, "neg", onnx_with_number (c, "sub", whole (c, x), least < 0 ? -1 : (double)most));
  onnx_out (c, 0, onnx_cast (c, y, x->type.dtype));
}

static void
map_bit_cast (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  int from = onnx_elem_type (c, 0), to = (int)onnx_attr_int (c, "to", 0);
  gint64 least, most, to_least, to_most;
  LoomDType dtype = LOOM_I64;

  if (from == to)
    {
      onnx_out (c, 0, x);
      return;
    }
  if (from == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL && to == ONNX__TENSOR_PROTO__DATA_TYPE__UINT8)
    {
      onnx_out (c, 0, onnx_cast (c, x, LOOM_U8));
      return;
    }
  if (!onnx_type_range (from, &least, &most) || !onnx_type_range (to, &to_least, &to_most)
      || most - least != to_most - to_least || !onnx_dtype (to, &dtype))
    onnx_fail (c, "it takes the bits of %s as %s; only integers of one size are supported.", onnx_type_name (from),
               onnx_type_name (to));
  onnx_out (c, 0, onnx_cast (c, onnx_wrap (c, whole (c, x), to), dtype));
}

const OnnxMap onnx_map_bits[] = {
  { "BitShift", "mul", map_bit_shift },
  { "BitwiseAnd", "sum", map_bitwise },
  { "BitwiseOr", "sum", map_bitwise },
  { "BitwiseXor", "sum", map_bitwise },
  { "BitwiseNot", "neg", map_bitwise_not },
  { "BitCast", "cast", map_bit_cast },
  { NULL },
};
