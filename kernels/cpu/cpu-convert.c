/* Converts runs of elements between any type and f32, for element-wise operands and casts. */
#include "kernels/cpu/cpu.h"

/* to [n]; from at + i·stride. The three kinds of stride have loops of their own so that each vectorises. */
#define LOADER(dtype, type, expression)                                                                                \
  static void load_##dtype (float *to, const void *from, int64_t at, int64_t stride, int64_t n)                        \
  {                                                                                                                    \
    const type *p = (const type *)from + at;                                                                           \
    if (stride == 1)                                                                                                   \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        {                                                                                                              \
          type v = p[i];                                                                                               \
          to[i] = expression;                                                                                          \
        }                                                                                                              \
    else if (stride == 0)                                                                                              \
      {                                                                                                                \
        type v = p[0];                                                                                                 \
        float value = expression;                                                                                      \
        for (int64_t i = 0; i < n; i++)                                                                                \
          to[i] = value;                                                                                               \
      }                                                                                                                \
    else                                                                                                               \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        {                                                                                                              \
          type v = p[i * stride];                                                                                      \
          to[i] = expression;                                                                                          \
        }                                                                                                              \
  }

LOADER (F64, double, (float)v)
LOADER (F32, float, v)
LOADER (F16, uint16_t, loom_f16_to_float (v))
LOADER (BF16, uint16_t, loom_bf16_to_float (v))
LOADER (I64, int64_t, (float)v)
LOADER (I32, int32_t, (float)v)
LOADER (U8, uint8_t, (float)v)
LOADER (BOOL, uint8_t, v != 0 ? 1.0f : 0.0f)

/* to [at, at + n); from [n]. */
#define STORER(dtype, type, expression)                                                                                \
  static void store_##dtype (void *to, int64_t at, const float *from, int64_t n)                                       \
  {                                                                                                                    \
    type *p = (type *)to + at;                                                                                         \
    for (int64_t i = 0; i < n; i++)                                                                                    \
      {                                                                                                                \
        float v = from[i];                                                                                             \
        p[i] = expression;                                                                                             \
      }                                                                                                                \
  }

STORER (F64, double, v)
STORER (F32, float, v)
STORER (F16, uint16_t, loom_f16_from_float (v))
STORER (BF16, uint16_t, loom_bf16_from_float (v))
STORER (I64, int64_t, loom_int_from_double (v))
STORER (I32, int32_t, (int32_t)loom_int_from_double (v))
STORER (U8, uint8_t, (uint8_t)loom_int_from_double (v))
STORER (BOOL, uint8_t, v != 0)

CpuLoadF32
ISA (cpu_load_f32) (LoomDType dtype)
{
  static const CpuLoadF32 loader[LOOM_N_DTYPES] = {
    [LOOM_F64] = load_F64, [LOOM_F32] = load_F32, [LOOM_F16] = load_F16, [LOOM_BF16] = load_BF16,
    [LOOM_I64] = load_I64, [LOOM_I32] = load_I32, [LOOM_U8] = load_U8,   [LOOM_BOOL] = load_BOOL,
  };
  return loader[dtype];
}

CpuStoreF32
ISA (cpu_store_f32) (LoomDType dtype)
{
  static const CpuStoreF32 storer[LOOM_N_DTYPES] = {
    [LOOM_F64] = store_F64, [LOOM_F32] = store_F32, [LOOM_F16] = store_F16, [LOOM_BF16] = store_BF16,
    [LOOM_I64] = store_I64, [LOOM_I32] = store_I32, [LOOM_U8] = store_U8,   [LOOM_BOOL] = store_BOOL,
  };
  return storer[dtype];
}

void
ISA (cpu_widen) (float *to, const void *from, LoomDType type, int64_t n)
{
  ISA (cpu_load_f32) (type) (to, from, 0, 1, n);
}

void
ISA (cpu_narrow) (void *to, LoomDType type, const float *from, int64_t n)
{
  ISA (cpu_store_f32) (type) (to, 0, from, n);
}
