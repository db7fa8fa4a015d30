/* Copies rows of a tensor to panels (cpu-panels.h) and back. */
#ifndef LOOM_CPU_PANEL_ROWS_H
#define LOOM_CPU_PANEL_ROWS_H

#include "kernels/cpu/cpu-panels.h"

/* Copies from [rows, columns], with row stride `down`, times `scale`, to panels of its columns, with panel stride
 * `stride`: to [columns / PANEL][rows][PANEL]. */
static inline void
put_columns (float *to, int64_t stride, const float *from, int64_t down, int64_t rows, int64_t columns, float scale)
{
  for (int64_t at = 0; at < columns; at += PANEL, to += stride)
    for (int64_t r = 0; r < rows; r++)
      {
        const float *row = from + r * down + at;
        int64_t n = columns - at;
        V right = { 0 };

        if (n > LANES)
          right = load (row + LANES, n - LANES) * scale;
        store (to + r * PANEL, load (row, n) * scale, PANEL);
        store (to + r * PANEL + LANES, right, PANEL);
      }
}

/* Copies from [rows, columns], with row stride `down`, transposed to [rows / PANEL][columns][PANEL], the last panel
 * padded with zeros. */
static inline void
put_rows (float *to, const float *from, int64_t down, int64_t rows, int64_t columns)
{
  for (int64_t at = 0; at < rows; at += PANEL, to += columns * PANEL)
    {
      int64_t n = rows - at < PANEL ? rows - at : PANEL;

      for (int64_t c = 0; c < columns; c++)
        {
          for (int64_t r = 0; r < n; r++)
            to[c * PANEL + r] = from[(at + r) * down + c];
          for (int64_t r = n; r < PANEL; r++)
            to[c * PANEL + r] = 0;
        }
    }
}

/* Copies the first `columns` columns of panels [columns / PANEL][…][PANEL], with panel stride `stride`, times a factor
 * for each row, to [rows, columns] with row stride `down`. */
static inline void
take_columns (float *to, int64_t down, const float *from, int64_t stride, int64_t rows, int64_t columns,
              const float *factor)
{
  for (int64_t at = 0; at < columns; at += PANEL, from += stride)
    for (int64_t r = 0; r < rows; r++)
      {
        float *row = to + r * down + at;
        int64_t n = columns - at;

        store (row, *(const V *)(from + r * PANEL) * factor[r], n);
        if (n > LANES)
          store (row + LANES, *(const V *)(from + r * PANEL + LANES) * factor[r], n - LANES);
      }
}

#endif
