/* Integer arithmetic for the integer forms of scalar.h's formulas, where C's is undefined or rounds another way.
 *
 * A division by zero results in 0 here: the operators put the primitive `require` before it. The smallest integer
 * divided by -1 wraps, as addition and multiplication do.
 *
 * The CUDA back end puts this file's text before the kernels that it compiles at run time. */
#ifndef LOOM_INTEGER_H
#define LOOM_INTEGER_H

#ifndef LOOM_INTEGER_FN
#define LOOM_INTEGER_FN static inline
#include <stdint.h>
#endif

LOOM_INTEGER_FN int64_t
loom_int_neg (int64_t a)
{
  return (int64_t) - (uint64_t)a;
}

/* Rounded towards 0, as C's division. */
LOOM_INTEGER_FN int64_t
loom_int_div_trunc (int64_t a, int64_t b)
{
  return b == 0 ? 0 : b == -1 ? loom_int_neg (a) : a / b;
}

/* The remainder of loom_int_div_trunc(); it has the sign of a. */
LOOM_INTEGER_FN int64_t
loom_int_fmod (int64_t a, int64_t b)
{
  return b == 0 || b == -1 ? 0 : a % b;
}

/* The remainder of loom_int_div_floor(); it has the sign of b. */
LOOM_INTEGER_FN int64_t
loom_int_mod (int64_t a, int64_t b)
{
  int64_t rest = loom_int_fmod (a, b);

  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Rounded down. */
LOOM_INTEGER_FN int64_t
loom_int_div_floor (int64_t a, int64_t b)
{
  int64_t rest = loom_int_fmod (a, b);

  return loom_int_div_trunc (a, b) - (rest != 0 && (rest < 0) != (b < 0));
}

/* a^b by squaring, wrapping; a negative power of anything but ±1 is 0. */
LOOM_INTEGER_FN int64_t
loom_int_pow (int64_t a, int64_t b)
{
  uint64_t y = 1, square = (uint64_t)a;

  if (b < 0)
    return a == 1 ? 1 : a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0;
  for (; b > 0; b >>= 1, square *= square)
    if ((b & 1) != 0)
      y *= square;
  return (int64_t)y;
}

#endif
