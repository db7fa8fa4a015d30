/* What operators that work element by element share: their ports, types, primitives and samples.
 *
 * Most of them differ only in a scalar formula, so their files name it as .scalar and take the rest from here. */
#include "engine/ops/op-private.h"

const LoomPortSpec loom_op_port_operands[] = {
  { "input", "The first operand." },
  { "other", "The second operand; its shape may differ where sizes are 1.", LOOM_PORT_OPTIONAL },
  { NULL },
};

const LoomParamSpec loom_op_param_other[] = {
  { .name = "other",
    .type = LOOM_PARAM_FLOAT,
    .def = "",
    .doc = "A number as the second operand, where nothing is wired." },
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
const LoomSample loom_op_samples_pairs[] = PAIRS (NULL);
const LoomSample loom_op_samples_positive_pairs[] = PAIRS ("positive");

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

/* A number that stands for the second operand is an attribute of that port's name. */
static const char *
second (const LoomInfer *ctx)
{
  return loom_infer_op (ctx)->inputs[1].name;
}

static void
infer_pair (LoomInfer *ctx, gboolean division)
{
  const char *scalar = second (ctx);
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);
  LoomDType dtype = a->dtype;
  LoomShape shape = a->shape;

  if (b == NULL && !loom_infer_is_set (ctx, scalar))
    {
      loom_infer_fault (ctx, LOOM_ERROR_PORT, scalar,
                        "A second operand is missing. Wire one in, or give a number as %s.", scalar);
      return;
    }
  if (b != NULL && loom_infer_is_set (ctx, scalar))
    {
      LoomFault *fault = loom_infer_fault (
          ctx, LOOM_ERROR_PORT, scalar, "The second operand is wired and also given as a number; it can be only one.");

      loom_fault_set_fix (fault, scalar, NULL, "Remove the number.");
      return;
    }
  if (b != NULL)
    {
      dtype = loom_op_promote (a->dtype, b->dtype);
      if (!loom_shape_broadcast (&a->shape, &b->shape, &shape))
        {
          g_autofree char *sa = loom_shape_to_string (&a->shape), *sb = loom_shape_to_string (&b->shape);

          loom_infer_fault (
              ctx, LOOM_ERROR_SHAPE, scalar,
              "%s and %s do not fit together: counted from the right, each pair of sizes must be equal or "
              "one of them 1.",
              sa, sb);
          return;
        }
    }
  else if (!loom_dtype_is_float (dtype))
    {
      double value = loom_infer_float (ctx, scalar);

      /* A whole number leaves integers what they are; any other makes them floats. */
      if (value != (double)(gint64)value)
        dtype = LOOM_F32;
    }
  if (division && !loom_dtype_is_float (dtype))
    dtype = LOOM_F32;
  loom_infer_output (ctx, 0, dtype, &shape);
}

void
loom_op_infer_binary (LoomInfer *ctx)
{
  infer_pair (ctx, FALSE);
}

void
loom_op_infer_division (LoomInfer *ctx)
{
  infer_pair (ctx, TRUE);
}

/* ---- lowering --------------------------------------------------------- */

/* Input i in the type of the result, which infer() has made a float where the formula needs one. */
static LoomValue
operand (LoomLower *ctx, guint i)
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
  loom_lower_output (ctx, 0, loom_unary (loom_lower_program (ctx), op, operand (ctx, 0)));
}

void
loom_op_lower_unary (LoomLower *ctx)
{
  loom_op_emit_unary (ctx, loom_infer_op (loom_lower_infer (ctx))->scalar);
}

void
loom_op_lower_binary (LoomLower *ctx)
{
  LoomValue a = operand (ctx, 0), b = operand (ctx, 1);

  loom_lower_output (ctx, 0,
                     loom_binary (loom_lower_program (ctx), loom_infer_op (loom_lower_infer (ctx))->scalar, a, b));
}
