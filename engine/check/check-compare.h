/* Compares a result of the plan with the program's. */
#pragma once

#include "engine/core/loom-tensor.h"

/* The evaluations of one result. */
typedef struct
{
  const LoomTensor *plan;
  const LoomTensor *wide;   /* the program in f64 */
  const LoomTensor *narrow; /* in its own types */
  const LoomTensor *moved;  /* in f64, with operands that differ in the last bit; NULL: none */
  LoomDType coarsest;       /* the float type with the fewest digits among all values */
  double depth;             /* operations for one element */
  double largest_size;      /* of a typical element, if the operands include huge numbers; else INFINITY */
  gboolean exact;           /* the bits of `narrow` are required */
} CheckComparison;

/* NULL, or the first difference: "element 3 is 1.5, and the program's is 0.5 (± 1e-6)". (transfer full) */
char *check_compare (const CheckComparison *c);
/* Likewise if too many 16-bit elements of a chain of element-wise operations have other bits than the program's. */
char *check_compare_roundings (const CheckComparison *c);

/* Half the distance of the type's numbers around 1. */
double check_roundoff (LoomDType dtype);
