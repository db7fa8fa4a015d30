/* Imports operators on the bits of integers, composed of arithmetic: BitShift, BitwiseAnd, Or, Xor, Not, and BitCast
 * between integers of one size. UINT64 is i64 with the same bits. */
#include "engine/onnx/onnx-constant.h"

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

/* An input as i64. A constant with numbers of 2⁶³ or more is the i64 of the same bits, which an attribute cannot hold
 * as one number: its upper and its lower half are. */
static const OnnxWire *
bits_in (OnnxCtx *c, guint i)
{
  const OnnxValue *value = onnx_has (c, i) ? onnx_reach (c, c->node->input[i]) : NULL;
  const LoomTensor *t = value != NULL ? value->constant : NULL;

  if (t == NULL || !onnx_is_beyond (value->elem_type, t))
    return whole (c, onnx_in (c, i));
  g_autoptr (LoomTensor) upper = onnx_tensor_new (c, LOOM_I64, t->rank, t->dim);
  g_autoptr (LoomTensor) lower = onnx_tensor_new (c, LOOM_I64, t->rank, t->dim);
  for (gint64 k = 0; upper != NULL && lower != NULL && k < t->count; k++)
    {
      const gint64 bits = ((const gint64 *)t->data)[k];

      ((gint64 *)upper->data)[k] = bits >> 32;
      ((gint64 *)lower->data)[k] = bits & G_MAXUINT32;
    }
  const OnnxWire *wire = onnx_tensor_wire (c, upper, NULL, FALSE);
  wire = onnx_binary (c, "mul", wire, onnx_constant (c, 4294967296., LOOM_I64));
  return onnx_binary (c, "add", wire, onnx_tensor_wire (c, lower, NULL, FALSE));
}

/* x · 2ⁿ, or x / 2ⁿ rounded down; both are exact in integers. */
static const OnnxWire *
shift (OnnxCtx *c, const OnnxWire *x, const OnnxWire *n, gboolean left)
{
  const OnnxWire *by = onnx_binary (c, "pow", onnx_constant (c, 2, LOOM_I64), n);

  return left ? onnx_binary (c, "mul", x, by) : div_floor (c, x, by);
}

static const OnnxWire *
power (OnnxCtx *c, int exponent)
{
  return onnx_binary (c, "pow", onnx_constant (c, 2, LOOM_I64), onnx_constant (c, exponent, LOOM_I64));
}

/* Bits that are shifted out on the right are followed by zeros: by one place a negative number becomes half of it plus
 * 2⁶³, and the rest is no longer negative. */
static void
clear_sign (OnnxCtx *c, const OnnxWire **x, const OnnxWire **n)
{
  const OnnxWire *zero = onnx_constant (c, 0, LOOM_I64), *half;
  const OnnxWire *is_shifted
      = onnx_binary (c, "logical_and", onnx_binary (c, "lt", *x, zero), onnx_binary (c, "lt", zero, *n));

  half = div_floor (c, *x, onnx_constant (c, 2, LOOM_I64));
  half = onnx_binary (c, "add", onnx_binary (c, "add", half, power (c, 62)), power (c, 62));
  *x = onnx_emit (c, "where", ONNX_IN (is_shifted, half, *x), NULL);
  *n = onnx_binary (c, "sub", *n, whole (c, is_shifted));
}

/* From set 28 on, a negative n and one that is not less than the number of bits shift all bits out. In two steps of at
 * most 32 bits no power exceeds its type. */
static void
map_bit_shift (OnnxCtx *c)
{
  const OnnxWire *wide = bits_in (c, 0), *n = bits_in (c, 1), *all = onnx_constant (c, 64, LOOM_I64);
  const int elem_type = onnx_elem_type (c, 0);
  LoomDType dtype = LOOM_I64;
  gboolean left = g_str_equal (onnx_attr_word (c, "direction", "LEFT", "RIGHT"), "LEFT");

  onnx_wire_dtype (elem_type, &dtype);
  if (c->all->opset >= 28)
    {
      const OnnxWire *is_negative = onnx_binary (c, "lt", n, onnx_constant (c, 0, LOOM_I64));

      n = onnx_emit (c, "where", ONNX_IN (is_negative, all, onnx_binary (c, "minimum", n, all)), NULL);
    }
  if (!left && elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT64)
    clear_sign (c, &wide, &n);
  if (c->all->opset < 28)
    wide = shift (c, wide, n, left);
  else
    {
      const OnnxWire *half = div_floor (c, n, onnx_constant (c, 2, LOOM_I64));

      wide = shift (c, shift (c, wide, half, left), onnx_binary (c, "sub", n, half), left);
    }
  onnx_out (c, 0, onnx_cast (c, onnx_wrap (c, wide, elem_type), dtype));
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
  sign = onnx_binary (c, "mul", whole (c, sign), power (c, n - 1));
  return onnx_binary (c, "sub", onnx_binary (c, "sub", y, sign), sign);
}

/* a | b = (a without the common bits) + b; a ^ b has the common bits in neither. */
static void
map_bitwise (OnnxCtx *c)
{
  const OnnxWire *a = bits_in (c, 0), *b = bits_in (c, 1), *both, *y;
  LoomDType dtype = LOOM_I64;
  gint64 least, most;
  int n = 63;
  gboolean is_signed = TRUE;

  onnx_wire_dtype (onnx_elem_type (c, 0), &dtype);
  if (onnx_type_range (onnx_elem_type (c, 0), &least, &most))
    {
      is_signed = least < 0;
      for (n = 0; most > 0; most /= 2)
        n++;
    }
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
  LoomDType dtype = LOOM_I64;
  gint64 least = -1, most = 0;
  const OnnxWire *y = bits_in (c, 0);

  onnx_wire_dtype (onnx_elem_type (c, 0), &dtype);
  onnx_type_range (onnx_elem_type (c, 0), &least, &most);
  y = onnx_unary (c, "neg", onnx_with_number (c, "sub", y, least < 0 ? -1 : (double)most));
  onnx_out (c, 0, onnx_cast (c, y, dtype));
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
