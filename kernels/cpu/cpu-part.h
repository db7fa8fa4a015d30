/* Partial vectors at the end of a row. Included after V, a vector of floats, is defined; the includer chooses its
 * width, with AVX-512 a whole register. */
#ifndef LOOM_CPU_PART_H
#define LOOM_CPU_PART_H

#ifdef __AVX512F__
#include <immintrin.h>
#endif

/* Returns the elements of from [n], n at most the width of V, followed by zeros. Nothing after them is read. */
static inline __attribute__ ((always_inline)) V
load_part (const float *from, int64_t n)
{
#ifdef __AVX512F__
  return (V)_mm512_maskz_loadu_ps ((__mmask16)((1u << n) - 1), from);
#else
  V v = { 0 };

  for (int64_t i = 0; i < n; i++)
    v[i] = from[i];
  return v;
#endif
}

/* Writes the first n elements of v to `to` [n]; nothing after them is written. */
static inline __attribute__ ((always_inline)) void
store_part (float *to, V v, int64_t n)
{
#ifdef __AVX512F__
  _mm512_mask_storeu_ps (to, (__mmask16)((1u << n) - 1), (__m512)v);
#else
  for (int64_t i = 0; i < n; i++)
    to[i] = v[i];
#endif
}

#endif
