/* Winograd's transforms of tiles, for cpu-winograd*.c. */
#ifndef LOOM_CPU_WINOGRAD_LOOPS_H
#define LOOM_CPU_WINOGRAD_LOOPS_H

#include "kernels/cpu/cpu-panels.h"
#include "kernels/cpu/cpu-winograd.h"

/* A tile of step x step outputs, 4 or 2, reads and is transformed to SIDE (step) x SIDE (step). */
#define SIDE(step)      ((step) + 2)
#define POSITIONS(step) (SIDE (step) * SIDE (step))
#define MAX_STEP        4
#define MAX_SIDE        SIDE (MAX_STEP)

#define POINT_A  0.625f
#define POINT_B  1.5f
#define POINT_A2 (POINT_A * POINT_A)
#define POINT_B2 (POINT_B * POINT_B)
#define POINT_A3 (POINT_A2 * POINT_A)
#define POINT_B3 (POINT_B2 * POINT_B)
/* 1 / Π (point - other point), for 0, ±a and ±b: the factors of G. */
#define SCALE_0 (1 / (POINT_A2 * POINT_B2))
#define SCALE_A (1 / (2 * POINT_A2 * (POINT_A2 - POINT_B2)))
#define SCALE_B (1 / (2 * POINT_B2 * (POINT_B2 - POINT_A2)))

/* The stride from position to position of at least n floats: an odd number of vectors, so that the positions of a tile
 * are in different sets of the caches. */
INLINE int64_t
position_stride (int64_t n)
{
  return ((n + LANES - 1) / LANES | 1) * LANES;
}

/* ---- the matrices, one row or column of a tile at a time ----------------
 *
 * Those of step 2 are for the points 0, ±1 and infinity. All are called with a constant step. */

/* o [SIDE] = B' d [SIDE] */
INLINE void
input_line (int step, const V *d, V *o)
{
  if (step == 2)
    {
      o[0] = d[2] - d[0];
      o[1] = d[2] + d[1];
      o[2] = d[2] - d[1];
      o[3] = d[3] - d[1];
      return;
    }
  V even_a = d[4] - POINT_B2 * d[2], odd_a = d[3] - POINT_B2 * d[1];
  V even_b = d[4] - POINT_A2 * d[2], odd_b = d[3] - POINT_A2 * d[1];

  o[0] = d[4] - (POINT_A2 + POINT_B2) * d[2] + (POINT_A2 * POINT_B2) * d[0];
  o[1] = even_a + POINT_A * odd_a;
  o[2] = even_a - POINT_A * odd_a;
  o[3] = even_b + POINT_B * odd_b;
  o[4] = even_b - POINT_B * odd_b;
  o[5] = d[5] - (POINT_A2 + POINT_B2) * d[3] + (POINT_A2 * POINT_B2) * d[1];
}

/* o [step] = A' m [SIDE] */
INLINE void
output_line (int step, const V *m, V *o)
{
  V sum_a = m[1] + m[2], minus_a = m[1] - m[2];

  if (step == 2)
    {
      o[0] = m[0] + sum_a;
      o[1] = m[3] + minus_a;
      return;
    }
  V sum_b = m[3] + m[4], minus_b = m[3] - m[4];

  o[0] = m[0] + sum_a + sum_b;
  o[1] = POINT_A * minus_a + POINT_B * minus_b;
  o[2] = POINT_A2 * sum_a + POINT_B2 * sum_b;
  o[3] = m[5] + POINT_A3 * minus_a + POINT_B3 * minus_b;
}

/* o [SIDE] = A g [step] */
INLINE void
gradient_line (int step, const V *g, V *o)
{
  if (step == 2)
    {
      o[0] = g[0];
      o[1] = g[0] + g[1];
      o[2] = g[0] - g[1];
      o[3] = g[1];
      return;
    }
  V even_a = g[0] + POINT_A2 * g[2], odd_a = POINT_A * g[1] + POINT_A3 * g[3];
  V even_b = g[0] + POINT_B2 * g[2], odd_b = POINT_B * g[1] + POINT_B3 * g[3];

  o[0] = g[0];
  o[1] = even_a + odd_a;
  o[2] = even_a - odd_a;
  o[3] = even_b + odd_b;
  o[4] = even_b - odd_b;
  o[5] = g[3];
}

/* o [SIDE] = G w [3] */
INLINE void
filter_line (int step, const V *w, V *o)
{
  if (step == 2)
    {
      V even = 0.5f * (w[0] + w[2]), odd = 0.5f * w[1];

      o[0] = -w[0];
      o[1] = even + odd;
      o[2] = even - odd;
      o[3] = w[2];
      return;
    }
  V even_a = SCALE_A * w[0] + SCALE_A * POINT_A2 * w[2], odd_a = SCALE_A * POINT_A * w[1];
  V even_b = SCALE_B * w[0] + SCALE_B * POINT_B2 * w[2], odd_b = SCALE_B * POINT_B * w[1];

  o[0] = SCALE_0 * w[0];
  o[1] = even_a + odd_a;
  o[2] = even_a - odd_a;
  o[3] = even_b + odd_b;
  o[4] = even_b - odd_b;
  o[5] = w[2];
}

/* o [3] = G' u [SIDE] */
INLINE void
filter_gradient_line (int step, const V *u, V *o)
{
  if (step == 2)
    {
      V sum = 0.5f * (u[1] + u[2]);

      o[0] = sum - u[0];
      o[1] = 0.5f * (u[1] - u[2]);
      o[2] = sum + u[3];
      return;
    }
  V sum_a = SCALE_A * (u[1] + u[2]), sum_b = SCALE_B * (u[3] + u[4]);

  o[0] = SCALE_0 * u[0] + sum_a + sum_b;
  o[1] = SCALE_A * POINT_A * (u[1] - u[2]) + SCALE_B * POINT_B * (u[3] - u[4]);
  o[2] = POINT_A2 * sum_a + POINT_B2 * sum_b + u[5];
}

/* ---- tiles ---------------------------------------------------------------- */

/* A tile's place among those of all images. */
typedef struct
{
  int64_t image, row, column;
} Place;

INLINE Place
place_of_tile (int64_t tile, int64_t tiles_h, int64_t tiles_w)
{
  const int64_t in_image = tile % (tiles_h * tiles_w);

  return (Place){ tile / (tiles_h * tiles_w), in_image / tiles_w, in_image % tiles_w };
}

INLINE void
place_next (Place *place, int64_t tiles_h, int64_t tiles_w)
{
  if (++place->column < tiles_w)
    return;
  place->column = 0;
  if (++place->row < tiles_h)
    return;
  place->row = 0;
  place->image++;
}

/* Pixels of a tile: pixel (i, j) is at row[i] + j·channels if bit j of `columns` is set, and else outside the image.
 * Rows outside are rows of zeros [side, channels].
 *
 * Of an image that is the gradient of a pooling, only the windows [height / 2, width / 2] are stored, and which pixel
 * of each is not zero: pixel (i, j) is in the window at row[i] + window[j], and of those channels of it whose number at
 * index[i] + window[j] is that of the pixel. */
typedef struct
{
  const float *row[MAX_SIDE], *zeros;
  int64_t channels;
  unsigned columns;
  const uint8_t *index[MAX_SIDE];
  int64_t window[MAX_SIDE];
} Tile;

/* Whether convolutions with a pooling are compiled. */
#ifdef __AVX512F__
#define HAS_POOLED true
#else
#define HAS_POOLED false
#endif

/* Whether a tile's image is the gradient of a pooling, and if so, whether the tile begins in the middle of a window. */
typedef enum
{
  TILE_PLAIN,
  TILE_POOLED,
  TILE_POOLED_ODD
} TileKind;

/* The side x side pixels from (top, left) of an image [height, width, channels]. */
INLINE void
tile_find (Tile *tile, int side, const float *image, int64_t height, int64_t width, int64_t channels, int64_t top,
           int64_t left, const float *zeros)
{
  const float *row = image + (top * width + left) * channels;

  tile->channels = channels;
  tile->zeros = zeros;
  tile->columns = 0;
  for (int i = 0; i < side; i++, row += width * channels)
    {
      tile->row[i] = top + i >= 0 && top + i < height ? row : zeros;
      tile->columns |= (unsigned)(left + i >= 0 && left + i < width) << i;
    }
}

/* The same for a gradient g and its indices [height / 2, width / 2, channels] of a pooling. Columns outside are masked,
 * so their windows are any that are inside. */
INLINE void
tile_find_pooled (Tile *tile, int side, const float *g, const uint8_t *indices, int64_t height, int64_t width,
                  int64_t channels, int64_t top, int64_t left, const float *zeros)
{
  const int64_t first = left < 0 ? 0 : left / 2, last = width / 2 - 1;

  tile->channels = channels;
  tile->columns = 0;
  for (int i = 0; i < side; i++)
    {
      const bool is_inside = top + i >= 0 && top + i < height;
      const int64_t at = is_inside ? ((top + i) / 2 * (width / 2) + first) * channels : 0;
      const int64_t column = left + i < 0 ? 0 : (left + i) / 2;

      tile->row[i] = is_inside ? g + at : zeros;
      tile->index[i] = is_inside ? indices + at : (const uint8_t *)zeros;
      tile->window[i] = ((column < last ? column : last) - first) * channels;
      tile->columns |= (unsigned)(left + i >= 0 && left + i < width) << i;
    }
}

/* The first n lanes of column j of a tile, without a branch, which would be mispredicted at every border. */
#ifdef __AVX512F__
typedef __mmask16 Lanes;
#define LANES_OF(tile, j, n)                                                                                           \
  ((__mmask16)(((n) >= LANES ? 0xffffu : (1u << (n)) - 1) & (0u - ((tile)->columns >> (j)&1))))
#else
typedef int64_t Lanes;
#define LANES_OF(tile, j, n) ((tile)->columns >> (j)&1 ? (n) : 0)
#endif

INLINE V
tile_load (const Tile *tile, TileKind kind, int i, int j, int64_t channel, Lanes lanes)
{
  const float *from = tile->row[i] + j * tile->channels + channel;

#ifdef __AVX512F__
  if (kind != TILE_PLAIN)
    {
      const int odd = kind == TILE_POOLED_ODD, number = (i + odd) % 2 * 2 + (j + odd) % 2;
      const __m128i index = _mm_loadu_si128 ((const __m128i *)(tile->index[i] + tile->window[j] + channel));

      lanes = _mm_mask_cmpeq_epi8_mask (lanes, index, _mm_set1_epi8 ((char)number));
      from = tile->row[i] + tile->window[j] + channel;
    }
  return (V)_mm512_maskz_loadu_ps (lanes, from);
#else
  return lanes == 0 ? (V){ 0 } : load (from, lanes);
#endif
}

/* LANES channels of B' d B, with position stride `stride`. There are n channels, maybe fewer than LANES. */
INLINE void
input_tile (int step, const Tile *tile, TileKind kind, int64_t channel, int64_t n, float *to, int64_t stride)
{
  const int side = SIDE (step);
  V column[MAX_SIDE][MAX_SIDE], line[MAX_SIDE], o[MAX_SIDE];

#pragma GCC unroll 6
  for (int j = 0; j < side; j++)
    {
      const Lanes lanes = LANES_OF (tile, j, n);

#pragma GCC unroll 6
      for (int i = 0; i < side; i++)
        line[i] = tile_load (tile, kind, i, j, channel, lanes);
      input_line (step, line, column[j]);
    }
#pragma GCC unroll 6
  for (int i = 0; i < side; i++)
    {
#pragma GCC unroll 6
      for (int j = 0; j < side; j++)
        line[j] = column[j][i];
      input_line (step, line, o);
#pragma GCC unroll 6
      for (int j = 0; j < side; j++)
        *(V *)(to + (i * side + j) * stride) = o[j];
    }
}

/* LANES channels of A g A', and their sum over the tile. */
INLINE V
gradient_tile (int step, const Tile *tile, TileKind kind, int64_t channel, int64_t n, float *to, int64_t stride)
{
  const int side = SIDE (step);
  V column[MAX_STEP][MAX_SIDE], line[MAX_STEP], o[MAX_SIDE], sum = { 0 };

#pragma GCC unroll 6
  for (int j = 0; j < step; j++)
    {
      const Lanes lanes = LANES_OF (tile, j, n);

#pragma GCC unroll 6
      for (int i = 0; i < step; i++)
        {
          line[i] = tile_load (tile, kind, i, j, channel, lanes);
          sum += line[i];
        }
      gradient_line (step, line, column[j]);
    }
#pragma GCC unroll 6
  for (int i = 0; i < side; i++)
    {
#pragma GCC unroll 6
      for (int j = 0; j < step; j++)
        line[j] = column[j][i];
      gradient_line (step, line, o);
#pragma GCC unroll 6
      for (int j = 0; j < side; j++)
        *(V *)(to + (i * side + j) * stride) = o[j];
    }
  return sum;
}

/* y [step][step] of LANES channels, A' m A. */
INLINE void
output_tile (int step, const float *from, int64_t stride, V y[MAX_STEP][MAX_STEP])
{
  const int side = SIDE (step);
  V column[MAX_SIDE][MAX_STEP], line[MAX_SIDE];

#pragma GCC unroll 6
  for (int j = 0; j < side; j++)
    {
#pragma GCC unroll 6
      for (int i = 0; i < side; i++)
        line[i] = *(const V *)(from + (i * side + j) * stride);
      output_line (step, line, column[j]);
    }
#pragma GCC unroll 6
  for (int i = 0; i < step; i++)
    {
#pragma GCC unroll 6
      for (int j = 0; j < side; j++)
        line[j] = column[j][i];
      output_line (step, line, y[i]);
    }
}

/* LANES columns of G w G', w [9][LANES]. */
INLINE void
filter_tile (int step, const V *w, float *to, int64_t stride)
{
  const int side = SIDE (step);
  V column[3][MAX_SIDE], line[3], o[MAX_SIDE];

#pragma GCC unroll 6
  for (int j = 0; j < 3; j++)
    {
#pragma GCC unroll 6
      for (int i = 0; i < 3; i++)
        line[i] = w[i * 3 + j];
      filter_line (step, line, column[j]);
    }
#pragma GCC unroll 6
  for (int i = 0; i < side; i++)
    {
#pragma GCC unroll 6
      for (int j = 0; j < 3; j++)
        line[j] = column[j][i];
      filter_line (step, line, o);
#pragma GCC unroll 6
      for (int j = 0; j < side; j++)
        *(V *)(to + (i * side + j) * stride) = o[j];
    }
}

/* w [9][LANES] = G' u G */
INLINE void
filter_gradient_tile (int step, const float *from, int64_t stride, V *w)
{
  const int side = SIDE (step);
  V column[MAX_SIDE][3], line[MAX_SIDE];

#pragma GCC unroll 6
  for (int j = 0; j < side; j++)
    {
#pragma GCC unroll 6
      for (int i = 0; i < side; i++)
        line[i] = *(const V *)(from + (i * side + j) * stride);
      filter_gradient_line (step, line, column[j]);
    }
#pragma GCC unroll 6
  for (int i = 0; i < 3; i++)
    {
#pragma GCC unroll 6
      for (int j = 0; j < side; j++)
        line[j] = column[j][i];
      filter_gradient_line (step, line, w + 3 * i);
    }
}

#endif
