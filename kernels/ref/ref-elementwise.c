/* elementwise: runs the program of scalars for one element after another.
 *
 * Formulas are those of kernels/scalar.h, expanded for float, double and int64_t. */
#include "kernels/integer.h"
#include "kernels/ref/ref.h"

#include <stdlib.h>
#include <tgmath.h>

#define LOOM_M_FABS(x)         fabs (x)
#define LOOM_M_FLOOR(x)        floor (x)
#define LOOM_M_SQRT(x)         sqrt (x)
#define LOOM_M_EXP(x)          exp (x)
#define LOOM_M_LOG(x)          log (x)
#define LOOM_M_TANH(x)         tanh (x)
#define LOOM_M_ERF(x)          erf (x)
#define LOOM_M_SIN(x)          sin (x)
#define LOOM_M_COS(x)          cos (x)
#define LOOM_M_POW(x, y)       pow (x, y)
#define LOOM_M_CEIL(x)         ceil (x)
#define LOOM_M_RINT(x)         rint (x)
#define LOOM_M_TRUNC(x)        trunc (x)
#define LOOM_M_EXP2(x)         exp2 (x)
#define LOOM_M_EXPM1(x)        expm1 (x)
#define LOOM_M_LOG2(x)         log2 (x)
#define LOOM_M_LOG10(x)        log10 (x)
#define LOOM_M_LOG1P(x)        log1p (x)
#define LOOM_M_TAN(x)          tan (x)
#define LOOM_M_ASIN(x)         asin (x)
#define LOOM_M_ACOS(x)         acos (x)
#define LOOM_M_ATAN(x)         atan (x)
#define LOOM_M_SINH(x)         sinh (x)
#define LOOM_M_COSH(x)         cosh (x)
#define LOOM_M_ASINH(x)        asinh (x)
#define LOOM_M_ACOSH(x)        acosh (x)
#define LOOM_M_ATANH(x)        atanh (x)
#define LOOM_M_FMOD(x, y)      fmod (x, y)
#define LOOM_M_ATAN2(x, y)     atan2 (x, y)
#define LOOM_M_DIV_TRUNC(x, y) trunc ((x) / (y))
#define LOOM_M_DIV_FLOOR(x, y) LOOM_FLOAT_DIV_FLOOR (x, y)

#define SCALAR_CASE(E, name, arity, expr)                                                                              \
  case LOOM_SCALAR_##E:                                                                                                \
    return (expr);

#define SCALAR_FUNCTION(type, suffix)                                                                                  \
  type ref_scalar_##suffix (LoomScalarOp op, type a, type b, type c, type imm)                                         \
  {                                                                                                                    \
    typedef type T;                                                                                                    \
    switch (op)                                                                                                        \
      {                                                                                                                \
        LOOM_SCALAR_OPS (SCALAR_CASE)                                                                                  \
      case LOOM_N_SCALARS:                                                                                             \
        break;                                                                                                         \
      }                                                                                                                \
    return (T)0;                                                                                                       \
  }

SCALAR_FUNCTION (double, f64)
SCALAR_FUNCTION (float, f32)

static int64_t ref_scalar_i64 (LoomScalarOp op, int64_t a, int64_t b, int64_t c, int64_t imm);

/* Division and the transcendental functions are only for floats (loom_scalar_of_integers), but their expansions must
 * compile for integers too. */
#undef LOOM_M_FABS
#undef LOOM_M_FLOOR
#undef LOOM_M_POW
#undef LOOM_M_FMOD
#undef LOOM_M_ATAN2
#undef LOOM_M_DIV_TRUNC
#undef LOOM_M_DIV_FLOOR
#undef LOOM_M_CEIL
#undef LOOM_M_RINT
#undef LOOM_M_TRUNC
#undef LOOM_M_SQRT
#undef LOOM_M_EXP
#undef LOOM_M_LOG
#undef LOOM_M_TANH
#undef LOOM_M_ERF
#undef LOOM_M_SIN
#undef LOOM_M_COS
#undef LOOM_M_EXP2
#undef LOOM_M_EXPM1
#undef LOOM_M_LOG2
#undef LOOM_M_LOG10
#undef LOOM_M_LOG1P
#undef LOOM_M_TAN
#undef LOOM_M_ASIN
#undef LOOM_M_ACOS
#undef LOOM_M_ATAN
#undef LOOM_M_SINH
#undef LOOM_M_COSH
#undef LOOM_M_ASINH
#undef LOOM_M_ACOSH
#undef LOOM_M_ATANH
#define LOOM_M_FABS(x)         llabs (x)
#define LOOM_M_FLOOR(x)        (x)
#define LOOM_M_CEIL(x)         (x)
#define LOOM_M_RINT(x)         (x)
#define LOOM_M_TRUNC(x)        (x)
#define LOOM_M_DIV_TRUNC(x, y) loom_int_div_trunc (x, y)
#define LOOM_M_DIV_FLOOR(x, y) loom_int_div_floor (x, y)
#define LOOM_M_FMOD(x, y)      loom_int_fmod (x, y)
#define LOOM_M_POW(x, y)       loom_int_pow (x, y)
#define LOOM_M_SQRT(x)         (x)
#define LOOM_M_EXP(x)          (x)
#define LOOM_M_LOG(x)          (x)
#define LOOM_M_TANH(x)         (x)
#define LOOM_M_ERF(x)          (x)
#define LOOM_M_SIN(x)          (x)
#define LOOM_M_COS(x)          (x)
#define LOOM_M_EXP2(x)         (x)
#define LOOM_M_EXPM1(x)        (x)
#define LOOM_M_LOG2(x)         (x)
#define LOOM_M_LOG10(x)        (x)
#define LOOM_M_LOG1P(x)        (x)
#define LOOM_M_TAN(x)          (x)
#define LOOM_M_ASIN(x)         (x)
#define LOOM_M_ACOS(x)         (x)
#define LOOM_M_ATAN(x)         (x)
#define LOOM_M_SINH(x)         (x)
#define LOOM_M_COSH(x)         (x)
#define LOOM_M_ASINH(x)        (x)
#define LOOM_M_ACOSH(x)        (x)
#define LOOM_M_ATANH(x)        (x)
#define LOOM_M_ATAN2(x, y)     (x)
SCALAR_FUNCTION (int64_t, i64)

#define T                     double
#define FN(name)              name##_f64
#define LOAD(p, i, dtype)     loom_load_double (p, i, dtype)
#define STORE(p, i, dtype, v) loom_store_double (p, i, dtype, v)
#include "kernels/ref/ref-elementwise.inc.c"
#undef T
#undef FN
#define T        float
#define FN(name) name##_f32
#include "kernels/ref/ref-elementwise.inc.c"
#undef T
#undef FN
#undef LOAD
#undef STORE
#define T                     int64_t
#define FN(name)              name##_i64
#define LOAD(p, i, dtype)     loom_load_int (p, i, dtype)
#define STORE(p, i, dtype, v) loom_store_int (p, i, dtype, v)
#include "kernels/ref/ref-elementwise.inc.c"

static RefWork
choose (const LoomKernelSpec *spec)
{
  const LoomElementwiseAttrs *a = spec->attrs;
  int64_t stride[LOOM_MAX_RANK];
  LoomTensorDesc y;

  if (spec->n_in > LOOM_EW_MAX_IN || spec->n_out < 1 || spec->n_out > LOOM_EW_MAX_OUT || a->n_steps > LOOM_EW_MAX_STEPS
      || !loom_elementwise_parts_fit (spec))
    return NULL;
  y = loom_elementwise_shape (spec);
  for (int i = 0; i < spec->n_in; i++)
    if (!loom_has_parts (a->in_part, a->n_in_parts, i) && !loom_broadcast_strides (&spec->in[i], &y, stride))
      return NULL;
  if (a->compute == LOOM_I64)
    {
      for (int s = 0; s < a->n_steps; s++)
        if (!loom_scalar_of_integers (a->step[s].op))
          return NULL;
      return elementwise_i64;
    }
  return REF_PICK (a->compute, elementwise);
}

const RefPrimitive ref_elementwise = {
  .name = "elementwise",
  .attrs_size = sizeof (LoomElementwiseAttrs),
  .choose = choose,
  .n_inplace = LOOM_EW_MAX_OUT,
  .mixed_floats = true,
};
