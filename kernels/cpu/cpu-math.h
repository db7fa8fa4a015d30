/* Exponential, logarithm, hyperbolic functions and erf in f32 that a compiler can vectorise: no
 * branches, no tables, no calls.
 *
 * Argument reduction and polynomials are those of Cephes (S. L. Moshier, single
 * precision: expf, logf, tanhf, ndtrf). The test holds them to 4 units in the last
 * place against libm over their range, with the limits at ±inf, 0 and NaN. */
#ifndef LOOM_CPU_MATH_H
#define LOOM_CPU_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/convert.h"

/* e^x = 2^n·e^r with |r| ≤ ln2/2. 2^n is applied in two factors, so that the result
 * overflows to inf and runs out to 0 where it should. */
static inline float
cpu_exp (float x)
{
  const float magic = 12582912.0f; /* 1.5·2^23: adding it rounds to an integer */
  float y = x < -104.0f ? -104.0f : x, t, n, r, p;
  int32_t i, half;

  y = y > 89.0f ? 89.0f : y;
  t = y * 1.44269504088896341f + magic;
  n = t - magic;
  i = (int32_t)(loom_float_bits (t) - 0x4b400000u);
  r = y - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  half = i >> 1;
  return p * loom_float_from_bits ((uint32_t)(half + 127) << 23)
         * loom_float_from_bits ((uint32_t)(i - half + 127) << 23);
}

/* factor·(e^x - 1): e^r - 1 has all its digits before 2^n comes in, and the 1 is taken off what 2^n is then, so nothing
 * cancels near 0. The factor, a power of 2, goes into the last scaling, so that half of an overflow need not be one. */
static inline float
cpu_expm1_times (float x, float factor)
{
  const float magic = 12582912.0f;
  float y = x < -104.0f ? -104.0f : x, t, n, r, p, first;
  int32_t i, half;

  y = y > 90.0f ? 90.0f : y;
  t = y * 1.44269504088896341f + magic;
  n = t - magic;
  i = (int32_t)(loom_float_bits (t) - 0x4b400000u);
  r = y - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r;
  half = i >> 1;
  first = loom_float_from_bits ((uint32_t)(half + 127) << 23);
  p = p * first + (first - loom_float_from_bits ((uint32_t)(half - i + 127) << 23));
  return p * (loom_float_from_bits ((uint32_t)(i - half + 127) << 23) * factor);
}

static inline float
cpu_expm1 (float x)
{
  return cpu_expm1_times (x, 1.0f);
}

/* With h = (e^|x| - 1)/2 the sine is h + h/(2h + 1) and the cosine h + 1/2 + 1/(4h + 2). */
static inline float
cpu_sinh (float x)
{
  float h = cpu_expm1_times (fabsf (x), 0.5f);

  return copysignf (h + h / (h + h + 1.0f < INFINITY ? h + h + 1.0f : 1e38f), x);
}

static inline float
cpu_cosh (float x)
{
  float h = cpu_expm1_times (fabsf (x), 0.5f);

  return h + (0.5f + 0.5f / (h + h + 1.0f));
}

static inline float
cpu_log (float x)
{
  uint32_t bits = loom_float_bits (x);
  int32_t shifted = (int32_t)(bits - 0x3f3504f3u); /* relative to sqrt(1/2) */
  float e = (float)(shifted >> 23), m, z, p, y;

  m = loom_float_from_bits (bits - ((uint32_t)(shifted >> 23) << 23)) - 1.0f;
  z = m * m;
  p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  y = p * m * z + e * -2.12194440e-4f - 0.5f * z;
  y = m + y + e * 0.693359375f;
  y = x < INFINITY ? y : x;          /* +inf and NaN stay */
  y = x > 0 ? y : (x < 0 ? NAN : y); /* below 0 there is none */
  return x == 0 ? -INFINITY : y;
}

/* ln(1 + x): what rounding took from u = 1 + x is put back by the slope 1/u. */
static inline float
cpu_log1p (float x)
{
  float u = 1.0f + x, y = cpu_log (u) + (x - (u - 1.0f)) / u;

  y = x < INFINITY ? y : x;
  return x == -1.0f ? -INFINITY : y;
}

static inline float
cpu_tanh (float x)
{
  float a = fabsf (x), z = x * x, small, large;

  small = -5.70498872745e-3f;
  small = small * z + 2.06390887954e-2f;
  small = small * z - 5.37397155531e-2f;
  small = small * z + 1.33314422036e-1f;
  small = small * z - 3.33332819422e-1f;
  small = small * z * x + x;
  large = 1.0f - 2.0f / (cpu_exp (a + a) + 1.0f);
  large = copysignf (large, x);
  return a < 0.625f ? small : large;
}

/* x·P(x²) below 1; above, 1 - e^(-x²)/x·Q(1/x²) with one Q below 2 and one beyond. */
static inline float
cpu_erf (float x)
{
  float a = fabsf (x), z = x * x, small, near, far, q, w, large;

  small = 7.853861353153693e-5f;
  small = small * z - 8.010193625184903e-4f;
  small = small * z + 5.188327685732524e-3f;
  small = small * z - 2.685381193529856e-2f;
  small = small * z + 1.128358514861418e-1f;
  small = small * z - 3.761262582423300e-1f;
  small = small * z + 1.128379165726710e+0f;
  small = small * x;
  w = a < 1.0f ? 1.0f : 1.0f / a;
  q = w * w;
  near = 2.326819970068386e-2f;
  near = near * q - 1.387039388740657e-1f;
  near = near * q + 3.687424674597105e-1f;
  near = near * q - 5.824733027278666e-1f;
  near = near * q + 6.210004621745983e-1f;
  near = near * q - 4.944515323274145e-1f;
  near = near * q + 3.404879937665872e-1f;
  near = near * q - 2.741127028184656e-1f;
  near = near * q + 5.638259427386472e-1f;
  far = -1.047766399936249e+1f;
  far = far * q + 1.297719955372516e+1f;
  far = far * q - 7.495518717768503e+0f;
  far = far * q + 2.921019019210786e+0f;
  far = far * q - 1.015265279202700e+0f;
  far = far * q + 4.218463358204948e-1f;
  far = far * q - 2.820767439740514e-1f;
  far = far * q + 5.641895067754075e-1f;
  large = 1.0f - cpu_exp (-z) * w * (a < 2.0f ? near : far);
  large = copysignf (large, x);
  return a < 1.0f ? small : large;
}

#endif
