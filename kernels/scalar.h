/* Scalar formulas, each written once for every back end.
 *
 * LOOM_SCALAR_OPS(X) lists X(ENUM, name, arity, expression). The expression is over a, b, c of type T and may call the
 * LOOM_M_* functions, which each user defines for its type before expanding it (expf or exp; CUDA source for run-time
 * compilation contains the expression as text by stringising). Comparisons are 1 or 0 in T. Formulas follow PyTorch's
 * at NaN and at the kinks (relu'(0) = 0).
 *
 * To add one: a line here and its gradient in engine/program; if it calls a new function, a LOOM_M_ definition in each
 * back end; if it is defined for some arguments only or for integers, a line in the tables below. */
#ifndef LOOM_SCALAR_H
#define LOOM_SCALAR_H

/* A quotient of floats rounded down, by the remainder as in Python and PyTorch: 1 / 0.1 is 9, because the f64 next to
 * 0.1 is a little more than that, although the rounded quotient is 10. An infinite x has no remainder: NaN. */
#define LOOM_FLOAT_DIV_FLOOR(x, y)                                                                                     \
  ((y) == 0 ? (x) / (y)                                                                                                \
            : LOOM_M_RINT (((x)-LOOM_M_FMOD (x, y)) / (y))                                                             \
                  - (LOOM_M_FMOD (x, y) != 0 && ((y) < 0) != (LOOM_M_FMOD (x, y) < 0)))

/* The hyperbolic tangent in GELU's approximation, t = tanh (k·(x + 0.044715·x³)) with k = √(2/π) (Hendrycks and Gimpel
 * 2016), and the derivative of ½·x·(1 + t) from t. ½·x·(1 - t²) comes first; it is 0 for large numbers. */
#define LOOM_GELU_TANH(x) LOOM_M_TANH ((T)0.79788456080286535588 * ((x) + (T)0.044715 * (x) * (x) * (x)))
#define LOOM_GELU_TANH_DERIVATIVE(x, t)                                                                                \
  ((T)0.5 * (x) * ((T)1 - (t) * (t)) * ((T)0.79788456080286535588 * ((T)1 + (T)0.134145 * (x) * (x)))                  \
   + (T)0.5 * ((T)1 + (t)))

/* clang-format off */
#define LOOM_SCALAR_OPS(X)                                                                   \
  X (ID,      "id",      1, a)                                                               \
  X (CONST,   "const",   0, imm)                                                             \
  X (NEG,     "neg",     1, -a)                                                              \
  X (ABS,     "abs",     1, LOOM_M_FABS (a))                                                 \
  X (SIGN,    "sign",    1, (T) (a > 0) - (T) (a < 0))                                       \
  X (FLOOR,   "floor",   1, LOOM_M_FLOOR (a))                                                \
  X (CEIL,    "ceil",    1, LOOM_M_CEIL (a))                                                 \
  X (ROUND,   "round",   1, LOOM_M_RINT (a))                    /* halves to even */         \
  X (TRUNC,   "trunc",   1, LOOM_M_TRUNC (a))                                                \
  X (SQRT,    "sqrt",    1, LOOM_M_SQRT (a))                                                 \
  X (RSQRT,   "rsqrt",   1, (T) 1 / LOOM_M_SQRT (a))                                         \
  X (RECIP,   "recip",   1, (T) 1 / a)                                                       \
  X (SQUARE,  "square",  1, a * a)                                                           \
  X (EXP,     "exp",     1, LOOM_M_EXP (a))                                                  \
  X (EXP2,    "exp2",    1, LOOM_M_EXP2 (a))                                                 \
  X (EXPM1,   "expm1",   1, LOOM_M_EXPM1 (a))                                                \
  X (LOG,     "log",     1, LOOM_M_LOG (a))                                                  \
  X (LOG2,    "log2",    1, LOOM_M_LOG2 (a))                                                 \
  X (LOG10,   "log10",   1, LOOM_M_LOG10 (a))                                                \
  X (LOG1P,   "log1p",   1, LOOM_M_LOG1P (a))                                                \
  X (TANH,    "tanh",    1, LOOM_M_TANH (a))                                                 \
  X (SIGMOID, "sigmoid", 1, (T) 1 / ((T) 1 + LOOM_M_EXP (-a)))                               \
  X (ERF,     "erf",     1, LOOM_M_ERF (a))                                                  \
  X (SIN,     "sin",     1, LOOM_M_SIN (a))                                                  \
  X (COS,     "cos",     1, LOOM_M_COS (a))                                                  \
  X (TAN,     "tan",     1, LOOM_M_TAN (a))                                                  \
  X (ASIN,    "asin",    1, LOOM_M_ASIN (a))                                                 \
  X (ACOS,    "acos",    1, LOOM_M_ACOS (a))                                                 \
  X (ATAN,    "atan",    1, LOOM_M_ATAN (a))                                                 \
  X (SINH,    "sinh",    1, LOOM_M_SINH (a))                                                 \
  X (COSH,    "cosh",    1, LOOM_M_COSH (a))                                                 \
  X (ASINH,   "asinh",   1, LOOM_M_ASINH (a))                                                \
  X (ACOSH,   "acosh",   1, LOOM_M_ACOSH (a))                                                \
  X (ATANH,   "atanh",   1, LOOM_M_ATANH (a))                                                \
  X (ISNAN,   "isnan",   1, (T) (a != a))                                                    \
  X (ISINF,   "isinf",   1, (T) ((a == a) & (a - a != 0)))                                   \
  X (NOT,     "not",     1, (T) (a == 0))                                                    \
  X (RELU,    "relu",    1, (a > 0 ? a : (a != a ? a : (T) 0)))                              \
  X (GELU,    "gelu",    1, (T) 0.5 * a * ((T) 1 + LOOM_M_ERF (a * (T) 0.70710678118654752440))) \
  X (GELU_TANH, "gelu_tanh", 1, (T) 0.5 * a * ((T) 1 + LOOM_GELU_TANH (a)))                  \
  X (SILU,    "silu",    1, a * ((T) 1 / ((T) 1 + LOOM_M_EXP (-a))))                         \
  X (HARDSWISH, "hardswish", 1, a * (a + (T) 3 < 0 ? (T) 0 : (a + (T) 3 > (T) 6 ? (T) 6 : a + (T) 3)) / (T) 6) \
  X (ADD,     "add",     2, a + b)                                                           \
  X (SUB,     "sub",     2, a - b)                                                           \
  X (MUL,     "mul",     2, a * b)                                                           \
  X (DIV,     "div",     2, a / b)                                                           \
  X (DIV_TRUNC, "div_trunc", 2, LOOM_M_DIV_TRUNC (a, b))                                     \
  X (DIV_FLOOR, "div_floor", 2, LOOM_M_DIV_FLOOR (a, b))                                     \
  /* Remainders: fmod has the sign of a, mod that of b. */                   \
  X (FMOD,    "fmod",    2, LOOM_M_FMOD (a, b))                                              \
  X (MOD,     "mod",     2, (LOOM_M_FMOD (a, b) != 0 && (LOOM_M_FMOD (a, b) < 0) != (b < 0)  \
                             ? LOOM_M_FMOD (a, b) + b : LOOM_M_FMOD (a, b)))                 \
  X (POW,     "pow",     2, LOOM_M_POW (a, b))                                               \
  X (ATAN2,   "atan2",   2, LOOM_M_ATAN2 (a, b))                                             \
  X (MAX,     "max",     2, (a != a ? a : (b != b ? b : (a > b ? a : b))))                   \
  X (MIN,     "min",     2, (a != a ? a : (b != b ? b : (a < b ? a : b))))                   \
  X (EQ,      "eq",      2, (T) (a == b))                                                    \
  X (NE,      "ne",      2, (T) (a != b))                                                    \
  X (LT,      "lt",      2, (T) (a < b))                                                     \
  X (LE,      "le",      2, (T) (a <= b))                                                    \
  X (GT,      "gt",      2, (T) (a > b))                                                     \
  X (GE,      "ge",      2, (T) (a >= b))                                                    \
  /* NaN is not zero, so it counts as true, as in PyTorch. */                                \
  X (AND,     "and",     2, (T) ((a != 0) & (b != 0)))                                       \
  X (OR,      "or",      2, (T) ((a != 0) | (b != 0)))                                       \
  X (XOR,     "xor",     2, (T) ((a != 0) != (b != 0)))                                      \
  /* Gradients that are cheaper from the result b than from the argument. */                 \
  X (RELU_GRAD,    "relu_grad",    2, (b > 0 ? a : (T) 0))      /* a = g, b = y */           \
  X (SIGMOID_GRAD, "sigmoid_grad", 2, a * b * ((T) 1 - b))                                   \
  X (TANH_GRAD,    "tanh_grad",    2, a * ((T) 1 - b * b))                                   \
  /* From the argument b. */                                                                 \
  X (GELU_TANH_GRAD, "gelu_tanh_grad", 2, a * LOOM_GELU_TANH_DERIVATIVE (b, LOOM_GELU_TANH (b)))  \
  X (SELECT,  "select",  3, (a != 0 ? b : c))                                                \
  X (FMA,     "fma",     3, a * b + c)
/* clang-format on */

typedef enum {
#define LOOM_SCALAR_ENUM(E, name, arity, expr) LOOM_SCALAR_##E,
  LOOM_SCALAR_OPS (LOOM_SCALAR_ENUM)
#undef LOOM_SCALAR_ENUM
  LOOM_N_SCALARS
} LoomScalarOp;

static inline int
loom_scalar_arity (LoomScalarOp op)
{
#define LOOM_SCALAR_ARITY(E, name, arity, expr) arity,
  static const unsigned char arity_of[LOOM_N_SCALARS] = { LOOM_SCALAR_OPS (LOOM_SCALAR_ARITY) };
#undef LOOM_SCALAR_ARITY
  return arity_of[op];
}

/* Which arguments have a result: benches and tests draw their numbers from these domains. */
typedef enum {
  LOOM_DOMAIN_ALL,
  LOOM_DOMAIN_POSITIVE,
  LOOM_DOMAIN_UNIT,   /* between -1 and 1 */
  LOOM_DOMAIN_ABOVE_1
} LoomScalarDomain;

#ifndef __cplusplus /* C++ cannot fill arrays by index */
static inline LoomScalarDomain
loom_scalar_domain (LoomScalarOp op)
{
  static const unsigned char domain_of[LOOM_N_SCALARS] = {
    [LOOM_SCALAR_SQRT] = LOOM_DOMAIN_POSITIVE,  [LOOM_SCALAR_RSQRT] = LOOM_DOMAIN_POSITIVE,
    [LOOM_SCALAR_LOG] = LOOM_DOMAIN_POSITIVE,   [LOOM_SCALAR_LOG2] = LOOM_DOMAIN_POSITIVE,
    [LOOM_SCALAR_LOG10] = LOOM_DOMAIN_POSITIVE, [LOOM_SCALAR_LOG1P] = LOOM_DOMAIN_POSITIVE,
    [LOOM_SCALAR_POW] = LOOM_DOMAIN_POSITIVE,   [LOOM_SCALAR_ASIN] = LOOM_DOMAIN_UNIT,
    [LOOM_SCALAR_ACOS] = LOOM_DOMAIN_UNIT,      [LOOM_SCALAR_ATANH] = LOOM_DOMAIN_UNIT,
    [LOOM_SCALAR_ACOSH] = LOOM_DOMAIN_ABOVE_1,
  };
  return (LoomScalarDomain) domain_of[op];
}

/* Nonzero for operations that map integers to integers; the others are for floats only. */
static inline int
loom_scalar_of_integers (LoomScalarOp op)
{
  static const unsigned char integers[LOOM_N_SCALARS] = {
    [LOOM_SCALAR_ID] = 1,        [LOOM_SCALAR_CONST] = 1,  [LOOM_SCALAR_NEG] = 1,       [LOOM_SCALAR_ABS] = 1,
    [LOOM_SCALAR_SIGN] = 1,      [LOOM_SCALAR_FLOOR] = 1,  [LOOM_SCALAR_CEIL] = 1,      [LOOM_SCALAR_ROUND] = 1,
    [LOOM_SCALAR_TRUNC] = 1,     [LOOM_SCALAR_SQUARE] = 1, [LOOM_SCALAR_RELU] = 1,      [LOOM_SCALAR_ISNAN] = 1,
    [LOOM_SCALAR_ISINF] = 1,     [LOOM_SCALAR_NOT] = 1,    [LOOM_SCALAR_ADD] = 1,       [LOOM_SCALAR_SUB] = 1,
    [LOOM_SCALAR_MUL] = 1,       [LOOM_SCALAR_MAX] = 1,    [LOOM_SCALAR_DIV_TRUNC] = 1, [LOOM_SCALAR_DIV_FLOOR] = 1,
    [LOOM_SCALAR_FMOD] = 1,      [LOOM_SCALAR_MOD] = 1,    [LOOM_SCALAR_POW] = 1,       [LOOM_SCALAR_MIN] = 1,
    [LOOM_SCALAR_EQ] = 1,        [LOOM_SCALAR_NE] = 1,     [LOOM_SCALAR_LT] = 1,        [LOOM_SCALAR_LE] = 1,
    [LOOM_SCALAR_GT] = 1,        [LOOM_SCALAR_GE] = 1,     [LOOM_SCALAR_AND] = 1,       [LOOM_SCALAR_OR] = 1,
    [LOOM_SCALAR_XOR] = 1,       [LOOM_SCALAR_SELECT] = 1, [LOOM_SCALAR_RELU_GRAD] = 1, [LOOM_SCALAR_FMA] = 1,
  };
  return integers[op];
}
#endif

static inline const char *
loom_scalar_name (LoomScalarOp op)
{
#define LOOM_SCALAR_NAME(E, name, arity, expr) name,
  static const char *const name_of[LOOM_N_SCALARS] = { LOOM_SCALAR_OPS (LOOM_SCALAR_NAME) };
#undef LOOM_SCALAR_NAME
  return name_of[op];
}

#endif
