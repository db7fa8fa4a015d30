/* Transforms of tiles and the inner product of cpu-winograd*.c, which see there. */
#ifndef LOOM_CPU_WINOGRAD_LOOPS_H
#define LOOM_CPU_WINOGRAD_LOOPS_H

#include "kernels/cpu/cpu-winograd.h"

#ifdef __AVX512F__
#include <immintrin.h>
#define LANES 16
#define ROWS  12 /* of an inner product: ROWS times two vectors of sums stay in registers */
#else
#define LANES 8
#define ROWS  6
#endif
#define PANEL     (2 * LANES)
#define SLICE     64 /* of the depth of a product, a multiple of PANEL */
#define POSITIONS 36 /* of a transformed tile */
#define SIDE      6  /* of a tile of the input */
#define STEP      4  /* of a tile of the output, and from tile to tile */

#define POINT_A  0.625f
#define POINT_B  1.5f
#define POINT_A2 (POINT_A * POINT_A)
#define POINT_B2 (POINT_B * POINT_B)
#define POINT_A3 (POINT_A2 * POINT_A)
#define POINT_B3 (POINT_B2 * POINT_B)
/* 1 / Π (point - other point), of 0, ±a and ±b: what G is scaled by. */
#define SCALE_0 (1 / (POINT_A2 * POINT_B2))
#define SCALE_A (1 / (2 * POINT_A2 * (POINT_A2 - POINT_B2)))
#define SCALE_B (1 / (2 * POINT_B2 * (POINT_B2 - POINT_A2)))

#define INLINE static inline __attribute__ ((always_inline))

typedef float V __attribute__ ((vector_size (4 * LANES), aligned (4), may_alias));
typedef int32_t VI __attribute__ ((vector_size (4 * LANES)));

/* The first n of a vector's elements; the others are neither read nor written, and 0. */
INLINE V
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

INLINE void
store_part (float *to, V v, int64_t n)
{
#ifdef __AVX512F__
  _mm512_mask_storeu_ps (to, (__mmask16)((1u << n) - 1), (__m512)v);
#else
  for (int64_t i = 0; i < n; i++)
    to[i] = v[i];
#endif
}

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

/* ---- the matrices, one row or column of a tile at a time ---------------- */

/* o = B' d */
INLINE void
input_line (V d0, V d1, V d2, V d3, V d4, V d5, V o[SIDE])
{
  V even_a = d4 - POINT_B2 * d2, odd_a = d3 - POINT_B2 * d1;
  V even_b = d4 - POINT_A2 * d2, odd_b = d3 - POINT_A2 * d1;

  o[0] = d4 - (POINT_A2 + POINT_B2) * d2 + (POINT_A2 * POINT_B2) * d0;
  o[1] = even_a + POINT_A * odd_a;
  o[2] = even_a - POINT_A * odd_a;
  o[3] = even_b + POINT_B * odd_b;
  o[4] = even_b - POINT_B * odd_b;
  o[5] = d5 - (POINT_A2 + POINT_B2) * d3 + (POINT_A2 * POINT_B2) * d1;
}

/* o = A' m */
INLINE void
output_line (V m0, V m1, V m2, V m3, V m4, V m5, V o[STEP])
{
  V sum_a = m1 + m2, minus_a = m1 - m2, sum_b = m3 + m4, minus_b = m3 - m4;

  o[0] = m0 + sum_a + sum_b;
  o[1] = POINT_A * minus_a + POINT_B * minus_b;
  o[2] = POINT_A2 * sum_a + POINT_B2 * sum_b;
  o[3] = m5 + POINT_A3 * minus_a + POINT_B3 * minus_b;
}

/* o = A g */
INLINE void
gradient_line (V g0, V g1, V g2, V g3, V o[SIDE])
{
  V even_a = g0 + POINT_A2 * g2, odd_a = POINT_A * g1 + POINT_A3 * g3;
  V even_b = g0 + POINT_B2 * g2, odd_b = POINT_B * g1 + POINT_B3 * g3;

  o[0] = g0;
  o[1] = even_a + odd_a;
  o[2] = even_a - odd_a;
  o[3] = even_b + odd_b;
  o[4] = even_b - odd_b;
  o[5] = g3;
}

/* o = G w */
INLINE void
filter_line (V w0, V w1, V w2, V o[SIDE])
{
  V even_a = SCALE_A * w0 + SCALE_A * POINT_A2 * w2, odd_a = SCALE_A * POINT_A * w1;
  V even_b = SCALE_B * w0 + SCALE_B * POINT_B2 * w2, odd_b = SCALE_B * POINT_B * w1;

  o[0] = SCALE_0 * w0;
  o[1] = even_a + odd_a;
  o[2] = even_a - odd_a;
  o[3] = even_b + odd_b;
  o[4] = even_b - odd_b;
  o[5] = w2;
}

/* o = G' u */
INLINE void
filter_gradient_line (V u0, V u1, V u2, V u3, V u4, V u5, V o[3])
{
  V sum_a = SCALE_A * (u1 + u2), sum_b = SCALE_B * (u3 + u4);

  o[0] = SCALE_0 * u0 + sum_a + sum_b;
  o[1] = SCALE_A * POINT_A * (u1 - u2) + SCALE_B * POINT_B * (u3 - u4);
  o[2] = POINT_A2 * sum_a + POINT_B2 * sum_b + u5;
}

/* ---- tiles ---------------------------------------------------------------- */

/* Where a tile's pixels lie: pixel[i*side + j] is [channels], a row of zeros outside the image. */
typedef struct
{
  const float *pixel[POSITIONS];
} Tile;

/* The side x side pixels from (top, left) of an image [height, width, channels]. */
INLINE void
tile_find (Tile *tile, int side, const float *image, int64_t height, int64_t width, int64_t channels, int64_t top,
           int64_t left, const float *zeros)
{
  for (int i = 0; i < side; i++)
    for (int j = 0; j < side; j++)
      {
        bool inside = top + i >= 0 && top + i < height && left + j >= 0 && left + j < width;

        tile->pixel[i * side + j] = inside ? image + ((top + i) * width + left + j) * channels : zeros;
      }
}

/* LANES channels of B' d B, the positions `stride` floats apart. n channels are there, maybe fewer than LANES. */
INLINE void
input_tile (const Tile *tile, int64_t channel, int64_t n, float *to, int64_t stride)
{
  const float *const *p = tile->pixel;
  V column[SIDE][SIDE], o[SIDE];

  for (int j = 0; j < SIDE; j++)
    input_line (load (p[j] + channel, n), load (p[6 + j] + channel, n), load (p[12 + j] + channel, n),
                load (p[18 + j] + channel, n), load (p[24 + j] + channel, n), load (p[30 + j] + channel, n), column[j]);
  for (int i = 0; i < SIDE; i++)
    {
      input_line (column[0][i], column[1][i], column[2][i], column[3][i], column[4][i], column[5][i], o);
      for (int j = 0; j < SIDE; j++)
        *(V *)(to + (i * SIDE + j) * stride) = o[j];
    }
}

/* LANES channels of A g A', and their sum over the tile. */
INLINE V
gradient_tile (const Tile *tile, int64_t channel, int64_t n, float *to, int64_t stride)
{
  const float *const *p = tile->pixel;
  V column[STEP][SIDE], o[SIDE], sum = { 0 };

  for (int j = 0; j < STEP; j++)
    {
      V g0 = load (p[j] + channel, n), g1 = load (p[4 + j] + channel, n), g2 = load (p[8 + j] + channel, n),
        g3 = load (p[12 + j] + channel, n);

      sum += (g0 + g1) + (g2 + g3);
      gradient_line (g0, g1, g2, g3, column[j]);
    }
  for (int i = 0; i < SIDE; i++)
    {
      gradient_line (column[0][i], column[1][i], column[2][i], column[3][i], o);
      for (int j = 0; j < SIDE; j++)
        *(V *)(to + (i * SIDE + j) * stride) = o[j];
    }
  return sum;
}

/* y [STEP][STEP] of LANES channels, A' m A. */
INLINE void
output_tile (const float *from, int64_t stride, V y[STEP][STEP])
{
  V column[SIDE][STEP];

  for (int j = 0; j < SIDE; j++)
    {
      const float *m = from + j * stride;

      output_line (*(const V *)m, *(const V *)(m + 6 * stride), *(const V *)(m + 12 * stride),
                   *(const V *)(m + 18 * stride), *(const V *)(m + 24 * stride), *(const V *)(m + 30 * stride),
                   column[j]);
    }
  for (int i = 0; i < STEP; i++)
    output_line (column[0][i], column[1][i], column[2][i], column[3][i], column[4][i], column[5][i], y[i]);
}

/* LANES columns of G w G', w [9][LANES]. */
INLINE void
filter_tile (const V w[9], float *to, int64_t stride)
{
  V column[3][SIDE], o[SIDE];

  for (int j = 0; j < 3; j++)
    filter_line (w[j], w[3 + j], w[6 + j], column[j]);
  for (int i = 0; i < SIDE; i++)
    {
      filter_line (column[0][i], column[1][i], column[2][i], o);
      for (int j = 0; j < SIDE; j++)
        *(V *)(to + (i * SIDE + j) * stride) = o[j];
    }
}

/* w [9][LANES] = G' u G */
INLINE void
filter_gradient_tile (const float *from, int64_t stride, V w[9])
{
  V column[SIDE][3];

  for (int j = 0; j < SIDE; j++)
    {
      const float *u = from + j * stride;

      filter_gradient_line (*(const V *)u, *(const V *)(u + 6 * stride), *(const V *)(u + 12 * stride),
                            *(const V *)(u + 18 * stride), *(const V *)(u + 24 * stride), *(const V *)(u + 30 * stride),
                            column[j]);
    }
  for (int i = 0; i < 3; i++)
    filter_gradient_line (column[0][i], column[1][i], column[2][i], column[3][i], column[4][i], column[5][i],
                          w + 3 * i);
}

/* ---- products --------------------------------------------------------------- */

/* rows x PANEL sums of a·b over the depth, added to y or put there. b [depth][PANEL], y [rows][PANEL]; element (row, d)
 * of a lies at row·a_row + d·a_step within a block of PANEL of the depth, and the blocks are a_block apart. Called with
 * constants for rows, a_row, a_step and add, so that all sums stay in registers. */
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

/* For any number of rows, in groups of nearly equal size. The depth is cut into slices, of which b stays in the first
 * cache, and whose sums are added up afterwards: sums of few numbers lose less than one of many. */
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
