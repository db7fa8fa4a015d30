/* Strided copies of several operands into one result, which the planner makes of consecutive slices, permutes and
 * concatenations. Plain C, all static inline.
 *
 *  move               x… → y                    LoomMoveAttrs
 *
 * Part k copies elements of operand k: the element with index i, in the part's own shape, is read at from_start + Σ
 * i·from and written at to_start + Σ i·to, all in elements of plain tensors. The parts together write each element of y
 * once, so strides to y are above 0 along axes of more than one element; strides of reads may be any, also negative. */
#ifndef LOOM_MOVE_H
#define LOOM_MOVE_H

#include "kernels/backend.h"

#define LOOM_MOVE_MAX_PARTS 8

typedef struct
{
  int rank;
  int64_t dim[LOOM_MAX_RANK];
  int64_t from_start, from[LOOM_MAX_RANK], to_start, to[LOOM_MAX_RANK];
} LoomMovePart;

typedef struct
{
  int n; /* operands, each with one part */
  LoomMovePart part[LOOM_MOVE_MAX_PARTS];
  int rank; /* y's rank and shape */
  int64_t dim[LOOM_MAX_RANK];
} LoomMoveAttrs;

static inline int64_t
loom_move_count (const LoomMovePart *part)
{
  int64_t n = 1;

  for (int i = 0; i < part->rank; i++)
    n *= part->dim[i];
  return n;
}

/* TRUE if one side of a part stays inside a tensor of `size` elements. */
static inline bool
loom_move_fits (const LoomMovePart *part, int64_t start, const int64_t *stride, int64_t size)
{
  int64_t first = start, last = start;

  for (int i = 0; i < part->rank; i++)
    {
      if (part->dim[i] <= 0)
        return part->dim[i] == 0;
      *(stride[i] < 0 ? &first : &last) += (part->dim[i] - 1) * stride[i];
    }
  return first >= 0 && last < size;
}

#endif
