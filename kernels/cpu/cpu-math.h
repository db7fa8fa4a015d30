/* Exponentials, logarithms, powers, trigonometric and hyperbolic functions with their inverses, and erf, in f32, in a
 * form that compilers vectorise: no branches, no tables, no calls.
 *
 * Argument reduction and polynomials are those of Cephes (S. L. Moshier, single precision: expf, exp2f, logf, sinf,
 * tanf, asinf, atanf, tanhf, ndtrf), unless a comment names another source. The test compares them with libm over their
 * range, with a limit of 4 units in the last place, and checks ±inf, 0 and NaN. */
#ifndef LOOM_CPU_MATH_H
#define LOOM_CPU_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/convert.h"

/* e^x = 2^n·e^r with |r| ≤ ln2/2: n, and e^r - 1, for x from -104 to most. */
static inline float
cpu_exp_parts (float x, float most, int32_t *n)
{
  const float magic = 12582912.0f; /* 1.5·2^23: adding it rounds to an integer */
  float y = x < -104.0f ? -104.0f : x, t, whole, r, p;

  y = y > most ? most : y;
  t = y * 1.44269504088896341f + magic;
  whole = t - magic;
  *n = (int32_t)(loom_float_bits (t) - 0x4b400000u);
  r = y - whole * 0.693359375f;
  r = r - whole * -2.12194440e-4f;
  p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * r * r + r;
}

/* 2^n is applied in two factors, so that the result becomes inf or 0 only if the exact one does. */
static inline float
cpu_exp (float x)
{
  int32_t n, half;
  float p = cpu_exp_parts (x, 89.0f, &n) + 1.0f;

  half = n >> 1;
  return p * loom_float_from_bits ((uint32_t)(half + 127) << 23)
         * loom_float_from_bits ((uint32_t)(n - half + 127) << 23);
}

/* factor·(e^x - 1): e^r - 1 is accurate before it is multiplied by 2^n, and the 1 is subtracted from 2^n, so nothing
 * cancels near 0. The factor, a power of 2, is part of the last scaling, so that half of an overflowing number does not
 * overflow. */
static inline float
cpu_expm1_times (float x, float factor)
{
  int32_t n, half;
  float p = cpu_exp_parts (x, 90.0f, &n), first;

  half = n >> 1;
  first = loom_float_from_bits ((uint32_t)(half + 127) << 23);
  p = p * first + (first - loom_float_from_bits ((uint32_t)(half - n + 127) << 23));
  return p * (loom_float_from_bits ((uint32_t)(n - half + 127) << 23) * factor);
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

/* 2^(n + f) with |f| ≤ 1/2 and |n| ≤ 252. */
static inline float
cpu_exp2_parts (int32_t n, float f)
{
  int32_t half = n >> 1;
  float p = 1.535336188319500e-4f;

  p = p * f + 1.339887440266574e-3f;
  p = p * f + 9.618437357674640e-3f;
  p = p * f + 5.550332471162809e-2f;
  p = p * f + 2.402264791363012e-1f;
  p = p * f + 6.931472028550421e-1f;
  p = p * f + 1.0f;
  return p * loom_float_from_bits ((uint32_t)(half + 127) << 23)
         * loom_float_from_bits ((uint32_t)(n - half + 127) << 23);
}

static inline float
cpu_exp2 (float x)
{
  const float magic = 12582912.0f; /* as in cpu_exp() */
  float y = x < -151.0f ? -151.0f : x, t;

  y = y > 129.0f ? 129.0f : y;
  t = y + magic;
  return cpu_exp2_parts ((int32_t)(loom_float_bits (t) - 0x4b400000u), y - (t - magic));
}

/* x = 2^e·(1 + m) with 1 + m between sqrt(1/2) and sqrt(2); ln(1 + m) = m + y. */
static inline float
cpu_log_parts (float x, float *m, float *e)
{
  uint32_t bits = loom_float_bits (x);
  int32_t shifted = (int32_t)(bits - 0x3f3504f3u); /* relative to sqrt(1/2) */
  float z, p;

  *e = (float)(shifted >> 23);
  *m = loom_float_from_bits (bits - ((uint32_t)(shifted >> 23) << 23)) - 1.0f;
  z = *m * *m;
  p = 7.0376836292e-2f;
  p = p * *m - 1.1514610310e-1f;
  p = p * *m + 1.1676998740e-1f;
  p = p * *m - 1.2420140846e-1f;
  p = p * *m + 1.4249322787e-1f;
  p = p * *m - 1.6668057665e-1f;
  p = p * *m + 2.0000714765e-1f;
  p = p * *m - 2.4999993993e-1f;
  p = p * *m + 3.3333331174e-1f;
  return p * *m * z - 0.5f * z;
}

/* Replaces y, a logarithm of x, by its limits where x has no finite logarithm. */
static inline float
cpu_log_limits (float x, float y)
{
  y = x < INFINITY ? y : x;          /* +inf and NaN are unchanged */
  y = x > 0 ? y : (x < 0 ? NAN : y); /* negative numbers have none */
  return x == 0 ? -INFINITY : y;
}

static inline float
cpu_log (float x)
{
  float m, e, y = cpu_log_parts (x, &m, &e);

  return cpu_log_limits (x, m + (y + e * -2.12194440e-4f) + e * 0.693359375f);
}

/* 1/ln2 = 1 + 0.4427 keeps the digits of e and m. */
static inline float
cpu_log2 (float x)
{
  const float more = 0.44269504088896340736f;
  float m, e, y = cpu_log_parts (x, &m, &e);

  return cpu_log_limits (x, y * more + m * more + y + m + e);
}

/* 1/ln10 and log10 (2), each as a short factor and the rest. */
static inline float
cpu_log10 (float x)
{
  float m, e, y = cpu_log_parts (x, &m, &e);

  return cpu_log_limits (x, (m + y) * 7.00731903251827651129e-4f + y * 4.3359375e-1f + m * 4.3359375e-1f
                                + e * 2.48745663981195213739e-4f + e * 3.0078125e-1f);
}

/* ln(1 + x): the rounding error of u = 1 + x is corrected with the derivative 1/u. */
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

/* ---- sine, cosine, tangent ------------------------------------------------ */

/* For larger arguments the number of the quadrant, a product in f32, is not accurate enough. */
#define CPU_TRIG_MAX 1e5f

/* x = quadrant·π/2 + r with |r| ≤ π/4 for |x| up to CPU_TRIG_MAX, in f64: the first part of π/2 has 33 bits, so that
 * its product is exact and r keeps its digits next to multiples of π/2. */
static inline float
cpu_trig_reduce (float x, int32_t *quadrant)
{
  const float magic = 12582912.0f;
  float t = x * 0.63661977236758134308f + magic;
  double n = (double)(t - magic);

  *quadrant = (int32_t)(loom_float_bits (t) - 0x4b400000u);
  return (float)(((double)x - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11);
}

/* sin (r + quadrant·π/2) */
static inline float
cpu_trig_sin (float r, int32_t quadrant)
{
  float z = r * r, sine, cosine, y;

  sine = -1.9515295891e-4f;
  sine = sine * z + 8.3321608736e-3f;
  sine = sine * z - 1.6666654611e-1f;
  sine = sine * z * r + r;
  cosine = 2.443315711809948e-5f;
  cosine = cosine * z - 1.388731625493765e-3f;
  cosine = cosine * z + 4.166664568298827e-2f;
  cosine = cosine * z * z - 0.5f * z + 1.0f;
  y = (quadrant & 1) != 0 ? cosine : sine;
  return loom_float_from_bits (loom_float_bits (y) ^ ((uint32_t)quadrant & 2u) << 30);
}

static inline float
cpu_sin (float x)
{
  int32_t quadrant;
  float r = cpu_trig_reduce (x, &quadrant);

  return x == 0 ? x : cpu_trig_sin (r, quadrant);
}

static inline float
cpu_cos (float x)
{
  int32_t quadrant;
  float r = cpu_trig_reduce (x, &quadrant);

  return cpu_trig_sin (r, quadrant + 1);
}

static inline float
cpu_tan (float x)
{
  int32_t quadrant;
  float r = cpu_trig_reduce (x, &quadrant), z = r * r, y;

  y = 9.38540185543e-3f;
  y = y * z + 3.11992232697e-3f;
  y = y * z + 2.44301354525e-2f;
  y = y * z + 5.34112807005e-2f;
  y = y * z + 1.33387994085e-1f;
  y = y * z + 3.33331568548e-1f;
  y = y * z * r + r;
  y = (quadrant & 1) != 0 ? -1.0f / y : y;
  return x == 0 ? x : y;
}

/* ---- their inverses --------------------------------------------------------- */

/* asin of s between 0 and 1/2, z = s². */
static inline float
cpu_asin_small (float s, float z)
{
  float p = 4.2163199048e-2f;

  p = p * z + 2.4181311049e-2f;
  p = p * z + 4.5470025998e-2f;
  p = p * z + 7.4953002686e-2f;
  p = p * z + 1.6666752422e-1f;
  return p * z * s + s;
}

/* Above 1/2, asin (a) = π/2 - 2·asin (sqrt ((1 - a)/2)). */
static inline float
cpu_asin (float x)
{
  float a = fabsf (x), z = a > 0.5f ? 0.5f * (1.0f - a) : a * a, y;

  y = cpu_asin_small (a > 0.5f ? sqrtf (z) : a, z);
  y = a > 0.5f ? 1.57079632679489661923f - (y + y) : y;
  return copysignf (y, x);
}

static inline float
cpu_acos (float x)
{
  float a = fabsf (x), z = a > 0.5f ? 0.5f * (1.0f - a) : a * a, y, large;

  y = cpu_asin_small (a > 0.5f ? sqrtf (z) : a, z);
  large = x > 0 ? y + y : 3.14159265358979323846f - (y + y);
  return a > 0.5f ? large : 1.57079632679489661923f - copysignf (y, x);
}

/* atan (low/high) for 0 ≤ low ≤ high: above tan (π/8) it is π/4 + atan ((low - high)/(low + high)). */
static inline float
cpu_atan_quotient (float low, float high)
{
  const float middle = 0.41421356237309504880f;
  bool far = low > middle * high;
  float t = (far ? low - high : low) / (far ? low + high : high), z = t * t, p;

  p = 8.05374449538e-2f;
  p = p * z - 1.38776856032e-1f;
  p = p * z + 1.99777106478e-1f;
  p = p * z - 3.33329491539e-1f;
  return (p * z * t + t) + (far ? 0.78539816339744830962f : 0);
}

static inline float
cpu_atan (float x)
{
  float a = fabsf (x), y = cpu_atan_quotient (a > 1 ? 1 : a, a > 1 ? a : 1);

  y = a > 1 ? 1.57079632679489661923f - y : y;
  return copysignf (y, x);
}

static inline float
cpu_atan2 (float y, float x)
{
  float a = fabsf (y), b = fabsf (x), low = a < b ? a : b, high = a < b ? b : a, t;

  /* Infinite operands are equal, or infinitely different; sums of the largest numbers must not overflow; 0 by 0 is
   * 0. */
  low = high == INFINITY ? (low == INFINITY ? 1.0f : 0.0f) : low;
  high = high == INFINITY ? 1.0f : high;
  low = high > 1e38f ? low * 0.25f : low;
  high = high > 1e38f ? high * 0.25f : high;
  t = cpu_atan_quotient (low, high == 0 ? 1.0f : high);
  t = a > b ? 1.57079632679489661923f - t : t;
  t = (loom_float_bits (x) >> 31) != 0 ? 3.14159265358979323846f - t : t;
  return (x != x) | (y != y) ? NAN : copysignf (t, y);
}

/* ln (a + sqrt (a² + 1)), written with log1p; beyond 10⁹ it is ln 2a. */
static inline float
cpu_asinh (float x)
{
  float a = fabsf (x), b = a > 1e9f ? 1.0f : a, y = cpu_log1p (b + b * b / (1.0f + sqrtf (b * b + 1.0f)));

  y = a > 1e9f ? cpu_log (a) + 0.69314718055994530942f : y;
  return copysignf (y, x);
}

static inline float
cpu_acosh (float x)
{
  float t = (x > 1e9f ? 2.0f : x) - 1.0f, y = cpu_log1p (t + sqrtf (t + t + t * t));

  y = x > 1e9f ? cpu_log (x) + 0.69314718055994530942f : y;
  return x < 1 ? NAN : y;
}

static inline float
cpu_atanh (float x)
{
  float a = fabsf (x);

  return copysignf (0.5f * cpu_log1p ((a + a) / (1.0f - a)), x);
}

/* ---- powers ------------------------------------------------------------------- */

#define CPU_MIN_NORMAL 1.17549435e-38f

/* 2^(y·(log2 (x) + more)) of a normal positive x. The logarithm is in f64, within 2^-33, because its integer part may
 * be up to 128: 2/ln2·artanh (s) with s = (m - 1)/(m + 1), by its series. */
static inline float
cpu_pow_normal (float x, float y, double more)
{
  const float magic = 12582912.0f;
  uint32_t bits = loom_float_bits (x);
  int32_t e = (int32_t)(bits - 0x3f3504f3u) >> 23; /* relative to sqrt(1/2) */
  double m = (double)loom_float_from_bits (bits - ((uint32_t)e << 23)), s = (m - 1.0) / (m + 1.0), z = s * s, p, t;
  float n;

  p = 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  t = (s * p * 2.88539008177792681472 + (double)e + more) * (double)y;
  t = t < -252 ? -252 : t;
  t = t > 252 ? 252 : t;
  n = (float)t + magic;
  return cpu_exp2_parts ((int32_t)(loom_float_bits (n) - 0x4b400000u), (float)(t - (double)(n - magic)));
}

/* Uses the logarithm of |x|, then corrects signs, zeros, ones and infinities as IEEE 754 requires. */
static inline float
cpu_pow (float x, float y)
{
  float a = fabsf (x), half = 0.5f * fabsf (y), whole, r;
  bool there = a > 0 && a < INFINITY, tiny = a < CPU_MIN_NORMAL, odd;

  r = cpu_pow_normal (there ? (tiny ? a * 8388608.0f : a) : 1.0f, y, there && tiny ? -23 : 0);
  r = there ? r : ((a == 0) != (y < 0) ? 0 : INFINITY);
  r = a == 1 ? 1 : r;
  /* Adding and subtracting 2^23 rounds to an integer; larger floats all are integers, and even from 2^24 on. */
  whole = fabsf (y) < 8388608.0f ? copysignf (fabsf (y) + 8388608.0f - 8388608.0f, y) : y;
  odd = (whole == y) & (half < 8388608.0f) & (half != half + 8388608.0f - 8388608.0f);
  r = (loom_float_bits (x) >> 31) != 0 && odd ? -r : r;
  r = x < 0 && x > -INFINITY && whole != y ? NAN : r;
  r = (x != x) | (y != y) ? NAN : r;
  return (y == 0) | (x == 1) ? 1 : r;
}

#endif
