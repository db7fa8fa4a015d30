/* Evaluates scalar operations and formulas on the host in f64, with the formulas of the kernels: for constants that are
 * known at planning, and for schedules. */
#include "engine/program/loom-prim.h"

#include <math.h>

double
loom_scalar_value (LoomScalarOp op, double a, double b, double c, double imm)
{
#define T                      double
#define LOOM_M_FABS            fabs
#define LOOM_M_FLOOR           floor
#define LOOM_M_SQRT            sqrt
#define LOOM_M_EXP             exp
#define LOOM_M_LOG             log
#define LOOM_M_TANH            tanh
#define LOOM_M_ERF             erf
#define LOOM_M_SIN             sin
#define LOOM_M_COS             cos
#define LOOM_M_POW             pow
#define LOOM_M_CEIL            ceil
#define LOOM_M_RINT            rint
#define LOOM_M_TRUNC           trunc
#define LOOM_M_EXP2            exp2
#define LOOM_M_EXPM1           expm1
#define LOOM_M_LOG2            log2
#define LOOM_M_LOG10           log10
#define LOOM_M_LOG1P           log1p
#define LOOM_M_TAN             tan
#define LOOM_M_ASIN            asin
#define LOOM_M_ACOS            acos
#define LOOM_M_ATAN            atan
#define LOOM_M_SINH            sinh
#define LOOM_M_COSH            cosh
#define LOOM_M_ASINH           asinh
#define LOOM_M_ACOSH           acosh
#define LOOM_M_ATANH           atanh
#define LOOM_M_FMOD            fmod
#define LOOM_M_ATAN2           atan2
#define LOOM_M_DIV_TRUNC(x, y) trunc ((x) / (y))
#define LOOM_M_DIV_FLOOR(x, y) LOOM_FLOAT_DIV_FLOOR (x, y)
#define LOOM_CASE(E, name, arity, expr)                                                                                \
  case LOOM_SCALAR_##E:                                                                                                \
    return expr;
  switch (op)
    {
      LOOM_SCALAR_OPS (LOOM_CASE)
    default:
      g_assert_not_reached ();
    }
#undef LOOM_CASE
#undef T
}

double
loom_formula_value (const LoomFormula *formula, const double *in)
{
  double value[LOOM_FORMULA_MAX_IN + LOOM_FORMULA_MAX_STEPS];

  for (guint i = 0; i < formula->n_in; i++)
    value[i] = in[i];
  for (guint i = 0; i < formula->n_steps; i++)
    {
      const LoomElementwiseStep *step = formula->step + i;

      value[formula->n_in + i]
          = loom_scalar_value (step->op, value[step->arg[0]], value[step->arg[1]], value[step->arg[2]], step->imm);
    }
  return value[formula->out[0]];
}
