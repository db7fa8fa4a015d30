/* Elementwise primitives: one per scalar formula of kernels/scalar.h, each with its gradient.
 *
 * Gradients have the result's shape; loom_differentiate() sums them for broadcast operands. If the derivative of a
 * formula follows from its result (relu, sigmoid, tanh, exp, sqrt), the gradient uses the result, so the argument need
 * not be kept for the backward pass. */
#include "engine/program/position-rules.h"

#include <math.h>

/* Rules for types: each computes the result's type from the promoted type of the operands. */
static gboolean
infer_broadcast (guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  LoomTensorDesc d = in[0];

  for (guint i = 1; i < n_in; i++)
    {
      if (!loom_desc_broadcast (&d, &in[i], &d))
        {
          g_autofree char *a = loom_desc_to_string (&in[0]), *b = loom_desc_to_string (&in[i]);

          return loom_prim_refuse (why, "%s and %s do not broadcast", a, b);
        }
      d.dtype = loom_dtype_promote (d.dtype, in[i].dtype);
    }
  out[0] = d;
  *n_out = 1;
  return TRUE;
}

static gboolean
infer_same (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  return infer_broadcast (n_in, in, out, n_out, why);
}

static gboolean
infer_float (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!infer_broadcast (n_in, in, out, n_out, why))
    return FALSE;
  return loom_dtype_is_float (out[0].dtype) || loom_prim_refuse (why, "needs a float operand");
}

static gboolean
infer_compare (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!infer_broadcast (n_in, in, out, n_out, why))
    return FALSE;
  out[0].dtype = LOOM_BOOL;
  return TRUE;
}

/* The type of the condition does not affect the result's. */
static gboolean
infer_select (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!loom_prim_arity (n_in, 3, why) || !infer_broadcast (n_in, in, out, n_out, why))
    return FALSE;
  out[0].dtype = loom_dtype_promote (in[1].dtype, in[2].dtype);
  return TRUE;
}

/* Abbreviations for the rules below. */
#define X(i)           (call->instr->in[i])
#define Y              (call->instr->out[0])
#define G              (call->grad[0])
#define U(OP, a)       loom_unary (call->p, LOOM_SCALAR_##OP, a)
#define B(OP, a, b)    loom_binary (call->p, LOOM_SCALAR_##OP, a, b)
#define T(OP, a, b, c) loom_ternary (call->p, LOOM_SCALAR_##OP, a, b, c)
#define K(value)       loom_const (call->p, value_desc (call->p, G)->dtype, value)
#define RULE(name)     static gboolean name (const LoomGradCall *call)

RULE (grad_id)
{
  call->in_grad[0] = G;
  return TRUE;
}

RULE (grad_neg)
{
  call->in_grad[0] = U (NEG, G);
  return TRUE;
}

RULE (grad_abs)
{
  call->in_grad[0] = B (MUL, G, U (SIGN, X (0)));
  return TRUE;
}

RULE (grad_sqrt)
{
  call->in_grad[0] = B (DIV, B (MUL, G, K (0.5)), Y);
  return TRUE;
}

RULE (grad_rsqrt)
{
  call->in_grad[0] = B (MUL, B (MUL, G, K (-0.5)), B (MUL, U (SQUARE, Y), Y));
  return TRUE;
}

RULE (grad_recip)
{
  call->in_grad[0] = U (NEG, B (MUL, G, U (SQUARE, Y)));
  return TRUE;
}

RULE (grad_square)
{
  call->in_grad[0] = B (MUL, B (MUL, G, K (2)), X (0));
  return TRUE;
}

RULE (grad_exp)
{
  call->in_grad[0] = B (MUL, G, Y);
  return TRUE;
}

RULE (grad_log)
{
  call->in_grad[0] = B (DIV, G, X (0));
  return TRUE;
}

/* d 2ᵃ / da = ln 2 · 2ᵃ */
RULE (grad_exp2)
{
  call->in_grad[0] = B (MUL, B (MUL, G, K (M_LN2)), Y);
  return TRUE;
}

RULE (grad_expm1)
{
  call->in_grad[0] = B (MUL, G, B (ADD, Y, K (1)));
  return TRUE;
}

RULE (grad_log2)
{
  call->in_grad[0] = B (DIV, B (MUL, G, K (M_LOG2E)), X (0));
  return TRUE;
}

RULE (grad_log10)
{
  call->in_grad[0] = B (DIV, B (MUL, G, K (M_LOG10E)), X (0));
  return TRUE;
}

RULE (grad_log1p)
{
  call->in_grad[0] = B (DIV, G, B (ADD, X (0), K (1)));
  return TRUE;
}

RULE (grad_tanh)
{
  call->in_grad[0] = B (TANH_GRAD, G, Y);
  return TRUE;
}

RULE (grad_sigmoid)
{
  call->in_grad[0] = B (SIGMOID_GRAD, G, Y);
  return TRUE;
}

/* d erf / dx = 2/√π · exp(-x²) */
RULE (grad_erf)
{
  call->in_grad[0] = B (MUL, B (MUL, G, K (M_2_SQRTPI)), U (EXP, U (NEG, U (SQUARE, X (0)))));
  return TRUE;
}

RULE (grad_sin)
{
  call->in_grad[0] = B (MUL, G, U (COS, X (0)));
  return TRUE;
}

RULE (grad_cos)
{
  call->in_grad[0] = U (NEG, B (MUL, G, U (SIN, X (0))));
  return TRUE;
}

/* tan' = 1 + tan² */
RULE (grad_tan)
{
  call->in_grad[0] = B (MUL, G, T (FMA, Y, Y, K (1)));
  return TRUE;
}

/* 1/√(1 - a²), the derivative of asin */
static LoomValue
arc_derivative (const LoomGradCall *call)
{
  return U (RSQRT, B (SUB, K (1), U (SQUARE, X (0))));
}

RULE (grad_asin)
{
  call->in_grad[0] = B (MUL, G, arc_derivative (call));
  return TRUE;
}

RULE (grad_acos)
{
  call->in_grad[0] = U (NEG, B (MUL, G, arc_derivative (call)));
  return TRUE;
}

RULE (grad_atan)
{
  call->in_grad[0] = B (DIV, G, T (FMA, X (0), X (0), K (1)));
  return TRUE;
}

RULE (grad_sinh)
{
  call->in_grad[0] = B (MUL, G, U (COSH, X (0)));
  return TRUE;
}

RULE (grad_cosh)
{
  call->in_grad[0] = B (MUL, G, U (SINH, X (0)));
  return TRUE;
}

RULE (grad_asinh)
{
  call->in_grad[0] = B (MUL, G, U (RSQRT, T (FMA, X (0), X (0), K (1))));
  return TRUE;
}

RULE (grad_acosh)
{
  call->in_grad[0] = B (MUL, G, U (RSQRT, T (FMA, X (0), X (0), K (-1))));
  return TRUE;
}

RULE (grad_atanh)
{
  call->in_grad[0] = B (DIV, G, B (SUB, K (1), U (SQUARE, X (0))));
  return TRUE;
}

RULE (grad_relu)
{
  call->in_grad[0] = B (RELU_GRAD, G, Y);
  return TRUE;
}

/* gelu = x·Φ(x), so gelu' = Φ(x) + x·φ(x) with Φ = ½(1 + erf(x/√2)) and φ = exp(-x²/2)/√(2π). */
RULE (grad_gelu)
{
  LoomValue x = X (0);
  LoomValue cdf = T (FMA, U (ERF, B (MUL, x, K (M_SQRT1_2))), K (0.5), K (0.5));
  LoomValue pdf = B (MUL, U (EXP, B (MUL, U (SQUARE, x), K (-0.5))), K (0.5 * M_2_SQRTPI * M_SQRT1_2));

  call->in_grad[0] = B (MUL, G, T (FMA, x, pdf, cdf));
  return TRUE;
}

RULE (grad_gelu_tanh)
{
  call->in_grad[0] = B (GELU_TANH_GRAD, G, X (0));
  return TRUE;
}

RULE (grad_add)
{
  call->in_grad[0] = call->in_grad[1] = G;
  return TRUE;
}

RULE (grad_sub)
{
  call->in_grad[0] = G;
  if (call->needed[1])
    call->in_grad[1] = U (NEG, G);
  return TRUE;
}

RULE (grad_mul)
{
  if (call->needed[0])
    call->in_grad[0] = B (MUL, G, X (1));
  if (call->needed[1])
    call->in_grad[1] = B (MUL, G, X (0));
  return TRUE;
}

RULE (grad_div)
{
  LoomValue g = B (DIV, G, X (1));

  if (call->needed[0])
    call->in_grad[0] = g;
  if (call->needed[1])
    call->in_grad[1] = U (NEG, B (MUL, g, Y));
  return TRUE;
}

/* The gradient of a - b·q, where the integer q has no derivative. */
static gboolean
grad_rest (const LoomGradCall *call, LoomScalarOp quotient)
{
  call->in_grad[0] = G;
  if (call->needed[1])
    call->in_grad[1] = U (NEG, B (MUL, G, loom_binary (call->p, quotient, X (0), X (1))));
  return TRUE;
}

RULE (grad_fmod)
{
  return grad_rest (call, LOOM_SCALAR_DIV_TRUNC);
}

RULE (grad_mod)
{
  return grad_rest (call, LOOM_SCALAR_DIV_FLOOR);
}

/* The derivatives of the angle of (b, a) are b/(a² + b²) and -a/(a² + b²), and 0 at the origin, as in PyTorch. */
RULE (grad_atan2)
{
  LoomValue square = T (FMA, X (0), X (0), U (SQUARE, X (1)));
  LoomValue g = B (DIV, G, T (SELECT, B (EQ, square, K (0)), K (1), square));

  if (call->needed[0])
    call->in_grad[0] = B (MUL, g, X (1));
  if (call->needed[1])
    call->in_grad[1] = U (NEG, B (MUL, g, X (0)));
  return TRUE;
}

/* a^b. The derivative with respect to a is 0 for exponent 0, also at a = 0. The derivative of 0^b with respect to b is
 * 0 for b ≥ 0. Both as in PyTorch. */
RULE (grad_pow)
{
  LoomValue a = X (0), b = X (1);
  double exponent;

  if (call->needed[0])
    {
      if (loom_value_is_fill (call->p, b, &exponent) && exponent == 2.0)
        call->in_grad[0] = B (MUL, B (MUL, G, K (2)), a);
      else
        {
          LoomValue slope = B (MUL, b, B (POW, a, B (SUB, b, K (1))));

          call->in_grad[0] = B (MUL, G, T (SELECT, B (EQ, b, K (0)), K (0), slope));
        }
    }
  if (call->needed[1])
    {
      LoomValue flat = B (MUL, B (EQ, a, K (0)), B (GE, b, K (0)));

      call->in_grad[1] = B (MUL, G, T (SELECT, flat, K (0), B (MUL, Y, U (LOG, a))));
    }
  return TRUE;
}

/* The gradient of the larger or smaller operand; equal operands get half each, as in torch.maximum. */
static void
extreme (const LoomGradCall *call, LoomScalarOp wins)
{
  LoomValue tie = B (EQ, X (0), X (1)), half = B (MUL, G, K (0.5));
  LoomValue first = loom_binary (call->p, wins, X (0), X (1));

  if (call->needed[0])
    call->in_grad[0] = T (SELECT, tie, half, T (SELECT, first, G, K (0)));
  if (call->needed[1])
    call->in_grad[1] = T (SELECT, tie, half, T (SELECT, first, K (0), G));
}

RULE (grad_max)
{
  extreme (call, LOOM_SCALAR_GT);
  return TRUE;
}

RULE (grad_min)
{
  extreme (call, LOOM_SCALAR_LT);
  return TRUE;
}

RULE (grad_relu_grad)
{
  if (call->needed[0])
    call->in_grad[0] = B (RELU_GRAD, G, X (1));
  return TRUE;
}

RULE (grad_sigmoid_grad)
{
  if (call->needed[0])
    call->in_grad[0] = B (SIGMOID_GRAD, G, X (1));
  if (call->needed[1])
    call->in_grad[1] = B (MUL, B (MUL, G, X (0)), T (FMA, X (1), K (-2), K (1)));
  return TRUE;
}

RULE (grad_tanh_grad)
{
  if (call->needed[0])
    call->in_grad[0] = B (TANH_GRAD, G, X (1));
  if (call->needed[1])
    call->in_grad[1] = B (MUL, B (MUL, G, X (0)), B (MUL, X (1), K (-2)));
  return TRUE;
}

/* Let u = k(x + c·x³) and t = tanh u. The derivative of gelu is ½(1 + t) + ½·x·(1 - t²)·u', and its second derivative
 * is (1 - t²)·(2u' - k - x·t·u'²), because u'' is 6kc·x. */
RULE (grad_gelu_tanh_grad)
{
  const double k = M_2_SQRTPI * M_SQRT1_2, c = 0.044715;

  if (call->needed[0])
    call->in_grad[0] = B (GELU_TANH_GRAD, G, X (1));
  if (call->needed[1])
    {
      LoomValue x = X (1), xx = U (SQUARE, x);
      LoomValue t = U (TANH, B (MUL, x, T (FMA, xx, K (k * c), K (k))));
      LoomValue du = T (FMA, xx, K (3 * k * c), K (k));
      LoomValue bend = B (SUB, T (FMA, xx, K (6 * k * c), K (k)), B (MUL, B (MUL, x, t), U (SQUARE, du)));

      call->in_grad[1] = B (MUL, B (MUL, G, X (0)), B (TANH_GRAD, bend, t));
    }
  return TRUE;
}

RULE (grad_select)
{
  if (call->needed[1])
    call->in_grad[1] = T (SELECT, X (0), G, K (0));
  if (call->needed[2])
    call->in_grad[2] = T (SELECT, X (0), K (0), G);
  return TRUE;
}

RULE (grad_fma)
{
  call->in_grad[2] = G;
  return grad_mul (call);
}

#undef X
#undef Y
#undef G
#undef U
#undef B
#undef T
#undef K

#define PRIM(E, id, type, rule, derivative, text)                                                                      \
  const LoomPrim loom_prim_##id = { .name = #id,                                                                       \
                                    .doc = text,                                                                       \
                                    .tier = LOOM_TIER_CORE,                                                            \
                                    .flags = LOOM_PRIM_ELEMENTWISE,                                                    \
                                    .separates_positions = loom_positions_element_wise,                                \
                                    .scalar = LOOM_SCALAR_##E,                                                         \
                                    .max_out = 1,                                                                      \
                                    .infer = infer_##rule,                                                             \
                                    .gradient = derivative,                                                            \
                                    .precision = LOOM_PRECISION_##type };
#define FLAT(E, id, type, rule, text)                                                                                  \
  const LoomPrim loom_prim_##id = { .name = #id,                                                                       \
                                    .doc = text,                                                                       \
                                    .tier = LOOM_TIER_CORE,                                                            \
                                    .flags = LOOM_PRIM_ELEMENTWISE,                                                    \
                                    .separates_positions = loom_positions_element_wise,                                \
                                    .scalar = LOOM_SCALAR_##E,                                                         \
                                    .max_out = 1,                                                                      \
                                    .infer = infer_##rule,                                                             \
                                    .gradient_is_zero = TRUE,                                                          \
                                    .precision = LOOM_PRECISION_##type };

/* The third argument is the primitive's LoomPrecision. */
PRIM (ID, id, ROUNDS_ONCE, same, grad_id, "The value itself.")
PRIM (NEG, neg, ROUNDS_ONCE, same, grad_neg, "-a")
PRIM (ABS, abs, ROUNDS_ONCE, same, grad_abs, "|a|")
FLAT (SIGN, sign, ROUNDS_ONCE, same, "-1, 0 or 1")
FLAT (FLOOR, floor, ROUNDS_ONCE, same, "The largest integer that is not above a.")
FLAT (CEIL, ceil, FOLLOW, same, "The smallest integer that is not below a.")
FLAT (ROUND, round, FOLLOW, same, "The nearest integer; of two, the even one.")
FLAT (TRUNC, trunc, FOLLOW, same, "a without its fraction.")
PRIM (SQRT, sqrt, FOLLOW, float, grad_sqrt, "√a")
PRIM (RSQRT, rsqrt, FOLLOW, float, grad_rsqrt, "1/√a")
PRIM (RECIP, recip, FOLLOW, float, grad_recip, "1/a")
PRIM (SQUARE, square, FOLLOW, same, grad_square, "a²")
PRIM (EXP, exp, F32, float, grad_exp, "eᵃ")
PRIM (EXP2, exp2, F32, float, grad_exp2, "2ᵃ")
PRIM (EXPM1, expm1, F32, float, grad_expm1, "eᵃ - 1, exact near 0")
PRIM (LOG, log, F32, float, grad_log, "ln a")
PRIM (LOG2, log2, F32, float, grad_log2, "log₂ a")
PRIM (LOG10, log10, F32, float, grad_log10, "log₁₀ a")
PRIM (LOG1P, log1p, F32, float, grad_log1p, "ln (1 + a), exact near 0")
PRIM (TANH, tanh, ROUNDS_ONCE, float, grad_tanh, "tanh a")
PRIM (SIGMOID, sigmoid, ROUNDS_ONCE, float, grad_sigmoid, "1/(1 + e⁻ᵃ)")
PRIM (ERF, erf, FOLLOW, float, grad_erf, "The error function.")
PRIM (SIN, sin, FOLLOW, float, grad_sin, "sin a")
PRIM (COS, cos, FOLLOW, float, grad_cos, "cos a")
PRIM (TAN, tan, FOLLOW, float, grad_tan, "tan a")
PRIM (ASIN, asin, FOLLOW, float, grad_asin, "The angle whose sine is a.")
PRIM (ACOS, acos, FOLLOW, float, grad_acos, "The angle whose cosine is a.")
PRIM (ATAN, atan, FOLLOW, float, grad_atan, "The angle whose tangent is a.")
PRIM (SINH, sinh, FOLLOW, float, grad_sinh, "sinh a")
PRIM (COSH, cosh, FOLLOW, float, grad_cosh, "cosh a")
PRIM (ASINH, asinh, FOLLOW, float, grad_asinh, "The number whose sinh is a.")
PRIM (ACOSH, acosh, FOLLOW, float, grad_acosh, "The number, not below 0, whose cosh is a.")
PRIM (ATANH, atanh, FOLLOW, float, grad_atanh, "The number whose tanh is a.")
FLAT (ISNAN, isnan, FOLLOW, compare, "Whether a is not a number.")
FLAT (ISINF, isinf, FOLLOW, compare, "Whether a is infinite.")
FLAT (NOT, not, FOLLOW, compare, "Whether a is 0.")
PRIM (RELU, relu, ROUNDS_ONCE, same, grad_relu, "max(a, 0)")
PRIM (GELU, gelu, FOLLOW, float, grad_gelu, "a·Φ(a)")
PRIM (GELU_TANH, gelu_tanh, FOLLOW, float, grad_gelu_tanh, "a·Φ(a), Φ by a hyperbolic tangent")
PRIM (ADD, add, ROUNDS_ONCE, same, grad_add, "a + b")
PRIM (SUB, sub, ROUNDS_ONCE, same, grad_sub, "a - b")
PRIM (MUL, mul, ROUNDS_ONCE, same, grad_mul, "a·b")
PRIM (DIV, div, FOLLOW, float, grad_div, "a/b")
FLAT (DIV_TRUNC, div_trunc, FOLLOW, same, "a/b without its fraction")
FLAT (DIV_FLOOR, div_floor, FOLLOW, same, "a/b rounded down")
PRIM (FMOD, fmod, FOLLOW, same, grad_fmod, "The remainder of a/b, with a's sign.")
PRIM (MOD, mod, FOLLOW, same, grad_mod, "The remainder of a/b, with b's sign.")
PRIM (POW, pow, F32, same, grad_pow, "aᵇ")
PRIM (ATAN2, atan2, FOLLOW, float, grad_atan2, "The angle of the point (b, a).")
PRIM (MAX, max, ROUNDS_ONCE, same, grad_max, "The larger of a and b.")
PRIM (MIN, min, ROUNDS_ONCE, same, grad_min, "The smaller of a and b.")
FLAT (EQ, eq, ROUNDS_ONCE, compare, "a = b")
FLAT (NE, ne, ROUNDS_ONCE, compare, "a ≠ b")
FLAT (LT, lt, ROUNDS_ONCE, compare, "a < b")
FLAT (LE, le, ROUNDS_ONCE, compare, "a ≤ b")
FLAT (GT, gt, ROUNDS_ONCE, compare, "a > b")
FLAT (GE, ge, ROUNDS_ONCE, compare, "a ≥ b")
FLAT (AND, and, FOLLOW, compare, "Whether neither a nor b is 0.")
FLAT (OR, or, FOLLOW, compare, "Whether a or b is not 0.")
FLAT (XOR, xor, FOLLOW, compare, "Whether exactly one of a and b is not 0.")
PRIM (RELU_GRAD, relu_grad, FOLLOW, float, grad_relu_grad, "a where b > 0, else 0")
PRIM (SIGMOID_GRAD, sigmoid_grad, FOLLOW, float, grad_sigmoid_grad, "a·b·(1 - b)")
PRIM (TANH_GRAD, tanh_grad, FOLLOW, float, grad_tanh_grad, "a·(1 - b²)")
PRIM (GELU_TANH_GRAD, gelu_tanh_grad, FOLLOW, float, grad_gelu_tanh_grad, "a times the derivative of gelu_tanh at b")
PRIM (SELECT, select, ROUNDS_ONCE, select, grad_select, "b where a, else c")
PRIM (FMA, fma, FOLLOW, same, grad_fma, "a·b + c")
