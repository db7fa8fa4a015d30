/* Programs of one primitive whose gradients are compared with differences. */
#pragma once

#include "engine/program/loom-prim.h"
#include "tests/kernels/kernel-harness.h"

#define MAX_X 8

typedef struct
{
  const char *name, *range;
  guint n_x;
  struct
  {
    LoomDType dtype;
    int rank;
    gint64 dim[LOOM_MAX_RANK];
  } x[MAX_X];
  /* Emits the primitive on f64 operands; fills y and returns the number of results. */
  guint (*build) (LoomProgram *p, const LoomValue *x, LoomValue *y);
  const Sample *sample; /* its operands and attributes instead */
} PrimCase;

/* The programs that are no samples of kernels; n: their number. */
const PrimCase *prim_cases (guint *n);
