/* Conversions between the element types, one element at a time, for back ends that run on the host.
 *
 * Half precision is computed on the bits, because the oldest supported C compilers lack _Float16 and generic x86-64
 * lacks the instructions. Both conversions from f32 to 16 bits round to nearest, ties to even, and keep NaN a NaN. */
#ifndef LOOM_CONVERT_H
#define LOOM_CONVERT_H

#include <stdint.h>
#include <string.h>

#include "kernels/dtype.h"

#ifdef __CUDACC__
#define LOOM_CONVERT_FN static __host__ __device__ inline
#else
#define LOOM_CONVERT_FN static inline
#endif

LOOM_CONVERT_FN float
loom_float_from_bits (uint32_t bits)
{
  float x;

  memcpy (&x, &bits, sizeof x);
  return x;
}

LOOM_CONVERT_FN uint32_t
loom_float_bits (float x)
{
  uint32_t bits;

  memcpy (&bits, &x, sizeof bits);
  return bits;
}

LOOM_CONVERT_FN float
loom_bf16_to_float (uint16_t h)
{
  return loom_float_from_bits ((uint32_t)h << 16);
}

LOOM_CONVERT_FN uint16_t
loom_bf16_from_float (float x)
{
  uint32_t u = loom_float_bits (x);

  if ((u & 0x7fffffffu) > 0x7f800000u)
    return (uint16_t)((u >> 16) | 0x40u);
  return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

LOOM_CONVERT_FN float
loom_f16_to_float (uint16_t h)
{
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 31u, mantissa = h & 0x3ffu;
  float magnitude;

  if (exponent == 31)
    return loom_float_from_bits (sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return loom_float_from_bits (sign | ((exponent + 112) << 23) | (mantissa << 13));
  magnitude = (float)mantissa * (1.0f / 16777216.0f); /* a subnormal counts in 2^-24 */
  return loom_float_from_bits (sign | loom_float_bits (magnitude));
}

LOOM_CONVERT_FN uint16_t
loom_f16_from_float (float x)
{
  uint32_t u = loom_float_bits (x);
  uint16_t sign = (uint16_t)((u >> 16) & 0x8000u);
  int exponent = (int)((u >> 23) & 255u) - 127 + 15;
  uint32_t mantissa = u & 0x7fffffu;

  if ((u & 0x7fffffffu) > 0x7f800000u)
    return (uint16_t)(sign | 0x7e00u);
  if (exponent >= 31)
    return (uint16_t)(sign | 0x7c00u);
  if (exponent <= 0)
    {
      int shift = 14 - exponent; /* 14 … : how far the full mantissa lies above 2^-24 */
      uint32_t half, rest;

      if (shift > 24)
        return sign;
      mantissa |= 0x800000u;
      half = mantissa >> shift;
      rest = mantissa & ((1u << shift) - 1);
      if (rest > (1u << (shift - 1)) || (rest == (1u << (shift - 1)) && (half & 1u)))
        half++;
      return (uint16_t)(sign | half);
    }
  else
    {
      uint32_t half = ((uint32_t)exponent << 10) | (mantissa >> 13), rest = mantissa & 0x1fffu;

      if (rest > 0x1000u || (rest == 0x1000u && (half & 1u)))
        half++; /* a carry into the exponent is right, up to infinity */
      return (uint16_t)(sign | half);
    }
}

/* Converts a float to i64 by truncation; NaN and numbers out of range become INT64_MIN, as on x86. All back ends follow
 * that. */
LOOM_CONVERT_FN int64_t
loom_int_from_double (double x)
{
  if (!(x >= -9223372036854775808.0 && x < 9223372036854775808.0))
    return INT64_MIN;
  return (int64_t)x;
}

/* Element i of an array of any type as a double: exact for all but i64 beyond 2^53. */
static inline double
loom_load_double (const void *p, int64_t i, LoomDType dtype)
{
  switch (dtype)
    {
    case LOOM_F64:
      return ((const double *)p)[i];
    case LOOM_F32:
      return ((const float *)p)[i];
    case LOOM_F16:
      return loom_f16_to_float (((const uint16_t *)p)[i]);
    case LOOM_BF16:
      return loom_bf16_to_float (((const uint16_t *)p)[i]);
    case LOOM_I64:
      return (double)((const int64_t *)p)[i];
    case LOOM_I32:
      return ((const int32_t *)p)[i];
    case LOOM_U8:
      return ((const uint8_t *)p)[i];
    case LOOM_BOOL:
      return ((const uint8_t *)p)[i] != 0;
    case LOOM_N_DTYPES:
      break;
    }
  return 0;
}

static inline int64_t
loom_load_int (const void *p, int64_t i, LoomDType dtype)
{
  switch (dtype)
    {
    case LOOM_I64:
      return ((const int64_t *)p)[i];
    case LOOM_I32:
      return ((const int32_t *)p)[i];
    case LOOM_U8:
      return ((const uint8_t *)p)[i];
    case LOOM_BOOL:
      return ((const uint8_t *)p)[i] != 0;
    default:
      return loom_int_from_double (loom_load_double (p, i, dtype));
    }
}

/* The cases of floats, for an integer or a double v: v itself is rounded to each type. */
#define LOOM_STORE_FLOATS(p, i, v)                                                                                     \
  case LOOM_F64:                                                                                                       \
    ((double *)(p))[i] = (double)(v);                                                                                  \
    break;                                                                                                             \
  case LOOM_F32:                                                                                                       \
    ((float *)(p))[i] = (float)(v);                                                                                    \
    break;                                                                                                             \
  case LOOM_F16:                                                                                                       \
    ((uint16_t *)(p))[i] = loom_f16_from_float ((float)(v));                                                           \
    break;                                                                                                             \
  case LOOM_BF16:                                                                                                      \
    ((uint16_t *)(p))[i] = loom_bf16_from_float ((float)(v));                                                          \
    break;

static inline void
loom_store_int (void *p, int64_t i, LoomDType dtype, int64_t v)
{
  switch (dtype)
    {
      LOOM_STORE_FLOATS (p, i, v)
    case LOOM_I64:
      ((int64_t *)p)[i] = v;
      break;
    case LOOM_I32:
      ((int32_t *)p)[i] = (int32_t)v;
      break;
    case LOOM_U8:
      ((uint8_t *)p)[i] = (uint8_t)v;
      break;
    case LOOM_BOOL:
      ((uint8_t *)p)[i] = v != 0;
      break;
    case LOOM_N_DTYPES:
      break;
    }
}

/* Integers by truncation, bool by != 0. */
static inline void
loom_store_double (void *p, int64_t i, LoomDType dtype, double v)
{
  switch (dtype)
    {
      LOOM_STORE_FLOATS (p, i, v)
    case LOOM_BOOL:
      ((uint8_t *)p)[i] = v != 0;
      break;
    default:
      loom_store_int (p, i, dtype, loom_int_from_double (v));
      break;
    }
}

#endif
