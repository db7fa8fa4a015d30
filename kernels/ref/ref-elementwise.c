/* elementwise: the program of scalars run at one element after the other.
 *
 * Formulas come from kernels/scalar.h, expanded for float, double and int64_t. */
#include "kernels/ref/ref.h"

#include <stdlib.h>
#include <tgmath.h>

#define LOOM_M_FABS(x)   fabs (x)
#define LOOM_M_FLOOR(x)  floor (x)
#define LOOM_M_SQRT(x)   sqrt (x)
#define LOOM_M_EXP(x)    exp (x)
#define LOOM_M_LOG(x)    log (x)
#define LOOM_M_TANH(x)   tanh (x)
#define LOOM_M_ERF(x)    erf (x)
#define LOOM_M_SIN(x)    sin (x)
#define LOOM_M_COS(x)    cos (x)
#define LOOM_M_POW(x, y) pow (x, y)

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

/* Integers: the operations that keep integers integers. */
#define INTEGER_OPS                                                                                                    \
  ((UINT64_C (1) << LOOM_SCALAR_ID) | (UINT64_C (1) << LOOM_SCALAR_CONST) | (UINT64_C (1) << LOOM_SCALAR_NEG)          \
   | (UINT64_C (1) << LOOM_SCALAR_ABS) | (UINT64_C (1) << LOOM_SCALAR_SIGN) | (UINT64_C (1) << LOOM_SCALAR_FLOOR)      \
   | (UINT64_C (1) << LOOM_SCALAR_SQUARE) | (UINT64_C (1) << LOOM_SCALAR_RELU) | (UINT64_C (1) << LOOM_SCALAR_ADD)     \
   | (UINT64_C (1) << LOOM_SCALAR_SUB) | (UINT64_C (1) << LOOM_SCALAR_MUL) | (UINT64_C (1) << LOOM_SCALAR_MAX)         \
   | (UINT64_C (1) << LOOM_SCALAR_MIN) | (UINT64_C (1) << LOOM_SCALAR_EQ) | (UINT64_C (1) << LOOM_SCALAR_NE)           \
   | (UINT64_C (1) << LOOM_SCALAR_LT) | (UINT64_C (1) << LOOM_SCALAR_LE) | (UINT64_C (1) << LOOM_SCALAR_GT)            \
   | (UINT64_C (1) << LOOM_SCALAR_GE) | (UINT64_C (1) << LOOM_SCALAR_RELU_GRAD) | (UINT64_C (1) << LOOM_SCALAR_SELECT) \
   | (UINT64_C (1) << LOOM_SCALAR_FMA))

/* Division and the transcendental functions are for floats alone (INTEGER_OPS);
 * their expansions must compile all the same. */
#undef LOOM_M_FABS
#define LOOM_M_FABS(x) llabs (x)
#undef LOOM_M_FLOOR
#define LOOM_M_FLOOR(x) (x)
#undef LOOM_M_SQRT
#undef LOOM_M_EXP
#undef LOOM_M_LOG
#undef LOOM_M_TANH
#undef LOOM_M_ERF
#undef LOOM_M_SIN
#undef LOOM_M_COS
#undef LOOM_M_POW
#define LOOM_M_SQRT(x)   (x)
#define LOOM_M_EXP(x)    (x)
#define LOOM_M_LOG(x)    (x)
#define LOOM_M_TANH(x)   (x)
#define LOOM_M_ERF(x)    (x)
#define LOOM_M_SIN(x)    (x)
#define LOOM_M_COS(x)    (x)
#define LOOM_M_POW(x, y) (x)
SCALAR_FUNCTION (int64_t, i64)

#define T                     double
#define FN(name)              name##_f64
#define LOAD(p, i, dtype)     loom_load_double (p, i, dtype)
#define STORE(p, i, dtype, v) loom_store_double (p, i, dtype, v)
#include "ref-elementwise.inc.c"
#undef T
#undef FN
#define T        float
#define FN(name) name##_f32
#include "ref-elementwise.inc.c"
#undef T
#undef FN
#undef LOAD
#undef STORE
#define T                     int64_t
#define FN(name)              name##_i64
#define LOAD(p, i, dtype)     loom_load_int (p, i, dtype)
#define STORE(p, i, dtype, v) loom_store_int (p, i, dtype, v)
#include "ref-elementwise.inc.c"

static RefWork
choose (const LoomKernelSpec *spec)
{
  const LoomElementwiseAttrs *a = spec->attrs;
  int64_t stride[LOOM_MAX_RANK];

  if (spec->n_in > LOOM_EW_MAX_IN || spec->n_out < 1 || spec->n_out > LOOM_EW_MAX_OUT || a->n_steps > LOOM_EW_MAX_STEPS)
    return NULL;
  for (int i = 0; i < spec->n_in; i++)
    if (!loom_broadcast_strides (&spec->in[i], &spec->out[0], stride))
      return NULL;
  if (a->compute == LOOM_I64)
    {
      for (int s = 0; s < a->n_steps; s++)
        if (!((INTEGER_OPS >> a->step[s].op) & 1))
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
