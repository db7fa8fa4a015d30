/* Folds operators that rearrange elements without computing: reshape, slice, gather, transpose, concatenate. */
#include "engine/onnx/onnx-fold.h"

#include <string.h>

#include "engine/onnx/onnx-constant.h"

/* ---- parts ------------------------------------------------------------ */

gint64
fold_attr_int (const Fold *f, const char *name, gint64 def)
{
  const Onnx__AttributeProto *a = onnx_attribute (f->node, name);

  return a != NULL ? a->i : def;
}

LoomTensor *
fold_make (LoomDType dtype, int rank, const gint64 *dims)
{
  gint64 count = 1;

  if (rank < 0 || rank > LOOM_SHAPE_MAX_RANK)
    return NULL;
  for (int i = 0; i < rank; i++)
    {
      if (dims[i] < 0 || dims[i] > FOLD_MAX_RESULT)
        return NULL;
      count *= dims[i];
      if (count > FOLD_MAX_RESULT)
        return NULL;
    }
  return loom_tensor_new (dtype, rank, dims, NULL);
}

void
fold_copy_element (LoomTensor *to, gint64 at, const LoomTensor *from, gint64 i)
{
  gsize size = loom_dtype_size (from->dtype);

  memcpy ((char *)to->data + at * size, (const char *)from->data + i * size, size);
}

void
fold_set_integer (const Fold *f, LoomTensor *t, gint64 at, gint64 value)
{
  const int type = t->dtype == LOOM_I32  ? ONNX__TENSOR_PROTO__DATA_TYPE__INT32
                   : t->dtype == LOOM_U8 ? ONNX__TENSOR_PROTO__DATA_TYPE__UINT8
                                         : f->elem_type;
  gint64 least, most;

  if (onnx_type_range (type, &least, &most))
    value = (gint64)(((guint64)value - (guint64)least) & (guint64)(most - least)) + least;
  if (t->dtype == LOOM_I64)
    ((gint64 *)t->data)[at] = value;
  else
    loom_tensor_set (t, at, (double)value);
}

static LoomTensor *
same_elements (const LoomTensor *x, int rank, const gint64 *dims)
{
  LoomTensor *y = fold_make (x->dtype, rank, dims);

  if (y != NULL && y->count == x->count && y->bytes > 0)
    memcpy (y->data, x->data, y->bytes);
  else if (y != NULL && y->count != x->count)
    g_clear_pointer (&y, loom_tensor_unref);
  return y;
}

int
fold_ints (const Fold *f, const char *name, guint input, gint64 values[LOOM_SHAPE_MAX_RANK])
{
  const Onnx__AttributeProto *a = onnx_attribute (f->node, name);
  gint64 n = -1;

  if (a != NULL)
    n = (gint64)a->n_ints;
  else if (input < f->n && f->in[input] != NULL)
    n = f->in[input]->count;
  for (gint64 i = 0; i < MIN (n, LOOM_SHAPE_MAX_RANK); i++)
    values[i] = a != NULL ? a->ints[i] : onnx_tensor_int (f->in[input], i);
  return n > LOOM_SHAPE_MAX_RANK ? -1 : (int)n;
}

/* ---- the same elements ------------------------------------------------ */

LoomTensor *
fold_identity (const Fold *f)
{
  return f->in[0] != NULL ? same_elements (f->in[0], f->in[0]->rank, f->in[0]->dim) : NULL;
}

LoomTensor *
fold_unsqueeze (const Fold *f)
{
  gint64 axes[LOOM_SHAPE_MAX_RANK], dims[LOOM_SHAPE_MAX_RANK];
  int n = fold_ints (f, "axes", 1, axes), rank = f->in[0]->rank + n, from = 0;
  gboolean is_new[LOOM_SHAPE_MAX_RANK] = { FALSE };

  if (n < 0 || rank > LOOM_SHAPE_MAX_RANK)
    return NULL;
  for (int i = 0; i < n; i++)
    {
      gint64 axis = axes[i] < 0 ? axes[i] + rank : axes[i];
      if (axis < 0 || axis >= rank || is_new[axis])
        return NULL;
      is_new[axis] = TRUE;
    }
  for (int i = 0; i < rank; i++)
    dims[i] = is_new[i] ? 1 : f->in[0]->dim[from++];
  return same_elements (f->in[0], rank, dims);
}

LoomTensor *
fold_squeeze (const Fold *f)
{
  gint64 axes[LOOM_SHAPE_MAX_RANK], dims[LOOM_SHAPE_MAX_RANK];
  const LoomTensor *x = f->in[0];
  int n = fold_ints (f, "axes", 1, axes), rank = 0;

  for (int i = 0; i < x->rank; i++)
    {
      gboolean drop = n < 0 && x->dim[i] == 1;
      for (int k = 0; k < n; k++)
        drop = drop || (axes[k] < 0 ? axes[k] + x->rank : axes[k]) == i;
      if (!drop)
        dims[rank++] = x->dim[i];
    }
  return same_elements (x, rank, dims);
}

LoomTensor *
fold_reshape (const Fold *f)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK], count = 1;
  const LoomTensor *x = f->in[0];
  int n = fold_ints (f, "shape", 1, dims), dynamic = -1;

  for (int i = 0; i < n; i++)
    {
      if (dims[i] == 0 && i < x->rank)
        dims[i] = x->dim[i];
      if (dims[i] < 0)
        dynamic = i;
      else if (dims[i] > FOLD_MAX_RESULT || (count *= dims[i]) > FOLD_MAX_RESULT)
        return NULL;
    }
  if (dynamic >= 0)
    dims[dynamic] = count > 0 ? x->count / count : 0;
  return n < 0 ? NULL : same_elements (x, n, dims);
}

/* Cast and CastLike: the type of the latter's second input, which need not be a constant. */
LoomTensor *
fold_cast (const Fold *f)
{
  const OnnxValue *like = f->node->n_input > 1 ? onnx_value_of (f->all, f->node->input[1]) : NULL;
  LoomTensor *y;
  LoomDType dtype;

  if (f->elem_type == 0 && like != NULL && (like->constant != NULL || like->wire != NULL))
    dtype = like->constant != NULL ? like->constant->dtype : like->wire->type.dtype;
  else if (!onnx_dtype (f->elem_type, &dtype) || onnx_is_small_float (f->elem_type))
    return NULL;
  /* A dynamic size stays a 64-bit number, even if the model converts it to 32 bits. */
  if (onnx_has_dynamic (f->all, f->in[0]))
    dtype = dtype == LOOM_I32 ? LOOM_I64 : dtype;
  if (dtype != LOOM_I64 && onnx_has_dynamic (f->all, f->in[0]))
    return NULL;
  /* An integer that does not fit keeps its lower bits. */
  if (loom_dtype_is_float (dtype) || dtype == LOOM_BOOL || loom_dtype_is_float (f->in[0]->dtype)
      || onnx_has_dynamic (f->all, f->in[0]))
    return loom_tensor_convert (f->in[0], dtype, FALSE, NULL);
  y = fold_make (dtype, f->in[0]->rank, f->in[0]->dim);
  for (gint64 i = 0; y != NULL && i < y->count; i++)
    fold_set_integer (f, y, i, onnx_tensor_int (f->in[0], i));
  return y;
}

/* ---- selecting and joining ---------------------------------------------------- */

LoomTensor *
fold_gather (const Fold *f)
{
  const LoomTensor *x = f->in[0], *index = f->n > 1 ? f->in[1] : NULL;
  gint64 axis = fold_attr_int (f, "axis", 0);

  /* Only lists, because shapes are lists. */
  if (index == NULL || x->rank != 1 || (axis != 0 && axis != -1))
    return NULL;
  LoomTensor *y = fold_make (x->dtype, index->rank, index->dim);
  for (gint64 i = 0; y != NULL && i < y->count; i++)
    {
      gint64 at = onnx_tensor_int (index, i);
      at = at < 0 ? at + x->count : at;
      if (at < 0 || at >= x->count)
        g_clear_pointer (&y, loom_tensor_unref);
      else
        fold_copy_element (y, i, x, at);
    }
  return y;
}

/* The element of x at offset + the sum of index times stride, for each index below dims. */
static LoomTensor *
strided (const LoomTensor *x, const gint64 *dims, gint64 offset, const gint64 *stride)
{
  LoomTensor *y = fold_make (x->dtype, x->rank, dims);

  for (gint64 i = 0; y != NULL && i < y->count; i++)
    {
      gint64 at = offset, rest = i;
      for (int d = x->rank - 1; d >= 0; d--)
        {
          at += rest % dims[d] * stride[d];
          rest /= dims[d];
        }
      fold_copy_element (y, i, x, at);
    }
  return y;
}

/* A negative step goes backwards; bounds outside mean the first or last element. */
LoomTensor *
fold_slice (const Fold *f)
{
  const LoomTensor *x = f->in[0];
  gint64 start[LOOM_SHAPE_MAX_RANK], end[LOOM_SHAPE_MAX_RANK], axes[LOOM_SHAPE_MAX_RANK], step[LOOM_SHAPE_MAX_RANK];
  int n = fold_ints (f, "starts", 1, start), m = fold_ints (f, "ends", 2, end), a = fold_ints (f, "axes", 3, axes);
  int s = fold_ints (f, "steps", 4, step);
  gint64 dims[LOOM_SHAPE_MAX_RANK], stride[LOOM_SHAPE_MAX_RANK], offset = 0;
  gboolean used[LOOM_SHAPE_MAX_RANK] = { FALSE };

  if (n < 0 || n != m || n > x->rank || (a >= 0 && a != n) || (s >= 0 && s != n))
    return NULL;
  for (guint i = 1; i < f->n; i++)
    if (f->in[i] != NULL && onnx_has_dynamic (f->all, f->in[i]))
      return NULL;
  onnx_row_major (x, stride);
  for (int d = 0; d < x->rank; d++)
    dims[d] = x->dim[d];
  for (int i = 0; i < n; i++)
    {
      gint64 axis = a < 0 ? i : axes[i] < 0 ? axes[i] + x->rank : axes[i];
      gint64 by = s < 0 ? 1 : CLAMP (step[i], -G_MAXINT32, G_MAXINT32);
      if (axis < 0 || axis >= x->rank || by == 0 || used[axis])
        return NULL;
      gint64 size = x->dim[axis], from = start[i] < 0 ? start[i] + size : start[i];
      gint64 to = end[i] < 0 ? end[i] + size : end[i];
      from = by > 0 ? CLAMP (from, 0, size) : CLAMP (from, -1, size - 1);
      to = by > 0 ? CLAMP (to, 0, size) : CLAMP (to, -1, size - 1);
      dims[axis] = MAX (0, by > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / -by);
      used[axis] = TRUE;
      offset += from * stride[axis];
      stride[axis] *= by;
    }
  return strided (x, dims, offset, stride);
}

/* Only integers: a weight, even of one element, may be trained. */
LoomTensor *
fold_transpose (const Fold *f)
{
  const LoomTensor *x = f->in[0];
  gint64 order[LOOM_SHAPE_MAX_RANK], dims[LOOM_SHAPE_MAX_RANK], old[LOOM_SHAPE_MAX_RANK], stride[LOOM_SHAPE_MAX_RANK];
  int n = fold_ints (f, "perm", FOLD_MAX_IN, order);
  gboolean used[LOOM_SHAPE_MAX_RANK] = { FALSE };

  if (loom_dtype_is_float (x->dtype) || (n >= 0 && n != x->rank))
    return NULL;
  onnx_row_major (x, old);
  for (int d = 0; d < x->rank; d++)
    {
      gint64 from = n < 0 ? x->rank - 1 - d : order[d];
      if (from < 0 || from >= x->rank || used[from])
        return NULL;
      used[from] = TRUE;
      dims[d] = x->dim[from];
      stride[d] = old[from];
    }
  return strided (x, dims, 0, stride);
}

LoomTensor *
fold_concat (const Fold *f)
{
  gint64 count = 0, at = 0;

  for (guint i = 0; i < f->n; i++)
    {
      if (f->in[i] == NULL || f->in[i]->rank != 1 || f->in[i]->dtype != f->in[0]->dtype)
        return NULL;
      count += f->in[i]->count;
    }
  LoomTensor *y = fold_make (f->in[0]->dtype, 1, &count);
  for (guint i = 0; y != NULL && i < f->n; i++)
    for (gint64 k = 0; k < f->in[i]->count; k++)
      fold_copy_element (y, at++, f->in[i], k);
  return y;
}

/* Only integers, and only a single number is broadcast. */
LoomTensor *
fold_expand (const Fold *f)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  const LoomTensor *x = f->in[0];
  int n = fold_ints (f, "shape", 1, dims), lead = MAX (x->rank - n, 0);

  if (n < 0 || lead + n > LOOM_SHAPE_MAX_RANK || loom_dtype_is_float (x->dtype) || x->count != 1)
    return NULL;
  memmove (dims + lead, dims, sizeof *dims * (gsize)n);
  for (int i = 0; i < lead; i++)
    dims[i] = 1;
  LoomTensor *y = fold_make (x->dtype, lead + n, dims);
  for (gint64 i = 0; y != NULL && i < y->count; i++)
    fold_copy_element (y, i, x, 0);
  return y;
}

LoomTensor *
fold_where (const Fold *f)
{
  if (f->n < 3 || f->in[0] == NULL || f->in[1] == NULL || f->in[2] == NULL || f->in[1]->dtype != f->in[2]->dtype)
    return NULL;
  const LoomTensor *large = f->in[0]->count > f->in[1]->count ? f->in[0] : f->in[1];
  large = f->in[2]->count > large->count ? f->in[2] : large;
  for (guint i = 0; i < 3; i++)
    if (f->in[i]->count != 1 && f->in[i]->count != large->count)
      return NULL;
  LoomTensor *y = fold_make (f->in[1]->dtype, large->rank, large->dim);
  for (gint64 i = 0; y != NULL && i < y->count; i++)
    {
      const LoomTensor *from = loom_tensor_get (f->in[0], f->in[0]->count == 1 ? 0 : i) != 0 ? f->in[1] : f->in[2];
      fold_copy_element (y, i, from, from->count == 1 ? 0 : i);
    }
  return y;
}
