/* Lowers padding along one axis, in each mode of PyTorch.
 *
 * Padding with a constant is one primitive. The other modes copy elements of the input, so they concatenate slices
 * of the axis and inherit their gradients. Padding several axes one after another is equal to padding all at once,
 * corners included. */
#include "engine/ops/op-private.h"

/* n elements of v along the axis, from `at` on with a step of 1 or -1. */
static LoomValue
walk (LoomProgram *p, LoomValue v, int axis, gint64 at, gint64 n, gint64 by)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc;
  gint64 start[LOOM_MAX_RANK] = { 0 }, step[LOOM_MAX_RANK];

  for (int i = 0; i < d.rank; i++)
    step[i] = 1;
  start[axis] = at;
  step[axis] = by;
  d.dim[axis] = n;
  return loom_slice (p, v, start, step, d.dim);
}

static LoomValue
piece (LoomProgram *p, LoomValue v, int axis, gint64 at, gint64 n)
{
  return walk (p, v, axis, at, n, 1);
}

/* The element at `at`, n times. */
static LoomValue
repeated (LoomProgram *p, LoomValue v, int axis, gint64 at, gint64 n)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc;

  d.dim[axis] = n;
  return loom_expand_to (p, piece (p, v, axis, at, 1), d.rank, d.dim);
}

/* The padding on one side of the axis: n elements before the first or after the last. */
static LoomValue
side (LoomProgram *p, LoomValue v, int axis, gint64 n, gboolean is_after, const char *mode)
{
  gint64 size = loom_value_info (p, v)->desc.dim[axis];

  if (g_str_equal (mode, "replicate"))
    return repeated (p, v, axis, is_after ? size - 1 : 0, n);
  if (g_str_equal (mode, "circular"))
    return piece (p, v, axis, is_after ? 0 : size - n, n);
  /* Reflected at the edge, which is not repeated: elements n … 1 before, size - 2 … size - 1 - n after. */
  return walk (p, v, axis, is_after ? size - 2 : n, n, -1);
}

LoomValue
loom_op_pad_value (LoomProgram *p, LoomValue v, int axis, gint64 front, gint64 back, const char *mode, double value)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc;
  gint64 start[LOOM_MAX_RANK] = { 0 };
  LoomValue part[3];
  guint n = 0;

  if (front < 0 || back < 0)
    {
      v = piece (p, v, axis, MAX (-front, 0), d.dim[axis] + MIN (front, 0) + MIN (back, 0));
      front = MAX (front, 0);
      back = MAX (back, 0);
      d = loom_value_info (p, v)->desc;
    }
  if (front == 0 && back == 0)
    return v;
  if (g_str_equal (mode, "constant") || g_str_equal (mode, "zeros"))
    {
      start[axis] = front;
      d.dim[axis] += front + back;
      return loom_pad (p, v, start, NULL, d.dim, value);
    }
  if (front > 0)
    part[n++] = side (p, v, axis, front, FALSE, mode);
  part[n++] = v;
  if (back > 0)
    part[n++] = side (p, v, axis, back, TRUE, mode);
  return loom_concat (p, n, part, axis);
}

gboolean
loom_op_pad_fits (LoomDim size, gint64 front, gint64 back, const char *mode)
{
  gint64 most = MAX (front, back);

  if (!loom_dim_is_known (size) || most <= 0)
    return TRUE;
  if (g_str_equal (mode, "reflect"))
    return most < size.coef;
  if (g_str_equal (mode, "circular"))
    return most <= size.coef;
  return !g_str_equal (mode, "replicate") || size.coef > 0;
}
