/* Causal attention over cached keys and values, a query at a time. */
#include "kernels/ref/ref.h"

#include <math.h>
#include <string.h>

#define MEANS 64 /* elements of a value that are averaged at once, in one pass over the logits */

/* Copies from [N,K,T,width] to its positions in to [N,K,C,width]. */
static void
put_rows (void *to, const LoomTensorDesc *cache, const void *from, const LoomTensorDesc *fresh, int64_t position)
{
  size_t row = (size_t)fresh->dim[3] * loom_dtype_size (fresh->dtype);

  for (int64_t head = 0; head < fresh->dim[0] * fresh->dim[1]; head++)
    if (fresh->dim[2] > 0 && row > 0)
      memcpy ((char *)to + (size_t)(head * cache->dim[2] + position) * row,
              (const char *)from + (size_t)(head * fresh->dim[2]) * row, (size_t)fresh->dim[2] * row);
}

/* The first key of query head `head` of all samples, as a row of [N·K·C, …]. */
static int64_t
first_key (const LoomTensorDesc *q, const LoomTensorDesc *keys, int64_t head)
{
  int64_t share = q->dim[1] / keys->dim[1];

  return (head / q->dim[1] * keys->dim[1] + head % q->dim[1] / share) * keys->dim[2];
}

#define CACHED(T, NAME)                                                                                                \
  static double NAME##_score (const T *q, const T *key, int64_t width, double scale)                                   \
  {                                                                                                                    \
    double sum = 0;                                                                                                    \
                                                                                                                       \
    for (int64_t e = 0; e < width; e++)                                                                                \
      sum += (double)q[e] * key[e];                                                                                    \
    return sum * scale;                                                                                                \
  }                                                                                                                    \
                                                                                                                       \
  static LoomStatus NAME (const RefKernel *k, void *const *b, LoomMessage *message)                                    \
  {                                                                                                                    \
    const LoomAttentionCachedAttrs *a = k->attrs;                                                                      \
    const LoomTensorDesc *dq = &k->in[0], *keys = &k->in[3], *values = &k->in[4];                                      \
    int64_t positions = dq->dim[2], width = dq->dim[3], depth = values->dim[3], position = *(const int64_t *)b[5];     \
    const T *q = b[0], *key = b[6], *value = b[7];                                                                     \
    T *y = b[8];                                                                                                       \
                                                                                                                       \
    if (position < 0 || position + positions > keys->dim[2])                                                           \
      return ref_index_fault (message, "the position", position < 0 ? position : position + positions - 1,             \
                              keys->dim[2]);                                                                           \
    put_rows (b[6], keys, b[1], &k->in[1], position);                                                                  \
    put_rows (b[7], values, b[2], &k->in[2], position);                                                                \
    for (int64_t row = 0; row < dq->dim[0] * dq->dim[1] * positions; row++)                                            \
      {                                                                                                                \
        int64_t first = first_key (dq, keys, row / positions), n = position + row % positions + 1;                     \
        double top = -INFINITY, sum = 0;                                                                               \
                                                                                                                       \
        for (int64_t j = 0; j < n; j++)                                                                                \
          {                                                                                                            \
            double s = NAME##_score (q + row * width, key + (first + j) * width, width, a->scale);                     \
                                                                                                                       \
            top = s > top || s != s ? s : top;                                                                         \
          }                                                                                                            \
        for (int64_t j = 0; j < n; j++)                                                                                \
          sum += exp (NAME##_score (q + row * width, key + (first + j) * width, width, a->scale) - top);               \
        for (int64_t d = 0; d < depth; d += MEANS)                                                                     \
          {                                                                                                            \
            const int64_t count = depth - d < MEANS ? depth - d : MEANS;                                               \
            double mean[MEANS] = { 0 };                                                                                \
                                                                                                                       \
            for (int64_t j = 0; j < n; j++)                                                                            \
              {                                                                                                        \
                double share = exp (NAME##_score (q + row * width, key + (first + j) * width, width, a->scale) - top); \
                                                                                                                       \
                for (int64_t e = 0; e < count; e++)                                                                    \
                  mean[e] += share * value[(first + j) * depth + d + e];                                               \
              }                                                                                                        \
            for (int64_t e = 0; e < count; e++)                                                                        \
              y[row * depth + d + e] = (T)(mean[e] / sum);                                                             \
          }                                                                                                            \
      }                                                                                                                \
    return LOOM_STATUS_OK;                                                                                             \
  }

CACHED (float, attention_cached_f32)
CACHED (double, attention_cached_f64)

const RefPrimitive ref_attention_cached
    = { REF_FLOATS (attention_cached), .attrs_size = sizeof (LoomAttentionCachedAttrs) };
