/* Shape arithmetic for back ends on the host: strides of a layout, broadcast strides and the odometer that iterates
 * over a shape. All static inline, plain C.
 *
 * Strides count elements, not bytes, and are indexed by logical axis, so a loop that uses them works in every layout.
 */
#ifndef LOOM_SHAPE_H
#define LOOM_SHAPE_H

#include <stdio.h>

#include "kernels/backend.h"

/* Strides of d in elements. An NHWC tensor is logical [N,C,H,W] with C innermost. */
static inline void
loom_desc_strides (const LoomTensorDesc *d, int64_t stride[LOOM_MAX_RANK])
{
  int64_t n = 1;

  if (d->layout == LOOM_LAYOUT_NHWC && d->rank == 4)
    {
      stride[1] = 1;
      stride[3] = d->dim[1];
      stride[2] = d->dim[1] * d->dim[3];
      stride[0] = d->dim[1] * d->dim[3] * d->dim[2];
      return;
    }
  for (int i = d->rank - 1; i >= 0; i--)
    {
      stride[i] = n;
      n *= d->dim[i];
    }
}

/* Strides of x along the axes of y, to whose shape x broadcasts as in NumPy: 0 if x repeats. False if it does not
 * broadcast. */
static inline bool
loom_broadcast_strides (const LoomTensorDesc *x, const LoomTensorDesc *y, int64_t stride[LOOM_MAX_RANK])
{
  int64_t own[LOOM_MAX_RANK] = { 0 };
  int shift = y->rank - x->rank;

  if (shift < 0)
    return false;
  loom_desc_strides (x, own);
  for (int i = 0; i < y->rank; i++)
    {
      int64_t n = i < shift ? 1 : x->dim[i - shift];

      if (n != y->dim[i] && n != 1)
        return false;
      stride[i] = n == 1 ? 0 : own[i - shift];
    }
  return true;
}

static inline bool
loom_desc_same_shape (const LoomTensorDesc *a, const LoomTensorDesc *b)
{
  if (a->rank != b->rank)
    return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dim[i] != b->dim[i])
      return false;
  return true;
}

/* Product of dim[from] … dim[to-1]. */
static inline int64_t
loom_dim_product (const LoomTensorDesc *d, int from, int to)
{
  int64_t n = 1;

  for (int i = from; i < to; i++)
    n *= d->dim[i];
  return n;
}

/* The shape that an element-wise call computes: that of its first result, or of this result's parts. */
static inline LoomTensorDesc
loom_elementwise_shape (const LoomKernelSpec *spec)
{
  const LoomElementwiseAttrs *a = (const LoomElementwiseAttrs *)spec->attrs;
  LoomTensorDesc y = spec->out[0];

  for (int p = 0; p < a->n_out_parts; p++)
    if (a->out_part[p].tensor == 0 && a->out_part[p].axis >= 0 && a->out_part[p].axis < y.rank)
      {
        y.dim[a->out_part[p].axis] = a->out_part[p].length;
        break;
      }
  return y;
}

/* Strides of a part of x along the axes of y, to whose shape the part broadcasts, and the offset of its first element.
 * False if it does not broadcast or is no part of x. */
static inline bool
loom_part_strides (const LoomTensorDesc *x, const LoomElementwisePart *part, const LoomTensorDesc *y,
                   int64_t stride[LOOM_MAX_RANK], int64_t *offset)
{
  int64_t own[LOOM_MAX_RANK] = { 0 };
  int shift = y->rank - x->rank;

  if (shift < 0 || x->layout != LOOM_LAYOUT_PLAIN || part->axis < 0 || part->axis >= x->rank || part->start < 0
      || part->length < 1 || part->length > x->dim[part->axis] - part->start)
    return false;
  loom_desc_strides (x, own);
  *offset = part->start * own[part->axis];
  for (int i = 0; i < y->rank; i++)
    {
      int64_t n = i < shift ? 1 : i - shift == part->axis ? part->length : x->dim[i - shift];

      if (n != y->dim[i] && n != 1)
        return false;
      stride[i] = n == 1 ? 0 : own[i - shift];
    }
  return true;
}

/* Whether operand (or result) i of an element-wise call has parts; n is the length of part. */
static inline bool
loom_has_parts (const LoomElementwisePart *part, int n, int i)
{
  for (int p = 0; p < n; p++)
    if (part[p].tensor == i)
      return true;
  return false;
}

/* Whether the parts of an element-wise call agree with its operands, results and registers. */
static inline bool
loom_elementwise_parts_fit (const LoomKernelSpec *spec)
{
  const LoomElementwiseAttrs *a = (const LoomElementwiseAttrs *)spec->attrs;
  const LoomTensorDesc y = loom_elementwise_shape (spec);
  int64_t stride[LOOM_MAX_RANK], offset;

  if (a->n_in_parts < 0 || a->n_in_parts > LOOM_EW_MAX_PARTS || a->n_out_parts < 0
      || a->n_out_parts > LOOM_EW_MAX_PARTS)
    return false;
  if (a->n_in_parts + a->n_out_parts == 0)
    return true;
  for (int i = 0; i < spec->n_in + spec->n_out; i++)
    if ((i < spec->n_in ? &spec->in[i] : &spec->out[i - spec->n_in])->layout != LOOM_LAYOUT_PLAIN)
      return false;
  for (int p = 0; p < a->n_in_parts; p++)
    if (a->in_part[p].tensor >= spec->n_in
        || !loom_part_strides (&spec->in[a->in_part[p].tensor], &a->in_part[p], &y, stride, &offset))
      return false;
  for (int p = 0; p < a->n_out_parts; p++)
    {
      const LoomElementwisePart *part = &a->out_part[p];

      if (part->tensor >= spec->n_out || spec->out[part->tensor].rank != y.rank
          || part->reg >= spec->n_in + a->n_in_parts + a->n_steps
          || !loom_part_strides (&spec->out[part->tensor], part, &y, stride, &offset)
          || part->length != y.dim[part->axis] || loom_has_parts (a->in_part, a->n_in_parts, part->reg))
        return false;
    }
  for (int o = 0; o < spec->n_out; o++)
    {
      int64_t covered = 0;

      for (int p = 0; p < a->n_out_parts; p++)
        if (a->out_part[p].tensor == o)
          covered += loom_dim_product (&y, 0, y.rank);
      if (covered != 0 ? covered != loom_dim_product (&spec->out[o], 0, spec->out[o].rank)
                       : loom_has_parts (a->in_part, a->n_in_parts, a->out[o]))
        return false;
    }
  for (int s = 0; s < a->n_steps; s++)
    for (int k = 0; k < loom_scalar_arity (a->step[s].op); k++)
      if (loom_has_parts (a->in_part, a->n_in_parts, a->step[s].arg[k]))
        return false;
  return true;
}

/* Advances index to the next element of a tensor of shape dim, row major; false after the last. */
static inline bool
loom_index_next (int rank, const int64_t *dim, int64_t *index)
{
  for (int i = rank - 1; i >= 0; i--)
    {
      if (++index[i] < dim[i])
        return true;
      index[i] = 0;
    }
  return false;
}

static inline int64_t
loom_index_offset (int rank, const int64_t *index, const int64_t *stride)
{
  int64_t offset = 0;

  for (int i = 0; i < rank; i++)
    offset += index[i] * stride[i];
  return offset;
}

#define LOOM_INDEX_TEXT 200

/* " at [2, 0]", the index of element e of a tensor; empty for a scalar. */
static inline const char *
loom_index_text (char text[LOOM_INDEX_TEXT], int rank, const int64_t *dim, int64_t e)
{
  int64_t index[LOOM_MAX_RANK];
  int n = 0;

  text[0] = '\0';
  for (int i = rank - 1; i >= 0; e /= dim[i], i--)
    index[i] = e % dim[i];
  for (int i = 0; i < rank; i++)
    n += snprintf (text + n, LOOM_INDEX_TEXT - (size_t)n, "%s%lld%s", i == 0 ? " at [" : ", ", (long long)index[i],
                   i == rank - 1 ? "]" : "");
  return text;
}

/* The status that solve and cholesky return for matrix q of a batch. */
static inline LoomStatus
loom_singular (LoomMessage *message, const LoomTensorDesc *a, int64_t q)
{
  char place[LOOM_INDEX_TEXT];

  snprintf (message->text, sizeof message->text,
            "the matrix%s is singular: it has no inverse, and a linear system with it has no unique solution",
            loom_index_text (place, a->rank - 2, a->dim, q));
  return LOOM_STATUS_NO_RESULT;
}

static inline LoomStatus
loom_not_positive (LoomMessage *message, const LoomTensorDesc *a, int64_t q)
{
  char place[LOOM_INDEX_TEXT];

  snprintf (
      message->text, sizeof message->text,
      "the matrix%s is not positive definite, so it has no Cholesky factor. Adding a small number to its diagonal "
      "often helps",
      loom_index_text (place, a->rank - 2, a->dim, q));
  return LOOM_STATUS_NO_RESULT;
}

/* The last two axes as a matrix, and the number of such matrices. */
static inline int64_t
loom_matrix_rows (const LoomTensorDesc *d)
{
  return d->dim[d->rank - 2];
}

static inline int64_t
loom_matrix_columns (const LoomTensorDesc *d)
{
  return d->dim[d->rank - 1];
}

static inline int64_t
loom_matrix_count (const LoomTensorDesc *d)
{
  int64_t n = 1;

  for (int i = 0; i + 2 < d->rank; i++)
    n *= d->dim[i];
  return n;
}

#endif
