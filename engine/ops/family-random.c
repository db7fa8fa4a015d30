/* Emits random numbers as values of a graph; see family-random.h.
 *
 * Numbers are functions of seed, path, step and index (kernels/philox.h). No generator state exists, so pinning a
 * node changes no run. Evaluation draws them too, with the number of training steps taken so far. */
#include "engine/ops/family-random.h"

const LoomSample loom_op_samples_drawn[] = {
  { .params = "shape=B,3" },
  { .params = "shape=0,2" },
  { .inputs = { "f32:B,2" } },
  { .params = "dtype=f32" },
  { .params = "dtype=f32", .inputs = { "i64:3" }, .range = "class:5" },
  { NULL },
};

gboolean
loom_op_infer_drawn (LoomInfer *ctx)
{
  const LoomType *out;

  loom_op_infer_filled (ctx);
  if (loom_infer_has_fault (ctx))
    return FALSE;
  out = loom_infer_get_output (ctx, 0);
  if (loom_dtype_is_float (out->dtype))
    return TRUE;
  loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_DTYPE, "dtype",
                                        "%s draws floats, and %s is not a float type. For integers use randint.",
                                        loom_infer_op (ctx)->name, loom_dtype_name (out->dtype)),
                      "dtype", "f32", "Draw f32.");
  return FALSE;
}

LoomValue
loom_op_draw (LoomLower *ctx, LoomRandomKind kind)
{
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  return loom_lower_random (ctx, kind, 0, rank, dims);
}

void
loom_op_put_drawn (LoomLower *ctx, LoomValue y)
{
  loom_lower_output (ctx, 0,
                     loom_cast (loom_lower_program (ctx), y,
                                loom_op_dtype (ctx, loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype)));
}

void
loom_op_lower_drawn (LoomLower *ctx, LoomRandomKind kind)
{
  loom_op_put_drawn (ctx, loom_op_draw (ctx, kind));
}

/* ---- distributions ------------------------------------------------------ */

/* The number of ports that are parameters: "like" is the last port. */
static guint
n_parameters (const LoomOp *op)
{
  guint n = 0;

  while (op->inputs[n + 1].name != NULL)
    n++;
  return n;
}

/* FALSE after a fault. Type and shape of the wired parameters; dtype is unchanged if none is wired. */
static gboolean
join_parameters (LoomInfer *ctx, LoomDType *dtype, LoomShape *shape, guint *n_wired)
{
  const LoomOp *op = loom_infer_op (ctx);

  for (guint i = 0; i < n_parameters (op); i++)
    {
      const LoomType *t = loom_infer_input (ctx, i);
      const char *name = op->inputs[i].name;
      LoomShape both;

      if (t == NULL)
        continue;
      if (loom_infer_is_set (ctx, name))
        {
          loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_PORT, name,
                                                "%s is wired and also given as a number; use only one of them.", name),
                              name, NULL, "Remove the number.");
          return FALSE;
        }
      if (!loom_op_needs_float (ctx, i, name, NULL))
        return FALSE;
      if (!loom_shape_broadcast (shape, &t->shape, &both))
        {
          g_autofree char *a = loom_shape_to_string (shape), *b = loom_shape_to_string (&t->shape);

          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, name,
                            "%s of %s does not broadcast with %s: counted from the right, each pair of sizes must be "
                            "equal or one of them 1.",
                            name, b, a);
          return FALSE;
        }
      *shape = both;
      *dtype = *n_wired == 0 ? t->dtype : loom_op_promote (*dtype, t->dtype);
      ++*n_wired;
    }
  return TRUE;
}

void
loom_op_infer_distribution (LoomInfer *ctx)
{
  const LoomType *like = loom_infer_input (ctx, n_parameters (loom_infer_op (ctx)));
  LoomDType dtype = like != NULL && loom_dtype_is_float (like->dtype) ? like->dtype : LOOM_F32;
  LoomShape shape = { 0 }, given = like != NULL ? like->shape : loom_infer_shape (ctx, "shape");
  gboolean is_given = like != NULL || loom_infer_is_set (ctx, "shape");
  guint n_wired = 0;

  if (like != NULL && loom_infer_is_set (ctx, "shape"))
    {
      loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "shape",
                                            "The shape is given and also wired as “like”; use only one of them."),
                          "shape", NULL, "Remove the attribute.");
      return;
    }
  if (!join_parameters (ctx, &dtype, &shape, &n_wired))
    return;
  if (is_given)
    {
      LoomShape both;

      if (!loom_shape_broadcast (&shape, &given, &both) || !loom_shape_compatible (&given, &both))
        {
          g_autofree char *a = loom_shape_to_string (&shape), *b = loom_shape_to_string (&given);

          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "shape", "Parameters of shape %s do not broadcast to shape %s.", a,
                            b);
          return;
        }
      shape = given;
    }
  loom_infer_output (ctx, 0, dtype, &shape);
}

LoomValue
loom_op_distribution_parameter (LoomLower *ctx, guint i, double usual)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  const char *name = loom_infer_op (infer)->inputs[i].name;
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (infer, 0)->dtype);
  LoomValue v = loom_lower_input (ctx, i);

  if (v != 0)
    return loom_cast (p, v, dtype);
  return loom_const (p, dtype, loom_infer_is_set (infer, name) ? loom_infer_float (infer, name) : usual);
}

LoomValue
loom_op_not_negative (LoomLower *ctx, LoomValue v, const char *what)
{
  LoomProgram *p = loom_lower_program (ctx);
  double value;

  /* A number in an attribute has been checked together with the others. */
  if (loom_value_is_fill (p, v, &value))
    return v;
  return loom_require (
      p, v, loom_unary (p, LOOM_SCALAR_NOT, loom_binary (p, LOOM_SCALAR_LT, v, loom_op_const_like (ctx, v, 0))), what);
}
