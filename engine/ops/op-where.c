/* Where: selects elements of two tensors by a condition. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "condition", "The condition: true, or not 0, selects input." },
  { "input", "The values where the condition is true.", LOOM_PORT_OPTIONAL },
  { "other", "The values where the condition is false.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("input", FLOAT, ""),
    .doc = "A number used where the condition is true, if the port input is not wired." },
  { LOOM_PARAM ("other", FLOAT, ""),
    .doc = "A number used where the condition is false, if the port other is not wired." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_infer_input (ctx, 0)->shape;
  LoomDType dtype = LOOM_BOOL;
  gboolean number = FALSE, fraction = FALSE;

  for (guint i = 1; i < 3; i++)
    {
      const char *name = inputs[i].name;
      const LoomType *t = loom_infer_input (ctx, i);
      LoomShape both;

      if (t == NULL && !loom_infer_is_set (ctx, name))
        {
          loom_infer_fault (ctx, LOOM_ERROR_PORT, name, "There is no %s. Wire one, or give a number as %s.", name,
                            name);
          return;
        }
      if (t != NULL && loom_infer_is_set (ctx, name))
        {
          LoomFault *fault = loom_infer_fault (ctx, LOOM_ERROR_PORT, name,
                                               "%s is wired and also given as a number; use only one of them.", name);

          loom_fault_set_fix (fault, name, NULL, "Remove the number.");
          return;
        }
      if (t == NULL)
        {
          number = TRUE;
          fraction = fraction || !loom_op_is_integer (loom_infer_float (ctx, name));
          continue;
        }
      dtype = loom_op_promote (dtype, t->dtype);
      if (!loom_shape_broadcast (&shape, &t->shape, &both))
        {
          g_autofree char *a = loom_shape_to_string (&shape), *b = loom_shape_to_string (&t->shape);

          loom_infer_fault (
              ctx, LOOM_ERROR_SHAPE, name,
              "%s and %s do not broadcast: counted from the right, each pair of sizes must be equal or one of them 1.",
              a, b);
          return;
        }
      shape = both;
    }
  /* Two numbers are floats; a single one has the type of the tensor, unless it has a fraction. */
  if (!loom_dtype_is_float (dtype)
      && (fraction || (loom_infer_input (ctx, 1) == NULL && loom_infer_input (ctx, 2) == NULL)))
    dtype = LOOM_F32;
  else if (dtype == LOOM_BOOL && number)
    dtype = LOOM_I64;
  loom_infer_output (ctx, 0, dtype, &shape);
}

static LoomValue
choice (LoomLower *ctx, guint i)
{
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype);
  LoomValue v = loom_lower_input (ctx, i);

  if (v == 0)
    return loom_const (loom_lower_program (ctx), dtype, loom_infer_float (loom_lower_infer (ctx), inputs[i].name));
  return loom_cast (loom_lower_program (ctx), v, dtype);
}

static void
lower (LoomLower *ctx)
{
  LoomValue condition = loom_lower_input (ctx, 0), a = choice (ctx, 1), b = choice (ctx, 2);

  loom_lower_output (ctx, 0, loom_ternary (loom_lower_program (ctx), LOOM_SCALAR_SELECT, condition, a, b));
}

static const LoomSample samples[] = {
  { .inputs = { "bool:B,3,4", "f32:B,3,4", "f32:B,3,4" } },
  { .inputs = { "bool:4", "f32:B,3,1", "f32:3,4" } },
  { .params = "other=-1", .inputs = { "bool:B,3", "f32:3", "" } },
  { .params = "input=0.5", .inputs = { "bool:B,3", "", "i64:3" } },
  { .params = "input=1 other=0", .inputs = { "bool:B,3" } },
  { .inputs = { "i64:3", "i64:3", "i64:" }, .range = "class:2" },
  { .inputs = { "bool:0,3", "f32:3", "f32:" } },
  { NULL },
};

const LoomOp loom_op_where = {
  .name = "where",
  .title = "Where",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-where-symbolic",
  .synonyms = "if select choose ternary",
  .usual = TRUE,
  .doc = "Selects elements from one of two tensors by a condition.",
  .details = "The gradient goes to the selected elements. Both branches are computed, so a NaN in the branch that is "
             "not selected does not affect the value, but it can affect the gradient.",
  .formula = "y = a where c, else b",
  .reference = "torch.where",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
