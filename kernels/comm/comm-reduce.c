/* The arithmetic of communicators: each element is reduced over the ranks in their order. */
#include "kernels/comm.h"
#include "kernels/convert.h"

#define BLOCK 256 /* elements of 16-bit floats that are summed in f32 at a time */

/* A NaN of any rank stays, as in `reduce`. */
#define JOIN(acc, x, op)                                                                                               \
  ((op) == LOOM_REDUCE_SUM    ? (acc) + (x)                                                                            \
   : (op) == LOOM_REDUCE_PROD ? (acc) * (x)                                                                            \
   : (x) != (x)               ? (x)                                                                                    \
   : (op) == LOOM_REDUCE_MAX  ? ((x) > (acc) ? (x) : (acc))                                                            \
                              : ((x) < (acc) ? (x) : (acc)))

#define LOOPS(T)                                                                                                       \
  static void reduce_##T (T *to, const void *const *from, int n, int64_t count, LoomReduceOp op)                       \
  {                                                                                                                    \
    if (op == LOOM_REDUCE_SUM && n == 2)                                                                               \
      {                                                                                                                \
        const T *a = from[0], *b = from[1];                                                                            \
                                                                                                                       \
        for (int64_t i = 0; i < count; i++)                                                                            \
          to[i] = a[i] + b[i];                                                                                         \
        return;                                                                                                        \
      }                                                                                                                \
    for (int64_t i = 0; i < count; i++)                                                                                \
      {                                                                                                                \
        T acc = ((const T *)from[0])[i];                                                                               \
                                                                                                                       \
        for (int k = 1; k < n; k++)                                                                                    \
          {                                                                                                            \
            T x = ((const T *)from[k])[i];                                                                             \
                                                                                                                       \
            acc = JOIN (acc, x, op);                                                                                   \
          }                                                                                                            \
        to[i] = acc;                                                                                                   \
      }                                                                                                                \
  }

LOOPS (float)
LOOPS (double)
LOOPS (int32_t)
LOOPS (int64_t)

/* A block of each rank is converted to f32 before any of it is written, since to may be one of from. */
static void
reduce_short (uint16_t *to, const void *const *from, int n, int64_t count, int is_bf16, LoomReduceOp op)
{
  float acc[BLOCK];

  for (int64_t first = 0; first < count; first += BLOCK)
    {
      int64_t m = count - first < BLOCK ? count - first : BLOCK;

      for (int k = 0; k < n; k++)
        {
          const uint16_t *x = (const uint16_t *)from[k] + first;

          for (int64_t i = 0; i < m; i++)
            {
              float value = is_bf16 ? loom_bf16_to_float (x[i]) : loom_f16_to_float (x[i]);

              acc[i] = k == 0 ? value : JOIN (acc[i], value, op);
            }
        }
      for (int64_t i = 0; i < m; i++)
        to[first + i] = is_bf16 ? loom_bf16_from_float (acc[i]) : loom_f16_from_float (acc[i]);
    }
}

void
loom_comm_reduce (void *to, const void *const *from, int n, int64_t count, LoomDType dtype, LoomReduceOp op)
{
  switch (dtype)
    {
    case LOOM_F64:
      reduce_double (to, from, n, count, op);
      break;
    case LOOM_F32:
      reduce_float (to, from, n, count, op);
      break;
    case LOOM_I64:
      reduce_int64_t (to, from, n, count, op);
      break;
    case LOOM_I32:
      reduce_int32_t (to, from, n, count, op);
      break;
    case LOOM_F16:
    case LOOM_BF16:
      reduce_short (to, from, n, count, dtype == LOOM_BF16, op);
      break;
    default:
      break;
    }
}
