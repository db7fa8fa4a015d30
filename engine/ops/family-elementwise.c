/* Shares the ports, types, lowering and samples of element-wise operators.
 *
 * Most of them differ only in a scalar formula, which their files name as .scalar. */
#include "engine/ops/op-private.h"

#include <math.h>

const LoomPortSpec loom_op_port_operands[] = {
  { "input", "The first operand." },
  { "other", "The second operand; broadcasts with the first.", LOOM_PORT_OPTIONAL },
  { NULL },
};

const LoomParamSpec loom_op_param_other[] = {
  { LOOM_PARAM ("other", FLOAT, ""), .doc = "A number used as the second operand if the port other is not wired." },
  { NULL },
};

/* ---- samples ---------------------------------------------------------- */

/* clang-format off */
#define SAMPLES(numbers)                                                 \
  {                                                                      \
    { .inputs = { "f32:B,3,4" }, .range = numbers },                     \
    { .inputs = { "f32:" }, .range = numbers },                          \
    { .inputs = { "f32:1" }, .range = numbers },                         \
    { .inputs = { "f32:0,3" }, .range = numbers },                       \
    { NULL },                                                            \
  }
#define PAIRS(numbers)                                                   \
  {                                                                      \
    { .inputs = { "f32:B,3,4", "f32:B,3,4" }, .range = numbers },        \
    { .inputs = { "f32:B,3,1", "f32:4" }, .range = numbers },            \
    { .inputs = { "f32:3,4", "f32:B,1,1" }, .range = numbers },          \
    { .inputs = { "f32:", "f32:2,3" }, .range = numbers },               \
    { .inputs = { "f32:0,3", "f32:3" }, .range = numbers },              \
    { .params = "other=2.5", .inputs = { "f32:B,3" }, .range = numbers }, \
    { NULL },                                                            \
  }
/* clang-format on */

const LoomSample loom_op_samples_any[] = SAMPLES (NULL);
const LoomSample loom_op_samples_away0[] = SAMPLES ("away0");
const LoomSample loom_op_samples_positive[] = SAMPLES ("positive");
const LoomSample loom_op_samples_unit[] = SAMPLES ("unit");
const LoomSample loom_op_samples_above1[] = SAMPLES ("above1");
const LoomSample loom_op_samples_pairs[] = PAIRS (NULL);
const LoomSample loom_op_samples_positive_pairs[] = PAIRS ("positive");

const LoomSample loom_op_samples_compared[] = {
  { .inputs = { "f32:B,3,4", "f32:B,3,1" } },
  { .inputs = { "i64:B,3", "i64:3" }, .range = "class:3" },
  { .inputs = { "i64:3", "f32:2,1" }, .range = "class:3" },
  { .inputs = { "bool:4", "bool:4" } },
  { .params = "other=1", .inputs = { "i64:B,3" }, .range = "class:3" },
  { .params = "other=0.5", .inputs = { "f32:B,3" } },
  { .params = "other=0.5", .inputs = { "i64:" }, .range = "class:3" },
  { .inputs = { "f32:0,3", "f32:3" } },
  { NULL },
};

const LoomSample loom_op_samples_tested[] = {
  { .inputs = { "f32:B,3,4" } }, { .inputs = { "i64:B,3" }, .range = "class:2" },
  { .inputs = { "bool:4" } },    { .inputs = { "f32:" } },
  { .inputs = { "f32:0,3" } },   { NULL },
};

/* ---- inference -------------------------------------------------------- */

void
loom_op_infer_same (LoomInfer *ctx)
{
  const LoomType *t = loom_infer_input (ctx, 0);

  loom_infer_output (ctx, 0, t->dtype, &t->shape);
}

void
loom_op_infer_float (LoomInfer *ctx)
{
  const LoomType *t = loom_infer_input (ctx, 0);

  loom_infer_output (ctx, 0, loom_dtype_is_float (t->dtype) ? t->dtype : LOOM_F32, &t->shape);
}

gboolean
loom_op_is_integer (double value)
{
  return fabs (value) < 9.2e18 && value == floor (value);
}

/* A number in place of the second operand is an attribute with the name of that port. */
static const char *
second (const LoomInfer *ctx)
{
  return loom_infer_op (ctx)->inputs[1].name;
}

/* The promoted type of the pair and the broadcast shape; FALSE with a fault if the shapes do not broadcast. */
static gboolean
pair_type (LoomInfer *ctx, LoomDType *dtype, LoomShape *shape)
{
  const char *scalar = second (ctx);
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);

  *dtype = a->dtype;
  *shape = a->shape;
  if (b == NULL && !loom_infer_is_set (ctx, scalar))
    {
      loom_infer_fault (ctx, LOOM_ERROR_PORT, scalar,
                        "The second operand is missing. Wire one, or give a number as %s.", scalar)
          ->is_todo
          = TRUE;
      return FALSE;
    }
  if (b != NULL && loom_infer_is_set (ctx, scalar))
    {
      LoomFault *fault
          = loom_infer_fault (ctx, LOOM_ERROR_PORT, scalar,
                              "The second operand is wired and also given as a number; use only one of them.");

      loom_fault_set_fix (fault, scalar, NULL, "Remove the number.");
      return FALSE;
    }
  if (b != NULL)
    {
      *dtype = loom_op_promote (a->dtype, b->dtype);
      if (!loom_shape_broadcast (&a->shape, &b->shape, shape))
        {
          g_autofree char *sa = loom_shape_to_string (&a->shape), *sb = loom_shape_to_string (&b->shape);

          loom_infer_fault (
              ctx, LOOM_ERROR_SHAPE, scalar,
              "%s and %s do not broadcast: counted from the right, each pair of sizes must be equal or one of them 1.",
              sa, sb);
          return FALSE;
        }
    }
  else if (!loom_dtype_is_float (*dtype))
    {
      double value = loom_infer_float (ctx, scalar);

      /* An integer keeps integers as they are and makes integers of bools; any other number makes floats. */
      if (!loom_op_is_integer (value))
        *dtype = LOOM_F32;
      else if (*dtype == LOOM_BOOL)
        *dtype = LOOM_I64;
    }
  return TRUE;
}

void
loom_op_infer_binary (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;

  if (pair_type (ctx, &dtype, &shape))
    loom_infer_output (ctx, 0, dtype, &shape);
}

void
loom_op_infer_division (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;

  if (pair_type (ctx, &dtype, &shape))
    loom_infer_output (ctx, 0, loom_dtype_is_float (dtype) ? dtype : LOOM_F32, &shape);
}

void
loom_op_infer_rounded_division (LoomInfer *ctx)
{
  const LoomType *out;

  loom_op_infer_binary (ctx);
  out = loom_infer_get_output (ctx, 0);
  if (!loom_infer_has_fault (ctx) && !loom_dtype_is_float (out->dtype) && loom_infer_input (ctx, 1) == NULL
      && loom_infer_float (ctx, second (ctx)) == 0)
    loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, second (ctx), "Integers cannot be divided by 0.");
}

void
loom_op_infer_compare (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;

  if (pair_type (ctx, &dtype, &shape))
    loom_infer_output (ctx, 0, LOOM_BOOL, &shape);
}

void
loom_op_infer_predicate (LoomInfer *ctx)
{
  loom_infer_output (ctx, 0, LOOM_BOOL, &loom_infer_input (ctx, 0)->shape);
}

/* ---- lowering --------------------------------------------------------- */

/* infer() has made the result a float if the formula needs one. */
LoomValue
loom_op_operand (LoomLower *ctx, guint i)
{
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype);
  LoomValue v = loom_lower_input (ctx, i);

  if (v == 0)
    return loom_const (loom_lower_program (ctx), dtype,
                       loom_infer_float (loom_lower_infer (ctx), second (loom_lower_infer (ctx))));
  return loom_cast (loom_lower_program (ctx), v, dtype);
}

void
loom_op_emit_unary (LoomLower *ctx, LoomScalarOp op)
{
  loom_lower_output (ctx, 0, loom_unary (loom_lower_program (ctx), op, loom_op_operand (ctx, 0)));
}

void
loom_op_lower_unary (LoomLower *ctx)
{
  loom_op_emit_unary (ctx, loom_infer_op (loom_lower_infer (ctx))->scalar);
}

void
loom_op_emit_binary (LoomLower *ctx, LoomScalarOp op)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue a = loom_op_operand (ctx, 0), b = loom_op_operand (ctx, 1);
  gboolean divides
      = op == LOOM_SCALAR_DIV_TRUNC || op == LOOM_SCALAR_DIV_FLOOR || op == LOOM_SCALAR_FMOD || op == LOOM_SCALAR_MOD;
  double other;

  /* A number given as an attribute is not 0: loom_op_infer_rounded_division() checks it. */
  if (divides && !loom_dtype_is_float (loom_op_desc (ctx, b).dtype) && !loom_value_is_fill (p, b, &other))
    b = loom_require (p, b, loom_binary (p, LOOM_SCALAR_NE, b, loom_op_const_like (ctx, b, 0)),
                      "integers cannot be divided by 0, and the divisor is 0");
  loom_lower_output (ctx, 0, loom_binary (p, op, a, b));
}

void
loom_op_lower_binary (LoomLower *ctx)
{
  loom_op_emit_binary (ctx, loom_infer_op (loom_lower_infer (ctx))->scalar);
}

void
loom_op_lower_predicate (LoomLower *ctx)
{
  loom_lower_output (
      ctx, 0,
      loom_unary (loom_lower_program (ctx), loom_infer_op (loom_lower_infer (ctx))->scalar, loom_lower_input (ctx, 0)));
}

/* A number is compared with integers as an integer, unless it has a fraction. */
void
loom_op_lower_compare (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue a = loom_lower_input (ctx, 0), b = loom_lower_input (ctx, 1);

  if (b == 0)
    {
      double value = loom_infer_float (infer, second (infer));
      LoomDType dtype = loom_op_desc (ctx, a).dtype;

      if (!loom_dtype_is_float (dtype))
        dtype = loom_op_is_integer (value) ? LOOM_I64 : loom_program_get_float (p);
      b = loom_const (p, dtype, value);
    }
  loom_lower_output (ctx, 0, loom_binary (p, loom_infer_op (infer)->scalar, a, b));
}

/* Elements strictly inside the bound pass unchanged and get the gradient. The others, those equal to the bound
 * included, pass through a barrier and get none; NaN stays NaN. This is the behaviour of PyTorch 2.15 (earlier
 * versions pass the gradient at the bound). */
LoomValue
loom_op_clamp_to (LoomLower *ctx, LoomValue x, double limit, LoomScalarOp inside, LoomScalarOp bound)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue edge = loom_op_const_like (ctx, x, limit);

  return loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, inside, x, edge), x,
                       loom_binary (p, bound, loom_detach (p, x), edge));
}
