/* Implements the rules that many operators share; see op-private.h. */
#include "engine/ops/op-private.h"

#include <inttypes.h>

const LoomPortSpec loom_op_port_input[] = { { "input", "A tensor of any shape." }, { NULL } };
const LoomPortSpec loom_op_port_out[] = { { "out", "The result." }, { NULL } };
const char *const loom_op_reductions[] = { "mean", "sum", "none", NULL };

/* ---- inference -------------------------------------------------------- */

gboolean
loom_op_needs_float (LoomInfer *ctx, guint i, const char *port, const char *why)
{
  const LoomType *t = loom_infer_input (ctx, i);

  if (loom_dtype_is_float (t->dtype))
    return TRUE;
  loom_infer_fault (ctx, LOOM_ERROR_DTYPE, port, "%s %s%sneeds floats, but got integers (%s).",
                    loom_infer_op (ctx)->name, why != NULL ? why : "", why != NULL ? " and " : "",
                    loom_dtype_name (t->dtype));
  return FALSE;
}

gboolean
loom_op_needs_weight_type (LoomInfer *ctx, guint i, const char *port)
{
  LoomDType dtype = loom_infer_input (ctx, i)->dtype;

  if (!loom_op_needs_float (ctx, i, port, "multiplies by weights"))
    return FALSE;
  if (dtype == LOOM_F32)
    return TRUE;
  loom_infer_fault (ctx, LOOM_ERROR_DTYPE, port,
                    "%s multiplies by weights, which are f32, but got %s. Put a cast to f32 before it; to compute in "
                    "another type give the node dtype=\"…\", or precision=\"…\" to <train>.",
                    loom_infer_op (ctx)->name, loom_dtype_name (dtype));
  return FALSE;
}

LoomDType
loom_op_promote (LoomDType a, LoomDType b)
{
  if (MIN (a, b) == LOOM_F16 && MAX (a, b) == LOOM_BF16)
    return LOOM_F32;
  return MIN (a, b);
}

int
loom_op_axis_of (gint64 dim, int rank)
{
  return (int)(dim < 0 ? dim + rank : dim);
}

gboolean
loom_op_axis (LoomInfer *ctx, const char *name, gint64 dim, int rank, int *axis)
{
  /* As in PyTorch, dimension 0 or -1 of a scalar is accepted. */
  int room = MAX (rank, 1);

  if (dim < -room || dim >= room)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, name,
                        "There is no dimension %" PRId64 ": a tensor of %d dimensions has %d to %d.", dim, rank, -room,
                        room - 1);
      return FALSE;
    }
  *axis = loom_op_axis_of (dim, room);
  return TRUE;
}

gboolean
loom_op_axes (LoomInfer *ctx, const char *name, int rank, guint32 *axes)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  guint n = loom_infer_is_set (ctx, name) ? loom_infer_ints (ctx, name, dims, G_N_ELEMENTS (dims)) : 0;

  *axes = n == 0 ? (1u << rank) - 1 : 0;
  for (guint i = 0; i < n; i++)
    {
      int axis;

      if (!loom_op_axis (ctx, name, dims[i], rank, &axis))
        return FALSE;
      if (*axes >> axis & 1)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, name, "Dimension %d is named twice.", axis);
          return FALSE;
        }
      if (rank > 0)
        *axes |= 1u << axis;
    }
  return TRUE;
}

guint32
loom_op_axes_of (const LoomInfer *ctx, const char *name, int rank)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  guint n = loom_infer_is_set (ctx, name) ? loom_infer_ints (ctx, name, dims, G_N_ELEMENTS (dims)) : 0;
  guint32 axes = 0;

  if (n == 0)
    return (1u << rank) - 1;
  for (guint i = 0; rank > 0 && i < n; i++)
    axes |= 1u << loom_op_axis_of (dims[i], rank);
  return axes;
}

LoomShape
loom_op_reduced_shape (const LoomShape *shape, guint32 axes, gboolean keepdim)
{
  LoomShape out = { 0 };

  for (int i = 0; i < shape->rank; i++)
    {
      if ((axes >> i & 1) == 0)
        out.dim[out.rank++] = shape->dim[i];
      else if (keepdim)
        out.dim[out.rank++] = loom_dim (1);
    }
  return out;
}

gboolean
loom_op_rank (LoomInfer *ctx, guint i, const char *port, int minimum, int maximum, const char *what, const char *hint)
{
  const LoomType *t = loom_infer_input (ctx, i);
  g_autofree char *shape = NULL;

  if (t->shape.rank >= minimum && t->shape.rank <= maximum)
    return TRUE;
  shape = loom_shape_to_string (&t->shape);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port, "%s needs %s, but got %s. %s", loom_infer_op (ctx)->name, what, shape,
                    hint);
  return FALSE;
}

gboolean
loom_op_plain_dim (LoomInfer *ctx, LoomDim d, const char *what, gint64 *value)
{
  LoomShape one = { .rank = 1, .dim = { d } };
  g_autofree char *text = NULL;

  if (loom_dim_is_known (d))
    {
      *value = d.coef;
      return TRUE;
    }
  text = loom_shape_to_string (&one);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "input",
                    "%s has weights for %s, so this size must be a fixed number; here it is %s.",
                    loom_infer_op (ctx)->name, what, loom_dim_is_unknown (d) ? "not known yet" : text);
  return FALSE;
}

/* ---- lowering --------------------------------------------------------- */

LoomDType
loom_op_dtype (LoomLower *ctx, LoomDType dtype)
{
  return dtype == LOOM_F32 ? loom_program_get_float (loom_lower_program (ctx)) : dtype;
}

LoomTensorDesc
loom_op_desc (LoomLower *ctx, LoomValue v)
{
  return loom_value_info (loom_lower_program (ctx), v)->desc;
}

int
loom_op_output_dims (LoomLower *ctx, guint i, gint64 *dims)
{
  const LoomType *t = loom_infer_get_output (loom_lower_infer (ctx), i);

  loom_shape_get (&t->shape, dims);
  return t->shape.rank;
}

void
loom_op_lower_same (LoomLower *ctx)
{
  loom_lower_output (ctx, 0, loom_lower_input (ctx, 0));
}

void
loom_op_lower_reshape (LoomLower *ctx)
{
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  loom_lower_output (ctx, 0, loom_reshape (loom_lower_program (ctx), loom_lower_input (ctx, 0), rank, dims));
}

LoomValue
loom_op_const_like (LoomLower *ctx, LoomValue v, double value)
{
  return loom_const (loom_lower_program (ctx), loom_op_desc (ctx, v).dtype, value);
}

/* ---- cost ------------------------------------------------------------- */

static double
count_of (const LoomType *t)
{
  LoomDim n;

  if (t == NULL)
    return 0;
  n = loom_shape_count (&t->shape);
  return loom_dim_is_known (n) ? (double)n.coef : 0;
}

double
loom_op_output_count (const LoomInfer *ctx, guint i)
{
  return count_of (loom_infer_get_output (ctx, i));
}

double
loom_op_input_count (const LoomInfer *ctx, guint i)
{
  return count_of (loom_infer_input (ctx, i));
}

void
loom_op_infer_module (LoomInfer *ctx)
{
}

void
loom_op_lower_module (LoomLower *ctx)
{
}

double
loom_op_no_flops (const LoomInfer *ctx)
{
  return 0;
}

double
loom_op_input_flops (const LoomInfer *ctx)
{
  return loom_op_input_count (ctx, 0);
}
