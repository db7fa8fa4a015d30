/* Exports scalar formulas: most are an operator of the same meaning, the others are composed of a few.
 *
 * If a formula is chosen for its accuracy, a comment gives the reason: models run in single precision. */
#include "engine/onnx/onnx-export-private.h"

#include <math.h>

typedef struct
{
  OnnxExport *all;
  LoomDType dtype;
  OnnxVar **in;
} Formula;

static OnnxVar *
number (const Formula *f, double value)
{
  return onnx_number_var (f->all, f->dtype, value);
}

static OnnxVar *
one (const Formula *f, const char *op, OnnxVar *a)
{
  return onnx_call (f->all, op, ONNX_VARS (a));
}

static OnnxVar *
two (const Formula *f, const char *op, OnnxVar *a, OnnxVar *b)
{
  return onnx_call (f->all, op, ONNX_VARS (a, b));
}

static OnnxVar *
where (const Formula *f, OnnxVar *condition, OnnxVar *a, OnnxVar *b)
{
  return onnx_call (f->all, "Where", ONNX_VARS (condition, a, b));
}

#define A             (f->in[0])
#define B             (f->in[1])
#define C             (f->in[2])
#define FORMULA(name) static OnnxVar *name (const Formula *f)

FORMULA (truncate_number)
{
  return loom_dtype_is_float (f->dtype) ? two (f, "Mul", one (f, "Sign", A), one (f, "Floor", one (f, "Abs", A))) : A;
}

/* Integers are unchanged. */
FORMULA (floor_of)
{
  return loom_dtype_is_float (f->dtype) ? one (f, "Floor", A) : A;
}

FORMULA (ceil_of)
{
  return loom_dtype_is_float (f->dtype) ? one (f, "Ceil", A) : A;
}

FORMULA (round_of)
{
  return loom_dtype_is_float (f->dtype) ? one (f, "Round", A) : A;
}

FORMULA (rsqrt)
{
  return one (f, "Reciprocal", one (f, "Sqrt", A));
}

FORMULA (square)
{
  return two (f, "Mul", A, A);
}

FORMULA (exp2_of)
{
  return two (f, "Pow", number (f, 2), A);
}

/* 2 sinh (x/2) exp (x/2) = exp (x) - 1 is accurate near 0. */
FORMULA (expm1_of)
{
  OnnxVar *half = two (f, "Mul", A, number (f, 0.5));

  return two (f, "Mul", number (f, 2), two (f, "Mul", one (f, "Sinh", half), one (f, "Exp", half)));
}

FORMULA (log2_of)
{
  return two (f, "Mul", one (f, "Log", A), number (f, 1 / M_LN2));
}

FORMULA (log10_of)
{
  return two (f, "Mul", one (f, "Log", A), number (f, 1 / M_LN10));
}

/* 2 artanh (x / (2 + x)) = log (1 + x) is accurate for a small x. */
FORMULA (log1p_of)
{
  OnnxVar *small = two (f, "Less", one (f, "Abs", A), number (f, 0.5));
  OnnxVar *near = two (f, "Div", where (f, small, A, number (f, 0)), two (f, "Add", A, number (f, 2)));

  return where (f, small, two (f, "Mul", number (f, 2), one (f, "Atanh", near)),
                one (f, "Log", two (f, "Add", A, number (f, 1))));
}

FORMULA (is_nan)
{
  return loom_dtype_is_float (f->dtype) ? one (f, "IsNaN", A) : two (f, "Less", A, A);
}

FORMULA (is_inf)
{
  if (!loom_dtype_is_float (f->dtype))
    return two (f, "Less", A, A);
  OnnxVar *single = onnx_to_type (f->all, A, f->dtype, LOOM_F32);
  return one (f, "IsInf", single);
}

FORMULA (is_zero)
{
  return f->dtype == LOOM_BOOL ? one (f, "Not", A) : two (f, "Equal", A, number (f, 0));
}

FORMULA (relu)
{
  return loom_dtype_is_float (f->dtype) ? one (f, "Relu", A) : two (f, "Max", A, number (f, 0));
}

FORMULA (gelu)
{
  OnnxVar *erf = one (f, "Erf", two (f, "Mul", A, number (f, M_SQRT1_2)));

  return two (f, "Mul", two (f, "Mul", A, number (f, 0.5)), two (f, "Add", erf, number (f, 1)));
}

/* The tanh in GELU's approximation. */
static OnnxVar *
tanh_in_gelu (const Formula *f, OnnxVar *x)
{
  OnnxVar *cube = two (f, "Mul", two (f, "Mul", x, two (f, "Mul", x, x)), number (f, 0.044715));

  return one (f, "Tanh", two (f, "Mul", two (f, "Add", x, cube), number (f, 0.79788456080286535588)));
}

FORMULA (gelu_tanh)
{
  return two (f, "Mul", two (f, "Mul", A, number (f, 0.5)), two (f, "Add", tanh_in_gelu (f, A), number (f, 1)));
}

/* The remainder of a division. With fmod it has the sign of a; ONNX's Mod of floats always is fmod. */
static OnnxVar *
left_over (const Formula *f, gboolean fmod)
{
  OnnxOutNode *node = onnx_add_node (f->all, "Mod", ONNX_VARS (A, B));

  if (fmod)
    onnx_node_set_int (f->all, node, "fmod", 1);
  return onnx_node_result (f->all, node, 0);
}

FORMULA (fmod_of)
{
  return left_over (f, TRUE);
}

FORMULA (mod_of)
{
  if (!loom_dtype_is_float (f->dtype))
    return left_over (f, FALSE);
  OnnxVar *rest = left_over (f, TRUE);
  OnnxVar *other_side = two (f, "Less", two (f, "Mul", one (f, "Sign", rest), one (f, "Sign", B)), number (f, 0));
  return where (f, other_side, two (f, "Add", rest, B), rest);
}

FORMULA (div_trunc)
{
  OnnxVar *ratio = two (f, "Div", A, B);
  Formula of = { f->all, f->dtype, &ratio };

  return truncate_number (&of);
}

/* (a - a mod b) / b is an integer except for rounding, so exact multiples stay exact; if b is 0, it is a / b. */
FORMULA (div_floor)
{
  OnnxVar *rest = mod_of (f), *exact = two (f, "Div", two (f, "Sub", A, rest), B);

  if (!loom_dtype_is_float (f->dtype))
    return exact;
  return where (f, two (f, "Equal", B, number (f, 0)), two (f, "Div", A, B), one (f, "Round", exact));
}

/* arctan (a / b), plus or minus π if b is negative; ±π/2 if b is 0. */
FORMULA (atan2_of)
{
  OnnxVar *angle = one (f, "Atan", two (f, "Div", A, B));
  OnnxVar *turn = where (f, two (f, "Less", A, number (f, 0)), number (f, -M_PI), number (f, M_PI));
  OnnxVar *half_turned = where (f, two (f, "Less", B, number (f, 0)), two (f, "Add", angle, turn), angle);

  return where (f, two (f, "Equal", B, number (f, 0)), two (f, "Mul", one (f, "Sign", A), number (f, M_PI_2)),
                half_turned);
}

FORMULA (not_equal)
{
  return one (f, "Not", two (f, "Equal", A, B));
}

/* NaN is not zero, so it counts as true. */
static OnnxVar *
truth (const Formula *f, OnnxVar *x)
{
  return onnx_to_type (f->all, x, f->dtype, LOOM_BOOL);
}

FORMULA (both)
{
  return two (f, "And", truth (f, A), truth (f, B));
}

FORMULA (either)
{
  return two (f, "Or", truth (f, A), truth (f, B));
}

FORMULA (one_of_two)
{
  return two (f, "Xor", truth (f, A), truth (f, B));
}

FORMULA (relu_grad)
{
  return where (f, two (f, "Greater", B, number (f, 0)), A, number (f, 0));
}

FORMULA (sigmoid_grad)
{
  return two (f, "Mul", two (f, "Mul", A, B), two (f, "Sub", number (f, 1), B));
}

FORMULA (tanh_grad)
{
  return two (f, "Mul", A, two (f, "Sub", number (f, 1), two (f, "Mul", B, B)));
}

/* LOOM_GELU_TANH_DERIVATIVE of kernels/scalar.h. */
FORMULA (gelu_tanh_grad)
{
  OnnxVar *t = tanh_in_gelu (f, B), *half = two (f, "Mul", B, number (f, 0.5));
  OnnxVar *flat = two (f, "Mul", half, two (f, "Sub", number (f, 1), two (f, "Mul", t, t)));
  OnnxVar *square = two (f, "Mul", two (f, "Mul", B, B), number (f, 3 * 0.044715));
  OnnxVar *du = two (f, "Mul", two (f, "Add", square, number (f, 1)), number (f, 0.79788456080286535588));
  OnnxVar *share = two (f, "Mul", two (f, "Add", t, number (f, 1)), number (f, 0.5));

  return two (f, "Mul", A, two (f, "Add", two (f, "Mul", flat, du), share));
}

FORMULA (fma_of)
{
  return two (f, "Add", two (f, "Mul", A, B), C);
}

/* An operator of the same meaning, or a function. Neither: the formula does not occur in a forward pass. */
static const struct
{
  const char *op;
  OnnxVar *(*write) (const Formula *f);
  gboolean is_bool;
} formulas[LOOM_N_SCALARS] = {
  [LOOM_SCALAR_NEG] = { "Neg" },
  [LOOM_SCALAR_ABS] = { "Abs" },
  [LOOM_SCALAR_SIGN] = { "Sign" },
  [LOOM_SCALAR_FLOOR] = { NULL, floor_of },
  [LOOM_SCALAR_CEIL] = { NULL, ceil_of },
  [LOOM_SCALAR_ROUND] = { NULL, round_of },
  [LOOM_SCALAR_TRUNC] = { NULL, truncate_number },
  [LOOM_SCALAR_SQRT] = { "Sqrt" },
  [LOOM_SCALAR_RSQRT] = { NULL, rsqrt },
  [LOOM_SCALAR_RECIP] = { "Reciprocal" },
  [LOOM_SCALAR_SQUARE] = { NULL, square },
  [LOOM_SCALAR_EXP] = { "Exp" },
  [LOOM_SCALAR_EXP2] = { NULL, exp2_of },
  [LOOM_SCALAR_EXPM1] = { NULL, expm1_of },
  [LOOM_SCALAR_LOG] = { "Log" },
  [LOOM_SCALAR_LOG2] = { NULL, log2_of },
  [LOOM_SCALAR_LOG10] = { NULL, log10_of },
  [LOOM_SCALAR_LOG1P] = { NULL, log1p_of },
  [LOOM_SCALAR_TANH] = { "Tanh" },
  [LOOM_SCALAR_SIGMOID] = { "Sigmoid" },
  [LOOM_SCALAR_ERF] = { "Erf" },
  [LOOM_SCALAR_SIN] = { "Sin" },
  [LOOM_SCALAR_COS] = { "Cos" },
  [LOOM_SCALAR_TAN] = { "Tan" },
  [LOOM_SCALAR_ASIN] = { "Asin" },
  [LOOM_SCALAR_ACOS] = { "Acos" },
  [LOOM_SCALAR_ATAN] = { "Atan" },
  [LOOM_SCALAR_SINH] = { "Sinh" },
  [LOOM_SCALAR_COSH] = { "Cosh" },
  [LOOM_SCALAR_ASINH] = { "Asinh" },
  [LOOM_SCALAR_ACOSH] = { "Acosh" },
  [LOOM_SCALAR_ATANH] = { "Atanh" },
  [LOOM_SCALAR_ISNAN] = { NULL, is_nan, TRUE },
  [LOOM_SCALAR_ISINF] = { NULL, is_inf, TRUE },
  [LOOM_SCALAR_NOT] = { NULL, is_zero, TRUE },
  [LOOM_SCALAR_RELU] = { NULL, relu },
  [LOOM_SCALAR_GELU] = { NULL, gelu },
  [LOOM_SCALAR_GELU_TANH] = { NULL, gelu_tanh },
  [LOOM_SCALAR_ADD] = { "Add" },
  [LOOM_SCALAR_SUB] = { "Sub" },
  [LOOM_SCALAR_MUL] = { "Mul" },
  [LOOM_SCALAR_DIV] = { "Div" },
  [LOOM_SCALAR_DIV_TRUNC] = { NULL, div_trunc },
  [LOOM_SCALAR_DIV_FLOOR] = { NULL, div_floor },
  [LOOM_SCALAR_FMOD] = { NULL, fmod_of },
  [LOOM_SCALAR_MOD] = { NULL, mod_of },
  [LOOM_SCALAR_POW] = { "Pow" },
  [LOOM_SCALAR_ATAN2] = { NULL, atan2_of },
  [LOOM_SCALAR_MAX] = { "Max" },
  [LOOM_SCALAR_MIN] = { "Min" },
  [LOOM_SCALAR_EQ] = { "Equal", .is_bool = TRUE },
  [LOOM_SCALAR_NE] = { NULL, not_equal, TRUE },
  [LOOM_SCALAR_LT] = { "Less", .is_bool = TRUE },
  [LOOM_SCALAR_LE] = { "LessOrEqual", .is_bool = TRUE },
  [LOOM_SCALAR_GT] = { "Greater", .is_bool = TRUE },
  [LOOM_SCALAR_GE] = { "GreaterOrEqual", .is_bool = TRUE },
  [LOOM_SCALAR_AND] = { NULL, both, TRUE },
  [LOOM_SCALAR_OR] = { NULL, either, TRUE },
  [LOOM_SCALAR_XOR] = { NULL, one_of_two, TRUE },
  [LOOM_SCALAR_RELU_GRAD] = { NULL, relu_grad },
  [LOOM_SCALAR_SIGMOID_GRAD] = { NULL, sigmoid_grad },
  [LOOM_SCALAR_TANH_GRAD] = { NULL, tanh_grad },
  [LOOM_SCALAR_GELU_TANH_GRAD] = { NULL, gelu_tanh_grad },
  [LOOM_SCALAR_FMA] = { NULL, fma_of },
};

OnnxVar *
onnx_formula (OnnxExport *all, LoomScalarOp op, LoomDType dtype, OnnxVar **in, LoomDType *result)
{
  Formula f = { all, dtype, in };

  *result = formulas[op].is_bool ? LOOM_BOOL : dtype;
  if (op == LOOM_SCALAR_ID)
    return in[0];
  if (formulas[op].write != NULL)
    return formulas[op].write (&f);
  if (formulas[op].op != NULL)
    return onnx_call (all, formulas[op].op, (guint)loom_scalar_arity (op), in);
  return NULL;
}
