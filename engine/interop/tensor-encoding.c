/* The types of elements that files have, and how those that no tensor has are widened.
 *
 * The small floats are those of the OCP specifications "8-bit Floating Point" and "Microscaling Formats" (MX) 1.0; the
 * FNUZ types have a bias that is larger by one, one zero, and NaN in place of the negative zero. */
#include "engine/interop/tensor-file-private.h"

#include <math.h>
#include <string.h>

/* ---- integers --------------------------------------------------------------- */

#define WIDEN(NAME, STORED)                                                                                            \
  static gboolean NAME (const guint8 *from, gint64 n, void *to)                                                        \
  {                                                                                                                    \
    for (gint64 i = 0; i < n; i++)                                                                                     \
      {                                                                                                                \
        STORED value;                                                                                                  \
                                                                                                                       \
        memcpy (&value, from + i * (gint64)sizeof value, sizeof value);                                                \
        ((gint64 *)to)[i] = (gint64)value;                                                                             \
      }                                                                                                                \
    return TRUE;                                                                                                       \
  }

WIDEN (widen_i8, gint8)
WIDEN (widen_i16, gint16)
WIDEN (widen_u16, guint16)
WIDEN (widen_u32, guint32)

static gboolean
widen_u64 (const guint8 *from, gint64 n, void *to)
{
  memcpy (to, from, (gsize)n * 8);
  for (gint64 i = 0; i < n; i++)
    if (((gint64 *)to)[i] < 0)
      return FALSE;
  return TRUE;
}

/* Bytes other than 0 and 1 are no values of a bool. */
static gboolean
copy_bool (const guint8 *from, gint64 n, void *to)
{
  for (gint64 i = 0; i < n; i++)
    ((guint8 *)to)[i] = from[i] != 0;
  return TRUE;
}

/* ---- floats ----------------------------------------------------------------- */

/* A float of `exponent` and `mantissa` bits below the sign, which is the bit above them. */
static float
small_float (guint bits, int exponent, int mantissa, int bias)
{
  const int e = (int)(bits >> mantissa) & ((1 << exponent) - 1);
  const int m = (int)bits & ((1 << mantissa) - 1);
  const float sign = (bits >> (exponent + mantissa)) & 1 ? -1 : 1;

  if (e == 0)
    return sign * ldexpf ((float)m, 1 - bias - mantissa);
  return sign * ldexpf ((float)(m + (1 << mantissa)), e - bias - mantissa);
}

static gboolean
decode_e4m3 (const guint8 *from, gint64 n, void *to)
{
  for (gint64 i = 0; i < n; i++)
    ((float *)to)[i] = (from[i] & 0x7f) == 0x7f ? NAN : small_float (from[i], 4, 3, 7);
  return TRUE;
}

static gboolean
decode_e5m2 (const guint8 *from, gint64 n, void *to)
{
  for (gint64 i = 0; i < n; i++)
    {
      const guint8 b = from[i];

      ((float *)to)[i] = (b & 0x7c) != 0x7c ? small_float (b, 5, 2, 15)
                         : (b & 3) != 0     ? NAN
                         : (b & 0x80) != 0  ? -INFINITY
                                            : INFINITY;
    }
  return TRUE;
}

static gboolean
decode_e4m3_fnuz (const guint8 *from, gint64 n, void *to)
{
  for (gint64 i = 0; i < n; i++)
    ((float *)to)[i] = from[i] == 0x80 ? NAN : small_float (from[i], 4, 3, 8);
  return TRUE;
}

static gboolean
decode_e5m2_fnuz (const guint8 *from, gint64 n, void *to)
{
  for (gint64 i = 0; i < n; i++)
    ((float *)to)[i] = from[i] == 0x80 ? NAN : small_float (from[i], 5, 2, 16);
  return TRUE;
}

static gboolean
decode_e8m0 (const guint8 *from, gint64 n, void *to)
{
  for (gint64 i = 0; i < n; i++)
    ((float *)to)[i] = from[i] == 0xff ? NAN : ldexpf (1, (int)from[i] - 127);
  return TRUE;
}

/* Two in a byte, the first in its low bits. */
static gboolean
decode_e2m1 (const guint8 *from, gint64 n, void *to)
{
  for (gint64 i = 0; i < n; i++)
    ((float *)to)[i] = small_float (from[i / 2] >> (i % 2 * 4) & 15, 2, 1, 1);
  return TRUE;
}

/* Four in three bytes, the first in the lowest bits. */
static float
small_float_of_6 (const guint8 *from, gint64 i, int exponent, int mantissa, int bias)
{
  const guint8 *block = from + i / 4 * 3;
  const guint bits = (guint)block[0] | (guint)block[1] << 8 | (guint)block[2] << 16;

  return small_float (bits >> (i % 4 * 6) & 63, exponent, mantissa, bias);
}

static gboolean
decode_e2m3 (const guint8 *from, gint64 n, void *to)
{
  for (gint64 i = 0; i < n; i++)
    ((float *)to)[i] = small_float_of_6 (from, i, 2, 3, 1);
  return TRUE;
}

static gboolean
decode_e3m2 (const guint8 *from, gint64 n, void *to)
{
  for (gint64 i = 0; i < n; i++)
    ((float *)to)[i] = small_float_of_6 (from, i, 3, 2, 3);
  return TRUE;
}

/* Blocks of 32: a scale in f16, and 32 signed bytes. */
static gboolean
decode_q8_0 (const guint8 *from, gint64 n, void *to)
{
  for (gint64 i = 0; i < n; i++)
    {
      const guint8 *block = from + i / 32 * 34;

      ((float *)to)[i] = loom_half_to_float ((guint16)(block[0] | block[1] << 8)) * (gint8)block[2 + i % 32];
    }
  return TRUE;
}

const TensorEncoding tensor_encoding_q8_0 = { "Q8_0", NULL, NULL, LOOM_F32, 32, 34, decode_q8_0 };

const TensorEncoding tensor_encodings[] = {
  { "F64", "Double", "float64", LOOM_F64, 1, 8, NULL },
  { "F32", "Float", "float32", LOOM_F32, 1, 4, NULL },
  { "F16", "Half", "float16", LOOM_F16, 1, 2, NULL },
  { "BF16", "BFloat16", "bfloat16", LOOM_BF16, 1, 2, NULL },
  { "I64", "Long", "int64", LOOM_I64, 1, 8, NULL },
  { "I32", "Int", "int32", LOOM_I32, 1, 4, NULL },
  { "U8", "Byte", "uint8", LOOM_U8, 1, 1, NULL },
  { "BOOL", "Bool", "bool", LOOM_BOOL, 1, 1, copy_bool },
  { "I16", "Short", "int16", LOOM_I64, 1, 2, widen_i16 },
  { "I8", "Char", "int8", LOOM_I64, 1, 1, widen_i8 },
  { "U16", NULL, "uint16", LOOM_I64, 1, 2, widen_u16 },
  { "U32", NULL, "uint32", LOOM_I64, 1, 4, widen_u32 },
  { "U64", NULL, "uint64", LOOM_I64, 1, 8, widen_u64 },
  { "F8_E4M3", NULL, "float8_e4m3fn", LOOM_F32, 1, 1, decode_e4m3 },
  { "F8_E5M2", NULL, "float8_e5m2", LOOM_F32, 1, 1, decode_e5m2 },
  { "F8_E4M3FNUZ", NULL, "float8_e4m3fnuz", LOOM_F32, 1, 1, decode_e4m3_fnuz },
  { "F8_E5M2FNUZ", NULL, "float8_e5m2fnuz", LOOM_F32, 1, 1, decode_e5m2_fnuz },
  { "F8_E8M0", NULL, "float8_e8m0fnu", LOOM_F32, 1, 1, decode_e8m0 },
  { "F4", NULL, NULL, LOOM_F32, 2, 1, decode_e2m1 },
  { "F6_E2M3", NULL, NULL, LOOM_F32, 4, 3, decode_e2m3 },
  { "F6_E3M2", NULL, NULL, LOOM_F32, 4, 3, decode_e3m2 },
};

const guint tensor_n_encodings = G_N_ELEMENTS (tensor_encodings);

const TensorEncoding *
tensor_encoding_named (const char *safetensors_name)
{
  for (guint i = 0; i < tensor_n_encodings; i++)
    if (g_str_equal (tensor_encodings[i].name, safetensors_name))
      return &tensor_encodings[i];
  return NULL;
}

/* The types that tensors have come first in the table. */
const TensorEncoding *
tensor_encoding_of (LoomDType dtype)
{
  const TensorEncoding *encoding = tensor_encodings;

  while (encoding->dtype != dtype)
    encoding++;
  return encoding;
}
