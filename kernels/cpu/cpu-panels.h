/* Panels of floats and the product of two of them, the core of own convolutions and attention.
 *
 * A panel consists of PANEL columns (channels, or rows of a product), [n][PANEL]. The last one is padded with zeros, or
 * not at all if nothing reads the padding. All operands of one call of the product are contiguous. */
#ifndef LOOM_CPU_PANELS_H
#define LOOM_CPU_PANELS_H

#include "kernels/cpu/cpu.h"

#ifdef __AVX512F__
#include <immintrin.h>
#define LANES 16
#define ROWS  12 /* of an inner product: ROWS times two vectors of sums fit into registers */
#else
#define LANES 8
#define ROWS  6
#endif
#define PANEL  (2 * LANES)
#define SLICE  64 /* of the depth of a product, a multiple of PANEL */
#define INLINE static inline __attribute__ ((always_inline))

typedef float V __attribute__ ((vector_size (4 * LANES), aligned (4), may_alias));
typedef int32_t VI __attribute__ ((vector_size (4 * LANES)));

#include "kernels/cpu/cpu-part.h"

INLINE V
load (const float *from, int64_t n)
{
  return n >= LANES ? *(const V *)from : load_part (from, n);
}

INLINE void
store (float *to, V v, int64_t n)
{
  if (n >= LANES)
    *(V *)to = v;
  else
    store_part (to, v, n);
}

/* ---- products --------------------------------------------------------------- */

/* Computes rows x PANEL sums of a·b over the depth, and adds them to y or stores them there. b [depth][PANEL], y
 * [rows][PANEL]; element (row, d) of a is at row·a_row + d·a_step in a block of PANEL of the depth, and blocks have the
 * stride a_block. Called with constants for rows, a_row, a_step and add, so that all sums are in registers. */
INLINE void
product (int rows, const float *a, int64_t a_row, int64_t a_step, int64_t a_block, const float *b, int64_t depth,
         float *y, bool add)
{
  V left[ROWS], right[ROWS];

#pragma GCC unroll 12
  for (int r = 0; r < rows; r++)
    left[r] = right[r] = (V){ 0 };
  for (int64_t block = 0; block < depth; block += PANEL, a += a_block)
    {
      int64_t n = depth - block < PANEL ? depth - block : PANEL;

      for (int64_t d = 0; d < n; d++, b += PANEL)
        {
          V b0 = *(const V *)b, b1 = *(const V *)(b + LANES);

#pragma GCC unroll 12
          for (int r = 0; r < rows; r++)
            {
              float v = a[r * a_row + d * a_step];

              left[r] += b0 * v;
              right[r] += b1 * v;
            }
        }
    }
#pragma GCC unroll 12
  for (int r = 0; r < rows; r++)
    {
      V *to = (V *)(y + r * PANEL);

      if (add)
        {
          left[r] += to[0];
          right[r] += to[1];
        }
      to[0] = left[r];
      to[1] = right[r];
    }
}

#define PRODUCT_CASE(rows)                                                                                             \
  case rows:                                                                                                           \
    if (add)                                                                                                           \
      product (rows, a, a_row, a_step, a_block, b, depth, y, true);                                                    \
    else                                                                                                               \
      product (rows, a, a_row, a_step, a_block, b, depth, y, false);                                                   \
    break

/* The same for up to ROWS rows. */
INLINE void
product_group (int64_t rows, const float *a, int64_t a_row, int64_t a_step, int64_t a_block, const float *b,
               int64_t depth, float *y, bool add)
{
  switch (rows)
    {
      PRODUCT_CASE (1);
      PRODUCT_CASE (2);
      PRODUCT_CASE (3);
      PRODUCT_CASE (4);
      PRODUCT_CASE (5);
      PRODUCT_CASE (6);
#if ROWS > 6
      PRODUCT_CASE (7);
      PRODUCT_CASE (8);
      PRODUCT_CASE (9);
      PRODUCT_CASE (10);
      PRODUCT_CASE (11);
      PRODUCT_CASE (12);
#endif
    }
}

/* The same for any number of rows, in groups of nearly equal size. a [rows, depth] with its strides, b [depth][PANEL],
 * y [rows][PANEL]. The depth is cut into slices, so that b's part stays in the first cache; the sums of slices are then
 * added, which is also more accurate than one long sum. */
INLINE void
product_all (int64_t rows, const float *a, int64_t a_row, int64_t a_step, int64_t a_block, const float *b,
             int64_t depth, float *y, bool add)
{
  for (int64_t from = 0; from < depth; from += SLICE)
    {
      int64_t n = depth - from < SLICE ? depth - from : SLICE, groups = (rows + ROWS - 1) / ROWS;

      for (int64_t row = 0; groups > 0; groups--)
        {
          int64_t size = (rows - row + groups - 1) / groups;

          product_group (size, a + row * a_row + from / PANEL * a_block, a_row, a_step, a_block, b + from * PANEL, n,
                         y + row * PANEL, add || from > 0);
          row += size;
        }
    }
}

#endif
