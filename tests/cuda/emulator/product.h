/* The matrix product shared by the fakes of cuBLASLt and cuDNN.
 *
 * Every element is one sum in the order of l, in the type of the operands, without contraction: the same bits for any
 * vector width. Tiles of y stay in registers while l runs. */
#ifndef EMULATOR_PRODUCT_H
#define EMULATOR_PRODUCT_H

#include <stdint.h>
#include <string.h>
#include <vector>

namespace emulated
{
/* The nearest number with TF32's ten bits of mantissa, ties to even, as tensor cores read an f32. */
inline float
to_tf32 (float value)
{
  uint32_t bits;

  memcpy (&bits, &value, sizeof bits);
  if ((bits & 0x7f800000) != 0x7f800000)
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~(uint32_t)0x1fff;
  memcpy (&value, &bits, sizeof value);
  return value;
}

/* One tile of y [m×n, column major] at (i, j), ROWS×COLUMNS; ROWS is a multiple of a vector of 32 bytes. */
template <typename A, int ROWS, int COLUMNS>
__attribute__ ((always_inline)) inline void
product_tile (int64_t m, int64_t n, int64_t k, const A *a, const A *b, A *y, int64_t i, int64_t j)
{
  typedef A Vector __attribute__ ((vector_size (32), aligned (sizeof (A)), may_alias));
  constexpr int LANES = 32 / sizeof (A), VECTORS = ROWS / LANES;
  Vector sum[COLUMNS][VECTORS] = {};

  for (int64_t l = 0; l < k; l++)
    for (int v = 0; v < VECTORS; v++)
      {
        const Vector from = *(const Vector *)(a + l * m + i + v * LANES);

        for (int c = 0; c < COLUMNS; c++)
          sum[c][v] += from * b[l * n + j + c];
      }
  for (int c = 0; c < COLUMNS; c++)
    memcpy (y + (j + c) * m + i, sum[c], sizeof sum[c]);
}

template <typename A, int COLUMNS>
__attribute__ ((always_inline)) inline void
product_columns (int64_t m, int64_t n, int64_t k, const A *a, const A *b, A *y, int64_t j)
{
  constexpr int LANES = 32 / sizeof (A);
  int64_t i = 0;

  for (; i + 2 * LANES <= m; i += 2 * LANES)
    product_tile<A, 2 * LANES, COLUMNS> (m, n, k, a, b, y, i, j);
  for (; i + LANES <= m; i += LANES)
    product_tile<A, LANES, COLUMNS> (m, n, k, a, b, y, i, j);
  for (; i < m; i++)
    {
      A sum[COLUMNS] = {};

      for (int64_t l = 0; l < k; l++)
#pragma GCC unroll 4 /* so that a sum does not wait for the one before */
        for (int c = 0; c < COLUMNS; c++)
          sum[c] += a[l * m + i] * b[l * n + j + c];
      for (int c = 0; c < COLUMNS; c++)
        y[(j + c) * m + i] = sum[c];
    }
}

template <typename A>
__attribute__ ((always_inline)) inline void
product_any (int64_t m, int64_t n, int64_t k, const A *a, const A *b, A *y)
{
  int64_t j = 0;

  for (; j + 4 <= n; j += 4)
    product_columns<A, 4> (m, n, k, a, b, y, j);
  for (; j < n; j++)
    product_columns<A, 1> (m, n, k, a, b, y, j);
}

#if defined(__x86_64__)
template <typename A>
__attribute__ ((target ("avx2"))) void
product_wide (int64_t m, int64_t n, int64_t k, const A *a, const A *b, A *y)
{
  product_any<A> (m, n, k, a, b, y);
}
#endif

/* y [m×n] = Σ_l a (l, i)·b (l, j), column major: a is k runs of m values, b is k runs of n. */
template <typename A>
void
product (int64_t m, int64_t n, int64_t k, const std::vector<A> &a, const std::vector<A> &b, std::vector<A> &y)
{
  y.resize ((size_t)(m * n));
#if defined(__x86_64__)
  if (__builtin_cpu_supports ("avx2"))
    return product_wide<A> (m, n, k, a.data (), b.data (), y.data ());
#endif
  product_any<A> (m, n, k, a.data (), b.data (), y.data ());
}
}

#endif
