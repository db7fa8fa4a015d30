/* Normal and exponential random numbers in f32 from the words of kernels/philox.h, with the same bits on all back ends.
 *
 * Only operations are used whose results IEEE 754 defines (+, ·, sqrt, conversions), and no product is contracted with
 * a sum: on a GPU by loom_draw_mul_add() and loom_draw_mul(), in C by -ffp-contract=off of the files that include this.
 * Logarithm, sine and cosine are our own polynomials, fitted by Remez's exchange algorithm in 200 bits;
 * tests/kernels/test-draw.c limits their error to 3 units in the last place against f64. */
#ifndef LOOM_DRAW_H
#define LOOM_DRAW_H

#include <math.h>
#include <stdbool.h>

#include "kernels/convert.h"
#include "kernels/philox.h"

/* a·b, rounded. */
LOOM_PHILOX_FN float
loom_draw_mul (float a, float b)
{
#ifdef __CUDA_ARCH__
  return __fmul_rn (a, b);
#else
  return a * b;
#endif
}

/* p·x + c with both results rounded: a step of Horner's scheme. */
LOOM_PHILOX_FN float
loom_draw_mul_add (float p, float x, float c)
{
#ifdef __CUDA_ARCH__
  return __fadd_rn (__fmul_rn (p, x), c);
#else
  return p * x + c;
#endif
}

LOOM_PHILOX_FN float
loom_draw_sqrt (float x)
{
#ifdef __CUDA_ARCH__
  return __fsqrt_rn (x);
#else
  return sqrtf (x);
#endif
}

/* -(e·ln 2 + ln (1 + f)) for f between sqrt(1/2) - 1 and sqrt(2) - 1: ln (1 + f) = f - f²/2 + f³·P(f) within 6·10⁻⁹ of
 * itself. ln 2 is 0.693359375, whose product with e is exact, and the rest. */
LOOM_PHILOX_FN float
loom_draw_neg_log (float f, float e)
{
  const float z = loom_draw_mul (f, f);
  float p = -0.07634495198726654f;

  p = loom_draw_mul_add (p, f, 0.12761574983596802f);
  p = loom_draw_mul_add (p, f, -0.13160182535648346f);
  p = loom_draw_mul_add (p, f, 0.14201758801937103f);
  p = loom_draw_mul_add (p, f, -0.16623356938362122f);
  p = loom_draw_mul_add (p, f, 0.20001226663589478f);
  p = loom_draw_mul_add (p, f, -0.2500081956386566f);
  p = loom_draw_mul_add (p, f, 0.3333333134651184f);
  p = loom_draw_mul (loom_draw_mul (p, f), z);
  p = loom_draw_mul_add (e, -2.12194440e-4f, p);
  p = loom_draw_mul_add (z, -0.5f, p);
  return loom_draw_mul_add (e, -0.693359375f, -(f + p));
}

/* x = 2^e·(1 + f) as above, for positive normal x. */
LOOM_PHILOX_FN float
loom_draw_split (float x, float *e)
{
  const uint32_t bits = loom_float_bits (x);
  const int32_t whole = (int32_t)(bits - 0x3f3504f3u) >> 23; /* relative to sqrt(1/2) */

  *e = (float)whole;
  return loom_float_from_bits (bits - ((uint32_t)whole << 23)) - 1.0f;
}

/* sqrt(-2 ln(1 - u)), u = loom_philox_uniform (word). */
LOOM_PHILOX_FN float
loom_draw_radius (uint32_t word)
{
  const float rest = (float)(0x1000000 - (int32_t)(word >> 8)) * (1.0f / 16777216.0f); /* 1 - u, exact */
  float e, f = loom_draw_split (rest, &e);

  return loom_draw_sqrt (2.0f * loom_draw_neg_log (f, e));
}

/* cos(2πv) and sin(2πv), v = loom_philox_uniform (word). With 4v = n + r, n whole and |r| at most 1/2, all exact, they
 * are those of r·π/2, up to sign and order: 1 + r²·C(r²) within 6·10⁻¹¹, and r·3/2, exact as well, plus r·S(r²). */
LOOM_PHILOX_FN void
loom_draw_sincos (uint32_t word, float *cosine, float *sine)
{
  const uint32_t v = word >> 8, n = (v + 0x200000u) >> 22;
  const float r = (float)(int32_t)(v - (n << 22)) * (1.0f / 4194304.0f), z = loom_draw_mul (r, r);
  float s = -0.004602177068591118f, c = 0.0009040216682478786f;
  uint32_t even, odd;

  s = loom_draw_mul_add (s, z, 0.07968022674322128f);
  s = loom_draw_mul_add (s, z, -0.6459634900093079f);
  s = loom_draw_mul_add (s, z, 0.07079631835222244f);
  s = loom_draw_mul_add (s, r, loom_draw_mul (r, 1.5f));
  c = loom_draw_mul_add (c, z, -0.02086028829216957f);
  c = loom_draw_mul_add (c, z, 0.25366923213005066f);
  c = loom_draw_mul_add (c, z, -1.2337005138397217f);
  c = loom_draw_mul_add (c, z, 1.0f);
  even = loom_float_bits ((n & 1) != 0 ? s : c);
  odd = loom_float_bits ((n & 1) != 0 ? c : s);
  /* Quadrants 1 and 2 flip the cosine's sign, 2 and 3 the sine's. */
  *cosine = loom_float_from_bits (even ^ ((n + 1) & 2u) << 30);
  *sine = loom_float_from_bits (odd ^ (n & 2u) << 30);
}

/* Two normal numbers, for an even element and the odd one after it, by Box and Muller ("A note on the generation of
 * random normal deviates", 1958) from words (0, 1) or (2, 3) of a block. */
LOOM_PHILOX_FN void
loom_draw_normals (uint32_t first, uint32_t second, float *even, float *odd)
{
  const float radius = loom_draw_radius (first);
  float cosine, sine;

  loom_draw_sincos (second, &cosine, &sine);
  *even = loom_draw_mul (radius, cosine);
  *odd = loom_draw_mul (radius, sine);
}

/* -ln x, x = loom_philox_open (word). Near 1 the difference to 1 is taken from the word, before rounding. */
LOOM_PHILOX_FN float
loom_draw_exponential (uint32_t word)
{
  const bool near = word >= 0xb504f334u; /* sqrt(1/2)·2³² */
  const float t = (float)(near ? 2u * ~word + 1u : word);
  float e, f = loom_draw_split ((t + 0.5f) * (1.0f / 4294967296.0f), &e);

  f = near ? t * (-1.0f / 8589934592.0f) : f;
  e = near ? 0.0f : e;
  return loom_draw_neg_log (f, e);
}

#endif
