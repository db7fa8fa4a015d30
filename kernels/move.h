/* Several moves in one, which the planner makes of slices, permutes and concatenations that follow on one another.
 * Plain C, all static inline.
 *
 *  move               x… → y                    LoomMoveAttrs
 *
 * Part k takes elements of operand k: that of index i, in the part's own shape, is read at from_start + Σ i·from and
 * written at to_start + Σ i·to, all in elements of plain tensors. The parts together write each element of y once, so
 * strides to y are above 0 along axes of more than one element; what is read may lie in any order, and backwards. */
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
  int n; /* operands, each with a part */
  LoomMovePart part[LOOM_MOVE_MAX_PARTS];
  int rank; /* of y, and its shape */
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

/* TRUE if elements of a tensor of `size` are all that a side of a part reaches. */
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
