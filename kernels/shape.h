/* Shape arithmetic that back ends running on the host share: strides of a layout,
 * broadcast strides and the odometer that walks a shape. All static inline, plain C.
 *
 * Strides count elements, not bytes, and are indexed by logical axis, so a loop that
 * uses them need not know which layout it walks. */
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

/* Strides of x along the axes of y, to whose shape x broadcasts as in NumPy: 0
 * where x repeats. False when it does not broadcast. */
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

/* Steps index to the next place of dim, row major; false after the last. */
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

#define LOOM_PLACE_TEXT 200

/* " at [2, 0]", where element e of such a tensor stands; nothing for a scalar. */
static inline const char *
loom_place_text (char text[LOOM_PLACE_TEXT], int rank, const int64_t *dim, int64_t e)
{
  int64_t index[LOOM_MAX_RANK];
  int n = 0;

  text[0] = '\0';
  for (int i = rank - 1; i >= 0; e /= dim[i], i--)
    index[i] = e % dim[i];
  for (int i = 0; i < rank; i++)
    n += snprintf (text + n, LOOM_PLACE_TEXT - (size_t)n, "%s%lld%s", i == 0 ? " at [" : ", ", (long long)index[i],
                   i == rank - 1 ? "]" : "");
  return text;
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

/* The status that solve and cholesky return for matrix q of a batch. */
static inline LoomStatus
loom_singular (LoomMessage *message, const LoomTensorDesc *a, int64_t q)
{
  char place[LOOM_PLACE_TEXT];

  snprintf (message->text, sizeof message->text,
            "the matrix%s is singular: it has no inverse, and a system with it has no one solution",
            loom_place_text (place, a->rank - 2, a->dim, q));
  return LOOM_STATUS_NO_RESULT;
}

static inline LoomStatus
loom_not_positive (LoomMessage *message, const LoomTensorDesc *a, int64_t q)
{
  char place[LOOM_PLACE_TEXT];

  snprintf (
      message->text, sizeof message->text,
      "the matrix%s is not positive definite, so it has no Cholesky factor. Adding a small number to its diagonal "
      "often helps",
      loom_place_text (place, a->rank - 2, a->dim, q));
  return LOOM_STATUS_NO_RESULT;
}

/* The last two axes as a matrix, and how many such there are. */
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
