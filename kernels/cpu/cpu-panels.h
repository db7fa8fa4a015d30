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

/* The product of panels, rows x PANEL sums of a·b over the depth, which are added to y or stored there: b
 * [depth][PANEL], y [rows][PANEL]. If there are no more than LANES columns, the rest of b is not read, and that of y
 * not written. The depth is cut into slices, so that b's part stays in the first cache; the sums of slices are then
 * added, which is also more accurate than one long sum. */

/* a [depth / PANEL][rows][PANEL], with panel stride a_block. */
void ISA (cpu_product_rows) (int64_t rows, const float *a, int64_t a_block, const float *b, int64_t depth,
                             int64_t columns, float *y, bool add);

/* The same for a depth of at most LANES, a [rows][LANES], and stored. */
void ISA (cpu_product_half_rows) (int64_t rows, const float *a, const float *b, int64_t depth, int64_t columns,
                                  float *y);

/* The first `rows` columns of a [depth][PANEL]. */
void ISA (cpu_product_columns) (int64_t rows, const float *a, const float *b, int64_t depth, int64_t columns, float *y,
                                bool add);

#endif
