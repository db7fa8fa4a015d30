/* Operands for evaluations: the numbers that an operand may hold, and sets of them. */
#pragma once

#include "engine/check/check-piece.h"
#include "engine/core/loom-tensor.h"

typedef enum
{
  CHECK_SET_NORMAL,
  CHECK_SET_UNIT,    /* between 0.1 and 0.9; groups of rows of other sizes */
  CHECK_SET_SPECIAL, /* zeros of both signs and equal values; infinities, NaN, subnormals and huge numbers if no sum of
                        several elements could spread them */
  CHECK_N_SETS
} CheckSet;

const char *check_set_name (CheckSet set);

typedef enum
{
  CHECK_RANGE_ANY,
  CHECK_RANGE_INDEX,      /* integers low … high-1 */
  CHECK_RANGE_POSITIVE,   /* a variance, a state of an optimizer */
  CHECK_RANGE_TRUE,       /* what `require` requires; the flag of an update, which is 0 in special
                                sets */
  CHECK_RANGE_LEVELS,     /* the sorted groups of rows */
  CHECK_RANGE_PARENTS,    /* links of sorted rows: high is slots · rows, see visit */
  CHECK_RANGE_CHAIN,      /* the parents of tree nodes, each after its child, -1 for the last */
  CHECK_RANGE_WINDOW,     /* positions in a pooling's window that are inside the image */
  CHECK_RANGE_SYMMETRIC,  /* positive definite matrices */
  CHECK_RANGE_TRIANGULAR, /* matrices with a large diagonal */
} CheckRangeKind;

typedef struct
{
  CheckRangeKind kind;
  gint64 low, high;
  gint64 ignored;     /* an index below low that is allowed too */
  const void *window; /* LoomPool2dTo */
  double scale;       /* of floats of any value; 0: 1 */
} CheckRange;

/* The ranges of all values of the program, by number, as these instructions read them. */
CheckRange *check_ranges_new (const LoomProgram *program, const GArray *steps, const LoomValue *number);
/* Fills a tensor in its own type. local: see CHECK_SET_SPECIAL. integers: the absolute value of those without a range
 * is below it; over 3: they have about that size, and are of either sign if the type has one. */
void check_fill (LoomTensor *t, const CheckRange *range, CheckSet set, gboolean local, int integers, GRand *rand);
/* TRUE if each element of the results depends on single elements of the operands, or is one of them. */
gboolean check_steps_are_local (const LoomProgram *program, const GArray *steps);
