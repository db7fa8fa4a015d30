/* The sum of squares of floats, in a fixed order, which is finite if and only if all floats are.
 *
 * Vectors are as wide as the registers: GCC 12 splits wider ones at every step, and converts eight floats in two halves
 * although AVX-512 has one instruction. The order of the additions is the same on every instruction set: STRIP sums,
 * element i of a chunk in sum i % STRIP. Their total is finite if and only if every element is: the square of the
 * largest float is 1.2e77, so no array that fits into memory reaches the largest double. */
#ifndef LOOM_CPU_SQUARES_H
#define LOOM_CPU_SQUARES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define STRIP 32
#ifdef __AVX512F__
#include <immintrin.h>
#define SUMS_A_VECTOR 8
typedef double Doubles __attribute__ ((vector_size (64)));

static inline Doubles
widen (const float *x)
{
  return (Doubles)_mm512_cvtps_pd (_mm256_loadu_ps (x));
}
#else
#define SUMS_A_VECTOR 4
typedef float Floats __attribute__ ((vector_size (16)));
typedef double Doubles __attribute__ ((vector_size (32)));

static inline Doubles
widen (const float *x)
{
  Floats narrow;

  memcpy (&narrow, x, sizeof narrow);
  return __builtin_convertvector(narrow, Doubles);
}
#endif

typedef struct
{
  Doubles total[STRIP / SUMS_A_VECTOR];
} CpuSquares;

/* Adds the squares of g [n], n a multiple of STRIP. */
static inline __attribute__ ((always_inline)) void
cpu_squares_add (CpuSquares *self, const float *g, int64_t n)
{
  CpuSquares s = *self;

  for (int64_t i = 0; i < n; i += STRIP)
#pragma GCC unroll 8
    for (int k = 0; k < STRIP / SUMS_A_VECTOR; k++)
      {
        Doubles x = widen (g + i + k * SUMS_A_VECTOR);

        s.total[k] += x * x;
      }
  *self = s;
}

/* The total, including the squares of g [n] after all others, n less than STRIP. */
static inline double
cpu_squares_end (const CpuSquares *self, const float *g, int64_t n)
{
  double sum = 0;

  for (int l = 0; l < 8; l++)
    for (int k = l; k < STRIP; k += 8)
      sum += self->total[k / SUMS_A_VECTOR][k % SUMS_A_VECTOR];
  for (int64_t i = 0; i < n; i++)
    sum += (double)g[i] * (double)g[i];
  return sum;
}

/* The sums of all chunks, added in their order, as the results of grad_stats. */
static inline void
cpu_squares_results (const double *sums, int64_t chunks, float *sum_of_squares, float *finite)
{
  double sum = 0;
  uint64_t bits;

  for (int64_t i = 0; i < chunks; i++)
    sum += sums[i];
  memcpy (&bits, &sum, sizeof bits); /* the bits, because compiler options can assume that a float is finite */
  *sum_of_squares = (float)sum;
  *finite = (bits & 0x7fffffffffffffffu) < 0x7ff0000000000000u ? 1.0f : 0.0f;
}

#endif
