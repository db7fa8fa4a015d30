/* The product of two panels, compiled once for all convolutions and attentions: with constant numbers of rows it is 48
 * loops. */
#include "kernels/cpu/cpu-panels.h"

#define SLICE 64 /* of the depth, a multiple of PANEL */

/* Computes rows x PANEL sums of a·b over the depth, or if it is narrow those of the first LANES columns, and adds them
 * to y or stores them there. b [depth][PANEL], y [rows][PANEL]; element (row, d) of a is at row·a_row + d·a_step in a
 * block of PANEL of the depth, and blocks have the stride a_block. Called with constants for rows, a_row, a_step,
 * narrow and add, so that all sums are in registers. */
INLINE void
product (int rows, const float *a, int64_t a_row, int64_t a_step, int64_t a_block, const float *b, int64_t depth,
         bool narrow, float *y, bool add)
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
          V b0 = *(const V *)b, b1 = narrow ? b0 : *(const V *)(b + LANES);

#pragma GCC unroll 12
          for (int r = 0; r < rows; r++)
            {
              float v = a[r * a_row + d * a_step];

              left[r] += b0 * v;
              if (!narrow)
                right[r] += b1 * v;
            }
        }
    }
#pragma GCC unroll 12
  for (int r = 0; r < rows; r++)
    {
      V *to = (V *)(y + r * PANEL);

      if (add)
        left[r] += to[0];
      to[0] = left[r];
      if (narrow)
        continue;
      if (add)
        right[r] += to[1];
      to[1] = right[r];
    }
}

#define PRODUCT_CASE(rows)                                                                                             \
  case rows:                                                                                                           \
    if (add)                                                                                                           \
      product (rows, a, a_row, a_step, a_block, b, depth, narrow, y, true);                                            \
    else                                                                                                               \
      product (rows, a, a_row, a_step, a_block, b, depth, narrow, y, false);                                           \
    break

/* The same for up to ROWS rows. */
INLINE void
product_group (int64_t rows, const float *a, int64_t a_row, int64_t a_step, int64_t a_block, const float *b,
               int64_t depth, bool narrow, float *y, bool add)
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

/* The same for any number of rows, in groups of nearly equal size, and in slices of the depth. */
INLINE void
product_all (int64_t rows, const float *a, int64_t a_row, int64_t a_step, int64_t a_block, const float *b,
             int64_t depth, bool narrow, float *y, bool add)
{
  for (int64_t from = 0; from < depth; from += SLICE)
    {
      int64_t n = depth - from < SLICE ? depth - from : SLICE, groups = (rows + ROWS - 1) / ROWS;

      for (int64_t row = 0; groups > 0; groups--)
        {
          int64_t size = (rows - row + groups - 1) / groups;

          product_group (size, a + row * a_row + from / PANEL * a_block, a_row, a_step, a_block, b + from * PANEL, n,
                         narrow, y + row * PANEL, add || from > 0);
          row += size;
        }
    }
}

void
ISA (cpu_product_rows) (int64_t rows, const float *a, int64_t a_block, const float *b, int64_t depth, int64_t columns,
                        float *y, bool add)
{
  if (columns <= LANES)
    product_all (rows, a, PANEL, 1, a_block, b, depth, true, y, add);
  else
    product_all (rows, a, PANEL, 1, a_block, b, depth, false, y, add);
}

void
ISA (cpu_product_half_rows) (int64_t rows, const float *a, const float *b, int64_t depth, int64_t columns, float *y)
{
  if (columns <= LANES)
    product_all (rows, a, LANES, 1, 0, b, depth, true, y, false);
  else
    product_all (rows, a, LANES, 1, 0, b, depth, false, y, false);
}

void
ISA (cpu_product_columns) (int64_t rows, const float *a, const float *b, int64_t depth, int64_t columns, float *y,
                           bool add)
{
  if (columns <= LANES)
    product_all (rows, a, 1, PANEL, PANEL * PANEL, b, depth, true, y, add);
  else
    product_all (rows, a, 1, PANEL, PANEL * PANEL, b, depth, false, y, add);
}
