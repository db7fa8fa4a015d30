/* Shares the code of losses: the comparison of shapes, the reduction over samples, the weights of classes.
 *
 * A loss is computed element by element from primitives that have gradients, so no loss has a gradient of its own.
 * Class weights and class indices pass through a barrier and get no gradient, as in PyTorch. */
#include "engine/ops/op-private.h"

#include <glib/gi18n.h>

const LoomPortSpec loom_op_port_compared[] = {
  { "input", "The prediction of the network.", LOOM_PORT_PREDICTION },
  { "target", "The target, with the shape of the input.", LOOM_PORT_TARGET },
  { NULL },
};

const LoomParamSpec loom_op_param_reduction[] = { LOOM_OP_REDUCTION, { NULL } };

/* ---- inference -------------------------------------------------------- */

/* [B, 1] against [B] broadcasts to [B, B]: the differences of all pairs of samples, whose minimum is at the mean. */
static void
warn_of_shapes (LoomInfer *ctx, guint i, const LoomShape *x, const LoomShape *t, const LoomShape *both)
{
  g_autofree char *sx = loom_shape_to_string (x), *st = loom_shape_to_string (t), *all = loom_shape_to_string (both);
  const LoomPortSpec *port = loom_infer_op (ctx)->inputs;

  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port[i].name,
                    "The %s is %s but the %s is %s, so each is repeated to %s before they are compared. To compare "
                    "element with element give both one shape: put a reshape or a flatten before one of them.",
                    g_str_equal (port[0].name, "input") ? "output" : port[0].name, sx, port[i].name, st, all)
      ->is_warning
      = TRUE;
}

gboolean
loom_op_infer_compared (LoomInfer *ctx, guint n, LoomDType *dtype, LoomShape *shape)
{
  const LoomType *x = loom_infer_input (ctx, 0);

  *dtype = x->dtype;
  *shape = x->shape;
  for (guint i = 1; i < n; i++)
    {
      const LoomType *t = loom_infer_input (ctx, i);
      const char *port = loom_infer_op (ctx)->inputs[i].name;
      LoomShape both;

      if (!loom_shape_broadcast (shape, &t->shape, &both))
        {
          g_autofree char *sx = loom_shape_to_string (shape), *st = loom_shape_to_string (&t->shape);

          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port,
                            "%s and %s cannot be compared: output and target need the same shape.", sx, st);
          return FALSE;
        }
      if (!loom_shape_equal (shape, &t->shape))
        warn_of_shapes (ctx, i, shape, &t->shape, &both);
      *shape = both;
      *dtype = loom_op_promote (*dtype, t->dtype);
    }
  if (!loom_dtype_is_float (*dtype))
    *dtype = LOOM_F32;
  return TRUE;
}

void
loom_op_infer_loss (LoomInfer *ctx, LoomDType dtype, const LoomShape *each)
{
  LoomShape scalar = loom_shape_scalar ();

  loom_infer_output (ctx, 0, dtype, g_str_equal (loom_infer_string (ctx, "reduction"), "none") ? each : &scalar);
}

void
loom_op_infer_pair_loss (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;

  if (loom_op_infer_compared (ctx, 2, &dtype, &shape))
    loom_op_infer_loss (ctx, dtype, &shape);
}

gboolean
loom_op_infer_class_weight (LoomInfer *ctx, guint i, LoomDim classes)
{
  const LoomType *w = loom_infer_input (ctx, i);
  double unused;
  guint n = loom_infer_is_set (ctx, "weight") ? loom_infer_floats (ctx, "weight", &unused, 1) : 0;
  LoomDim have = n > 0 ? loom_dim (n) : w != NULL ? loom_shape_count (&w->shape) : classes;
  LoomShape one = { .rank = 1, .dim = { classes } };
  g_autofree char *text = NULL;

  if (n > 0 && w != NULL)
    {
      loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_PORT, "weight",
                                            "The weights are wired and also given as numbers; use only one of them."),
                          "weight", NULL, "Remove the numbers.");
      return FALSE;
    }
  if ((w == NULL || w->shape.rank == 1) && loom_dim_compatible (have, classes))
    return TRUE;
  text = loom_shape_to_string (&one);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "weight",
                    "Each of the %s classes needs a weight, in a tensor with one dimension.", text);
  return FALSE;
}

gboolean
loom_op_infer_classes (LoomInfer *ctx, LoomShape *each)
{
  const LoomType *x = loom_infer_input (ctx, 0), *t = loom_infer_input (ctx, 1);
  g_autofree char *sx = loom_shape_to_string (&x->shape), *st = loom_shape_to_string (&t->shape), *sw = NULL;

  if (loom_dtype_is_float (t->dtype) || t->dtype == LOOM_BOOL)
    {
      loom_infer_fault (ctx, LOOM_ERROR_DTYPE, "target",
                        "The target must be class indices (i64), but got %s. For a target of numbers use mse_loss.",
                        loom_dtype_name (t->dtype));
      return FALSE;
    }
  *each = loom_op_reduced_shape (&x->shape, x->shape.rank == 1 ? 1u : 2u, FALSE);
  if (loom_shape_compatible (each, &t->shape))
    return TRUE;
  sw = loom_shape_to_string (each);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "target",
                    x->shape.rank > 2 && t->shape.rank == 1
                        ? N_ ("Logits %s need class indices %s, but got %s. Put a flatten before the last linear.")
                        : N_ ("Logits %s need class indices %s, but got %s."),
                    sx, sw, st);
  return FALSE;
}

/* ---- lowering --------------------------------------------------------- */

LoomValue
loom_op_loss_input (LoomLower *ctx, guint i)
{
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype);
  LoomValue v = loom_lower_input (ctx, i);

  return v != 0 ? loom_cast (loom_lower_program (ctx), v, dtype) : 0;
}

LoomValue
loom_op_loss_constant (LoomLower *ctx, guint i)
{
  LoomValue v = loom_op_loss_input (ctx, i);

  return v != 0 ? loom_detach (loom_lower_program (ctx), v) : 0;
}

void
loom_op_output_loss (LoomLower *ctx, LoomValue each)
{
  const char *reduction = loom_infer_string (loom_lower_infer (ctx), "reduction");
  LoomProgram *p = loom_lower_program (ctx);

  if (g_str_equal (reduction, "mean"))
    each = loom_mean_all (p, each);
  else if (g_str_equal (reduction, "sum"))
    each = loom_sum_all (p, each);
  loom_op_output_reshaped (ctx, 0, each);
}

void
loom_op_output_counted_loss (LoomLower *ctx, LoomValue each, LoomValue count)
{
  const char *reduction = loom_infer_string (loom_lower_infer (ctx), "reduction");
  LoomProgram *p = loom_lower_program (ctx);

  if (!g_str_equal (reduction, "none"))
    each = loom_sum_all (p, each);
  if (g_str_equal (reduction, "mean"))
    each = loom_binary (p, LOOM_SCALAR_DIV, each, count);
  loom_op_output_reshaped (ctx, 0, each);
}

LoomValue
loom_op_class_weight (LoomLower *ctx, guint i)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (infer, 0)->dtype);
  g_autofree double *values = NULL;
  g_autofree LoomValue *part = NULL;
  double first;
  guint n;

  if (!loom_infer_is_set (infer, "weight"))
    return loom_op_loss_constant (ctx, i);
  n = loom_infer_floats (infer, "weight", &first, 1);
  values = g_new (double, n);
  part = g_new (LoomValue, n);
  loom_infer_floats (infer, "weight", values, n);
  for (guint k = 0; k < n; k++)
    part[k] = loom_fill (p, dtype, 1, (gint64[]){ 1 }, values[k]);
  return loom_concat (p, n, part, 0);
}

LoomValue
loom_op_target_weight (LoomLower *ctx, LoomValue target, gint64 ignored, LoomDType dtype, LoomValue class_weight,
                       LoomValue *safe, LoomValue *counts)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue in[2] = { class_weight, 0 };

  *counts = loom_binary (p, LOOM_SCALAR_NE, target, loom_const (p, LOOM_I64, (double)ignored));
  *safe = loom_ternary (p, LOOM_SCALAR_SELECT, *counts, target, loom_const (p, LOOM_I64, 0));
  if (class_weight == 0)
    return loom_cast (p, *counts, dtype);
  in[1] = *safe;
  return loom_ternary (p, LOOM_SCALAR_SELECT, *counts, loom_emit (p, loom_prim ("gather_rows"), NULL, 2, in, NULL),
                       loom_const (p, dtype, 0));
}

LoomValue
loom_op_with_class_axis (LoomProgram *p, LoomValue v)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc;

  for (int i = d.rank; i > 1; i--)
    d.dim[i] = d.dim[i - 1];
  d.dim[1] = 1;
  return loom_reshape (p, v, d.rank + 1, d.dim);
}

/* ---- pieces of formulas ------------------------------------------------- */

static LoomValue
constant (LoomProgram *p, LoomValue like, double value)
{
  return loom_const (p, loom_value_info (p, like)->desc.dtype, value);
}

/* ln(1 + exp(-|x|)) + max(∓x, 0). Both selections switch at x = 0, so the derivatives of both sides agree there:
 * ∓1/2. */
LoomValue
loom_op_logistic_loss (LoomProgram *p, LoomValue x, gboolean large)
{
  LoomValue zero = constant (p, x, 0), below = loom_binary (p, LOOM_SCALAR_LT, x, zero);
  LoomValue minus = loom_unary (p, LOOM_SCALAR_NEG, x), size = loom_ternary (p, LOOM_SCALAR_SELECT, below, x, minus);

  return loom_binary (p, LOOM_SCALAR_ADD, loom_unary (p, LOOM_SCALAR_LOG1P, loom_unary (p, LOOM_SCALAR_EXP, size)),
                      loom_ternary (p, LOOM_SCALAR_SELECT, below, large ? minus : zero, large ? zero : x));
}

LoomValue
loom_op_at_least_zero (LoomProgram *p, LoomValue x)
{
  return loom_unary (p, LOOM_SCALAR_RELU, x);
}

LoomValue
loom_op_norm_along (LoomProgram *p, LoomValue x, int axis, double power)
{
  LoomValue sum, away, root;

  if (power == 1)
    return loom_reduce (p, LOOM_REDUCE_SUM, loom_unary (p, LOOM_SCALAR_ABS, x), 1u << axis, TRUE);
  if (power == 2)
    sum = loom_reduce (p, LOOM_REDUCE_SUM, loom_unary (p, LOOM_SCALAR_SQUARE, x), 1u << axis, TRUE);
  else
    sum = loom_reduce (p, LOOM_REDUCE_SUM,
                       loom_binary (p, LOOM_SCALAR_POW, loom_unary (p, LOOM_SCALAR_ABS, x), constant (p, x, power)),
                       1u << axis, TRUE);
  /* The derivative of a root is infinite at 0; there it is replaced by 0. */
  away = loom_binary (p, LOOM_SCALAR_GT, sum, constant (p, sum, 0));
  root = loom_ternary (p, LOOM_SCALAR_SELECT, away, sum, constant (p, sum, 1));
  root = power == 2 ? loom_unary (p, LOOM_SCALAR_SQRT, root)
                    : loom_binary (p, LOOM_SCALAR_POW, root, constant (p, root, 1 / power));
  return loom_ternary (p, LOOM_SCALAR_SELECT, away, root, loom_detach (p, sum));
}

LoomValue
loom_op_distance (LoomLower *ctx, LoomValue a, LoomValue b)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue d = loom_binary (p, LOOM_SCALAR_SUB, a, b);

  d = loom_binary (p, LOOM_SCALAR_ADD, d, loom_op_const_like (ctx, d, loom_infer_float (infer, "eps")));
  return loom_op_norm_along (p, d, loom_op_desc (ctx, d).rank - 1, loom_infer_float (infer, "p"));
}

LoomValue
loom_op_hold_up (LoomProgram *p, LoomValue x, double least)
{
  LoomValue still = loom_detach (p, x);
  LoomValue lift
      = loom_binary (p, LOOM_SCALAR_SUB, loom_binary (p, LOOM_SCALAR_MAX, still, constant (p, x, least)), still);

  return loom_binary (p, LOOM_SCALAR_ADD, x, lift);
}
