/* Primitives that copy or write elements without arithmetic: copy, permute, expand, slice, pad, concat, move, fill,
 * iota.
 *
 * They work on bytes of any element type; only copy, fill and iota convert. */
#include "kernels/move.h"
#include "kernels/ref/ref.h"

#include <string.h>

static void
move_element (void *to, int64_t to_index, const void *from, int64_t from_index, size_t size)
{
  memcpy ((char *)to + to_index * (int64_t)size, (const char *)from + from_index * (int64_t)size, size);
}

/* x and y [count]. */
static LoomStatus
copy (const RefKernel *k, void *const *b, LoomMessage *message)
{
  LoomDType from = k->in[0].dtype, to = k->out[0].dtype;
  int64_t count = loom_desc_count (&k->out[0]);

  for (int64_t i = 0; i < count; i++)
    if (loom_dtype_is_float (from))
      loom_store_double (b[1], i, to, loom_load_double (b[0], i, from));
    else
      loom_store_int (b[1], i, to, loom_load_int (b[0], i, from));
  return LOOM_STATUS_OK;
}

/* y [dims of x in the order perm]. */
static LoomStatus
permute (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomPermuteAttrs *a = k->attrs;
  const LoomTensorDesc *y = &k->out[0];
  int64_t own[LOOM_MAX_RANK], stride[LOOM_MAX_RANK], index[LOOM_MAX_RANK] = { 0 };
  int64_t count = loom_desc_count (y);

  loom_desc_strides (&k->in[0], own);
  for (int i = 0; i < y->rank; i++)
    stride[i] = own[a->perm[i]];
  for (int64_t e = 0; e < count; e++, loom_index_next (y->rank, y->dim, index))
    move_element (b[1], e, b[0], loom_index_offset (y->rank, index, stride), loom_dtype_size (y->dtype));
  return LOOM_STATUS_OK;
}

/* x broadcasts to y. */
static LoomStatus
expand (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomTensorDesc *y = &k->out[0];
  int64_t stride[LOOM_MAX_RANK], index[LOOM_MAX_RANK] = { 0 };
  int64_t count = loom_desc_count (y);

  loom_broadcast_strides (&k->in[0], y, stride);
  for (int64_t e = 0; e < count; e++, loom_index_next (y->rank, y->dim, index))
    move_element (b[1], e, b[0], loom_index_offset (y->rank, index, stride), loom_dtype_size (y->dtype));
  return LOOM_STATUS_OK;
}

/* y is x from start by step along each axis. */
static LoomStatus
slice (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomSliceAttrs *a = k->attrs;
  const LoomTensorDesc *y = &k->out[0];
  int64_t stride[LOOM_MAX_RANK], index[LOOM_MAX_RANK] = { 0 };
  int64_t count = loom_desc_count (y);

  loom_desc_strides (&k->in[0], stride);
  for (int64_t e = 0; e < count; e++, loom_index_next (y->rank, y->dim, index))
    {
      int64_t at = 0;

      for (int i = 0; i < y->rank; i++)
        at += (a->start[i] + index[i] * a->step[i]) * stride[i];
      move_element (b[1], e, b[0], at, loom_dtype_size (y->dtype));
    }
  return LOOM_STATUS_OK;
}

/* y has x from start by step along each axis, and the value elsewhere. */
static LoomStatus
pad (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomPadAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0], *y = &k->out[0];
  int64_t stride[LOOM_MAX_RANK], index[LOOM_MAX_RANK] = { 0 };
  int64_t count = loom_desc_count (x);

  for (int64_t e = 0; e < loom_desc_count (y); e++)
    loom_store_double (b[1], e, y->dtype, a->value);
  loom_desc_strides (y, stride);
  for (int64_t e = 0; e < count; e++, loom_index_next (x->rank, x->dim, index))
    {
      int64_t at = 0;

      for (int i = 0; i < x->rank; i++)
        at += (a->start[i] + index[i] * a->step[i]) * stride[i];
      move_element (b[1], at, b[0], e, loom_dtype_size (y->dtype));
    }
  return LOOM_STATUS_OK;
}

/* Inputs differ only along a->axis; y has them one after another. */
static LoomStatus
concat (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomConcatAttrs *a = k->attrs;
  const LoomTensorDesc *y = &k->out[0];
  int64_t stride[LOOM_MAX_RANK], first = 0;

  loom_desc_strides (y, stride);
  for (int i = 0; i < k->n_in; i++)
    {
      const LoomTensorDesc *x = &k->in[i];
      int64_t index[LOOM_MAX_RANK] = { 0 }, count = loom_desc_count (x);

      for (int64_t e = 0; e < count; e++, loom_index_next (x->rank, x->dim, index))
        move_element (b[k->n_in], loom_index_offset (x->rank, index, stride) + first * stride[a->axis], b[i], e,
                      loom_dtype_size (y->dtype));
      first += x->dim[a->axis];
    }
  return LOOM_STATUS_OK;
}

/* Copies each part, of its own shape, from its operand to its positions in y. */
static LoomStatus
move (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomMoveAttrs *a = k->attrs;

  for (int i = 0; i < a->n; i++)
    {
      const LoomMovePart *part = &a->part[i];
      int64_t index[LOOM_MAX_RANK] = { 0 }, count = loom_move_count (part);

      for (int64_t e = 0; e < count; e++, loom_index_next (part->rank, part->dim, index))
        move_element (b[a->n], part->to_start + loom_index_offset (part->rank, index, part->to), b[i],
                      part->from_start + loom_index_offset (part->rank, index, part->from),
                      loom_dtype_size (k->out[0].dtype));
    }
  return LOOM_STATUS_OK;
}

/* y [count]. */
static LoomStatus
fill (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomFillAttrs *a = k->attrs;

  for (int64_t e = 0; e < loom_desc_count (&k->out[0]); e++)
    loom_store_double (b[0], e, k->out[0].dtype, a->value);
  return LOOM_STATUS_OK;
}

/* y [outer,dim[axis],inner]. */
static LoomStatus
iota (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomIotaAttrs *a = k->attrs;
  const LoomTensorDesc *y = &k->out[0];
  int64_t inner = loom_dim_product (y, a->axis + 1, y->rank);

  for (int64_t e = 0; e < loom_desc_count (y); e++)
    loom_store_double (b[0], e, y->dtype, a->start + (double)(e / inner % y->dim[a->axis]) * a->step);
  return LOOM_STATUS_OK;
}

static bool
same_type (const LoomKernelSpec *spec)
{
  for (int i = 0; i < spec->n_in; i++)
    if (spec->in[i].dtype != spec->out[0].dtype)
      return false;
  return true;
}

#define MOVE_PRIMITIVE(function, label, size, condition)                                                               \
  static RefWork choose_##label (const LoomKernelSpec *spec)                                                           \
  {                                                                                                                    \
    return (condition) ? function : NULL;                                                                              \
  }                                                                                                                    \
  const RefPrimitive ref_##label                                                                                       \
      = { .name = #label, .attrs_size = (size), .choose = choose_##label, .mixed_floats = true }

MOVE_PRIMITIVE (copy, copy, 0, loom_desc_same_shape (&spec->in[0], &spec->out[0]));
MOVE_PRIMITIVE (copy, reorder, 0, loom_desc_same_shape (&spec->in[0], &spec->out[0]));
MOVE_PRIMITIVE (copy, cast, 0, loom_desc_same_shape (&spec->in[0], &spec->out[0]));
MOVE_PRIMITIVE (permute, permute, sizeof (LoomPermuteAttrs), same_type (spec));
MOVE_PRIMITIVE (expand, expand, 0, same_type (spec));
MOVE_PRIMITIVE (slice, slice, sizeof (LoomSliceAttrs), same_type (spec));
MOVE_PRIMITIVE (pad, pad, sizeof (LoomPadAttrs), same_type (spec));
MOVE_PRIMITIVE (concat, concat, sizeof (LoomConcatAttrs), same_type (spec));
MOVE_PRIMITIVE (move, move, sizeof (LoomMoveAttrs), same_type (spec));
MOVE_PRIMITIVE (fill, fill, sizeof (LoomFillAttrs), true);
MOVE_PRIMITIVE (iota, iota, sizeof (LoomIotaAttrs), true);
