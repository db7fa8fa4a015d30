/* Exports the primitives that permute, slice, expand and create tensors. */
#include "engine/onnx/onnx-export-prim.h"

#define IN(i)         onnx_prim_in (q, i)
#define CALL(op, ...) onnx_call (q->all, op, ONNX_VARS (__VA_ARGS__))

/* ---- the same numbers in another order ------------------------------------ */

static gboolean
write_reshape (OnnxPrim *q)
{
  LoomValue in = q->instr[0]->in[0], out = q->instr[0]->out[0];
  const LoomTensorDesc *from = onnx_prim_in_desc (q, 0), *to = onnx_prim_out_desc (q, 0);
  gboolean same = from->rank == to->rank;
  OnnxSize sizes[LOOM_MAX_RANK];

  for (guint k = 0; k < q->n; k++)
    for (int i = 0; same && i < from->rank; i++)
      same = loom_value_info (q->p[k], in)->desc.dim[i] == loom_value_info (q->p[k], out)->desc.dim[i];
  if (same)
    {
      onnx_prim_out (q, 0, IN (0));
      return TRUE;
    }
  for (int i = 0; i < to->rank; i++)
    sizes[i] = onnx_prim_dim (q, out, i);
  OnnxVar *y = onnx_to_shape (q->all, IN (0), (guint)to->rank, sizes);
  if (y == NULL)
    y = onnx_prim_sizes_var (q, (guint)to->rank, sizes); /* it has reported the reason */
  onnx_prim_out (q, 0, y);
  return y != NULL;
}

ONNX_PRIM (reshape, write_reshape)

static gboolean
write_same (OnnxPrim *q)
{
  onnx_prim_out (q, 0, IN (0));
  return TRUE;
}

ONNX_PRIM (detach, write_same)
ONNX_PRIM (custom_gradient, write_same) /* it changes only the backward pass */
ONNX_PRIM (require, write_same)         /* ONNX has no errors of its own */

static gboolean
write_permute (OnnxPrim *q)
{
  const LoomPermuteAttrs *a = q->instr[0]->attrs;
  guint rank = (guint)onnx_prim_in_desc (q, 0)->rank;
  gint64 order[LOOM_MAX_RANK];

  for (guint i = 0; i < rank; i++)
    order[i] = a->perm[i];
  onnx_prim_out (q, 0, onnx_transpose (q->all, IN (0), rank, order));
  return TRUE;
}

ONNX_PRIM (permute, write_permute)

/* If the result has no elements it is a new tensor, because onnxruntime expands 1 to 1 then and not to 0. */
static gboolean
write_expand (OnnxPrim *q)
{
  const LoomTensorDesc *d = onnx_prim_out_desc (q, 0);
  OnnxVar *shape = onnx_prim_shape_var (q, q->instr[0]->out[0]);

  if (shape == NULL)
    return FALSE;
  if (loom_desc_count (d) == 0)
    onnx_prim_out (q, 0, onnx_to_type (q->all, CALL ("ConstantOfShape", shape), LOOM_F32, d->dtype));
  else
    onnx_prim_out (q, 0, CALL ("Expand", IN (0), shape));
  return TRUE;
}

ONNX_PRIM (expand, write_expand)

static gboolean
write_concat (OnnxPrim *q)
{
  const LoomConcatAttrs *a = q->instr[0]->attrs;
  g_autofree OnnxVar **in = g_new0 (OnnxVar *, q->instr[0]->n_in + 1);

  for (guint i = 0; i < q->instr[0]->n_in; i++)
    in[i] = IN (i);
  OnnxOutNode *node = onnx_add_node (q->all, "Concat", q->instr[0]->n_in, in);
  onnx_node_set_int (q->all, node, "axis", a->axis);
  onnx_prim_out (q, 0, onnx_node_result (q->all, node, 0));
  return TRUE;
}

ONNX_PRIM (concat, write_concat)

static gboolean
write_copy (OnnxPrim *q)
{
  onnx_prim_out (q, 0,
                 onnx_to_type (q->all, IN (0), onnx_prim_in_desc (q, 0)->dtype, onnx_prim_out_desc (q, 0)->dtype));
  return TRUE;
}

ONNX_PRIM (copy, write_copy)

/* ---- cutting and padding --------------------------------------------------- */

/* A number is that of the first binding if it is the same in all. */
static gboolean
all_same (OnnxPrim *q, const gint64 *number)
{
  for (guint k = 1; k < q->n; k++)
    if (number[k] != number[0])
      return FALSE;
  return TRUE;
}

/* Finds the beginning and end, in ONNX's notation, of a slice along an axis; "to the end" if it reaches the end, so
 * that a dynamic size need not be looked up. FALSE: the slice covers the axis. */
static gboolean
cut_of (OnnxPrim *q, int axis, OnnxSize *start, OnnxSize *end, OnnxSize *step)
{
  gint64 first[ONNX_BINDINGS] = { 0 }, last[ONNX_BINDINGS] = { 0 }, by[ONNX_BINDINGS] = { 0 };
  gboolean to_end = TRUE, to_begin = TRUE, from_end = TRUE, whole = TRUE;

  for (guint k = 0; k < q->n; k++)
    {
      by[k] = onnx_prim_int (q, k, G_STRUCT_OFFSET (LoomSliceTo, kernel.step) + (gsize)axis * sizeof (gint64));
      gint64 n = loom_value_info (q->p[k], q->instr[k]->in[0])->desc.dim[axis];
      gint64 count = onnx_prim_int (q, k, G_STRUCT_OFFSET (LoomSliceTo, to.dim) + (gsize)axis * sizeof (gint64));
      first[k] = onnx_prim_int (q, k, G_STRUCT_OFFSET (LoomSliceTo, kernel.start) + (gsize)axis * sizeof (gint64));
      last[k] = first[k] + count * by[k];
      to_end = to_end && last[k] >= n;
      to_begin = to_begin && last[k] < 0;
      from_end = from_end && first[k] == n - 1;
      whole = whole && by[k] == 1 && first[k] == 0 && count == n;
    }
  if (whole)
    return FALSE;
  *start = from_end && by[0] < 0 && !all_same (q, first) ? (OnnxSize){ .known = TRUE, .add = -1 }
                                                         : onnx_prim_size (q, first);
  *step = onnx_prim_size (q, by);
  if (by[0] > 0 && to_end)
    *end = (OnnxSize){ .known = TRUE, .add = G_MAXINT64 };
  else if (by[0] < 0 && to_begin)
    *end = (OnnxSize){ .known = TRUE, .add = G_MININT64 };
  else
    *end = onnx_prim_size (q, last);
  return TRUE;
}

static gboolean
write_slice (OnnxPrim *q)
{
  OnnxSize start[LOOM_MAX_RANK], end[LOOM_MAX_RANK], step[LOOM_MAX_RANK];
  gint64 axis[LOOM_MAX_RANK];
  guint n = 0;

  for (int i = 0; i < onnx_prim_in_desc (q, 0)->rank; i++)
    if (cut_of (q, i, &start[n], &end[n], &step[n]))
      axis[n++] = i;
  if (n == 0)
    return write_same (q);
  OnnxVar *from = onnx_prim_sizes_var (q, n, start), *to = from != NULL ? onnx_prim_sizes_var (q, n, end) : NULL;
  OnnxVar *by = to != NULL ? onnx_prim_sizes_var (q, n, step) : NULL;
  if (by != NULL)
    onnx_prim_out (q, 0, CALL ("Slice", IN (0), from, to, onnx_ints_var (q->all, n, axis), by));
  return by != NULL;
}

ONNX_PRIM (slice, write_slice)

static gint64
pad_step (OnnxPrim *q, guint binding, int axis)
{
  return ((const LoomPadTo *)q->instr[binding]->attrs)->kernel.step[axis];
}

/* Spreads elements: [n] becomes [n, 1], [n, step] and [n·step], of which the last step - 1 zeros are removed. */
static OnnxVar *
spread (OnnxPrim *q, OnnxVar *x, int axis, OnnxVar *value)
{
  int rank = onnx_prim_in_desc (q, 0)->rank;
  gint64 at = axis + 1, number[ONNX_BINDINGS] = { 0 };
  OnnxSize sizes[LOOM_MAX_RANK], pads[2 * LOOM_MAX_RANK + 2], cut;

  for (int i = 0; i < 2 * (rank + 1); i++)
    pads[i] = (OnnxSize){ .known = TRUE };
  for (guint k = 0; k < q->n; k++)
    number[k] = pad_step (q, k, axis) - 1;
  pads[rank + 1 + axis + 1] = onnx_prim_size (q, number);
  for (guint k = 0; k < q->n; k++)
    number[k] = -number[k];
  cut = onnx_prim_size (q, number);
  for (int i = 0; i < rank; i++)
    {
      for (guint k = 0; k < q->n; k++)
        {
          gint64 count = loom_value_info (q->p[k], q->instr[k]->in[0])->desc.dim[i], step = pad_step (q, k, i);
          /* Axes before this one are spread already. */
          number[k] = i == axis ? count * step : i < axis && count > 0 ? (count - 1) * step + 1 : count;
        }
      sizes[i] = onnx_prim_size (q, number);
    }
  OnnxVar *padding = onnx_prim_sizes_var (q, 2 * (guint)(rank + 1), pads);
  OnnxVar *end = padding != NULL ? onnx_prim_sizes_var (q, 1, &cut) : NULL;
  x = end != NULL ? CALL ("Pad", onnx_with_axes (q->all, "Unsqueeze", x, 1, &at), padding, value) : NULL;
  x = x != NULL ? onnx_to_shape (q->all, x, (guint)rank, sizes) : NULL;
  return x != NULL ? CALL ("Slice", x, onnx_ints_var (q->all, 1, (gint64[]){ 0 }), end,
                           onnx_ints_var (q->all, 1, (gint64[]){ axis }))
                   : NULL;
}

static gboolean
write_pad (OnnxPrim *q)
{
  const LoomPadTo *a = q->instr[0]->attrs;
  LoomDType dtype = onnx_prim_in_desc (q, 0)->dtype, type = dtype;
  int rank = onnx_prim_in_desc (q, 0)->rank;
  OnnxSize pads[2 * LOOM_MAX_RANK];
  OnnxVar *x = IN (0), *value, *sizes;

  if (type == LOOM_BOOL || type == LOOM_U8 || type == LOOM_BF16 || type == LOOM_F16)
    type = onnx_prim_compute_type (dtype);
  x = onnx_to_type (q->all, x, dtype, type);
  value = onnx_number_var (q->all, type, a->kernel.value);
  for (int i = 0; x != NULL && i < rank; i++)
    if (a->kernel.step[i] > 1)
      x = spread (q, x, i, value);
  for (int i = 0; x != NULL && i < rank; i++)
    {
      gint64 begin[ONNX_BINDINGS] = { 0 }, end[ONNX_BINDINGS] = { 0 };
      for (guint k = 0; k < q->n; k++)
        {
          const LoomPadTo *b = q->instr[k]->attrs;
          gint64 n = loom_value_info (q->p[k], q->instr[k]->in[0])->desc.dim[i];
          if (b->kernel.step[i] < 1)
            return FALSE;
          begin[k] = b->kernel.start[i];
          end[k] = b->to.dim[i] - begin[k] - (n > 0 ? (n - 1) * b->kernel.step[i] + 1 : 0);
        }
      pads[i] = onnx_prim_size (q, begin);
      pads[rank + i] = onnx_prim_size (q, end);
    }
  sizes = x != NULL ? onnx_prim_sizes_var (q, 2 * (guint)rank, pads) : NULL;
  if (sizes != NULL)
    onnx_prim_out (q, 0, onnx_to_type (q->all, CALL ("Pad", x, sizes, value), type, dtype));
  return sizes != NULL;
}

ONNX_PRIM (pad, write_pad)

/* ---- generated numbers ----------------------------------------------------- */

static gboolean
write_fill (OnnxPrim *q)
{
  const LoomTensorDesc *d = onnx_prim_out_desc (q, 0);
  double number[ONNX_BINDINGS] = { 0 };
  OnnxVar *value, *shape;

  for (guint k = 0; k < q->n; k++)
    number[k] = ((const LoomFillTo *)q->instr[k]->attrs)->kernel.value;
  value = onnx_prim_number (q, d->dtype, number);
  if (value == NULL || d->rank == 0)
    {
      onnx_prim_out (q, 0, value);
      return value != NULL;
    }
  shape = onnx_prim_shape_var (q, q->instr[0]->out[0]);
  if (shape != NULL)
    onnx_prim_out (q, 0, CALL ("Expand", value, shape));
  return shape != NULL;
}

ONNX_PRIM (fill, write_fill)

/* start + i · step along an axis of known length is a constant; otherwise the model counts, in integers. */
static gboolean
write_iota (OnnxPrim *q)
{
  const LoomIotaTo *a = q->instr[0]->attrs;
  const LoomTensorDesc *d = onnx_prim_out_desc (q, 0);
  int axis = a->kernel.axis;
  OnnxSize length = onnx_prim_dim (q, q->instr[0]->out[0], axis), line[LOOM_MAX_RANK];
  double start[ONNX_BINDINGS] = { 0 }, step[ONNX_BINDINGS] = { 0 };
  OnnxVar *v, *shape;
  gboolean is_line = TRUE, same = TRUE;

  for (guint k = 0; k < q->n; k++)
    {
      start[k] = ((const LoomIotaTo *)q->instr[k]->attrs)->kernel.start;
      step[k] = ((const LoomIotaTo *)q->instr[k]->attrs)->kernel.step;
      same = same && start[k] == start[0] && step[k] == step[0];
      for (int i = 0; i < d->rank; i++)
        is_line = is_line && (i == axis || loom_value_info (q->p[k], q->instr[k]->out[0])->desc.dim[i] == 1);
    }
  for (int i = 0; i < d->rank; i++)
    line[i] = i == axis ? length : (OnnxSize){ .known = TRUE, .add = 1 };
  if (same && onnx_size_is (&length, d->dim[axis]))
    {
      gint64 dims[LOOM_MAX_RANK];
      for (int i = 0; i < d->rank; i++)
        dims[i] = i == axis ? d->dim[axis] : 1;
      g_autoptr (LoomTensor) t = loom_tensor_new (d->dtype, d->rank, dims, NULL);
      g_autofree char *name = g_strdup_printf ("%s/range", q->all->path);
      if (t == NULL)
        return FALSE;
      for (gint64 i = 0; i < t->count; i++)
        loom_tensor_set (t, i, start[0] + (double)i * step[0]);
      v = onnx_tensor_var (q->all, t, name);
    }
  else
    {
      LoomDType type = onnx_prim_compute_type (d->dtype);
      gint64 zero = 0;
      OnnxVar *count = onnx_prim_sizes_var (q, 1, &length), *from, *by;
      if (count == NULL)
        return FALSE;
      count = onnx_with_axes (q->all, "Squeeze", count, 1, &zero);
      v = CALL ("Range", onnx_number_var (q->all, LOOM_I64, 0), count, onnx_number_var (q->all, LOOM_I64, 1));
      v = onnx_to_type (q->all, v, LOOM_I64, type);
      by = same && step[0] == 1 ? NULL : onnx_prim_number (q, type, step);
      from = same && start[0] == 0 ? NULL : onnx_prim_number (q, type, start);
      if (q->w->failed)
        return FALSE;
      v = by != NULL ? CALL ("Mul", v, by) : v;
      v = from != NULL ? CALL ("Add", v, from) : v;
      v = onnx_to_type (q->all, v, type, d->dtype);
      v = d->rank == 1 ? v : onnx_to_shape (q->all, v, (guint)d->rank, line);
    }
  if (v != NULL && !is_line)
    {
      shape = onnx_prim_shape_var (q, q->instr[0]->out[0]);
      v = shape != NULL ? CALL ("Expand", v, shape) : NULL;
    }
  onnx_prim_out (q, 0, v);
  return v != NULL;
}

ONNX_PRIM (iota, write_iota)

/* The same distribution from ONNX's generator, with other numbers in each run. */
static gboolean
write_random (OnnxPrim *q)
{
  const LoomRandomTo *a = q->instr[0]->attrs;
  const LoomTensorDesc *d = onnx_prim_out_desc (q, 0);
  OnnxVar *shape = onnx_prim_shape_var (q, q->instr[0]->out[0]);

  if (shape == NULL)
    return FALSE;
  gboolean whole = d->dtype == LOOM_I64, normal = !whole && a->kernel.kind == LOOM_RANDOM_NORMAL;
  LoomDType type = whole ? LOOM_F64 : d->dtype;
  OnnxVar *like = CALL ("Expand", onnx_number_var (q->all, type, 0), shape);
  OnnxVar *y = onnx_node_result (
      q->all, onnx_add_node (q->all, normal ? "RandomNormalLike" : "RandomUniformLike", ONNX_VARS (like)), 0);

  /* ONNX draws only floats: 53 bits of a float make an integer, and the logarithm of a float is exponential. */
  if (whole)
    y = onnx_to_type (q->all, CALL ("Mul", y, onnx_number_var (q->all, type, 9007199254740992.0)), type, LOOM_I64);
  else if (a->kernel.kind == LOOM_RANDOM_EXPONENTIAL)
    y = CALL ("Neg", CALL ("Log", CALL ("Sub", onnx_number_var (q->all, type, 1), y)));
  onnx_prim_out (q, 0, y);
  return TRUE;
}

ONNX_PRIM (random, write_random)
