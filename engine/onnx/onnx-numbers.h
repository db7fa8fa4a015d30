/* Operations on two numbers in f64, by which values are folded at import. Those of one operand ignore b. */
#pragma once

#include <glib.h>

static inline double
onnx_number_add (double a, double b)
{
  return a + b;
}

static inline double
onnx_number_sub (double a, double b)
{
  return a - b;
}

static inline double
onnx_number_mul (double a, double b)
{
  return a * b;
}

static inline double
onnx_number_min (double a, double b)
{
  return MIN (a, b);
}

static inline double
onnx_number_max (double a, double b)
{
  return MAX (a, b);
}

static inline double
onnx_number_neg (double a, double b)
{
  return -a;
}

static inline double
onnx_number_not (double a, double b)
{
  return a == 0;
}

static inline double
onnx_number_and (double a, double b)
{
  return a != 0 && b != 0;
}

static inline double
onnx_number_or (double a, double b)
{
  return a != 0 || b != 0;
}

static inline double
onnx_number_equal (double a, double b)
{
  return a == b;
}

static inline double
onnx_number_less (double a, double b)
{
  return a < b;
}

static inline double
onnx_number_greater (double a, double b)
{
  return a > b;
}
