/* The state of a scan's gradient (ScanGradient), shared by scan-gradient.c and scan-saved.c. */
#pragma once

#include "engine/program/body-gradient.h"

/* One summand of the gradient of a whole operand. */
typedef struct
{
  guint operand;       /* the operand of the body */
  LoomValue part;      /* the summand of one iteration, in b.run */
  guint n_factors;     /* 2 for a product, 1 for a sum over rows, whose factors are stacked; 0: the sum is carried */
  LoomValue factor[2]; /* in b.run */
  guint sequence[2];   /* the index of its stack among the results of the backward scan, or … */
  LoomValue stack[2];  /* … an operand of the outer program that is its stack already */
} ScanTerm;

/* The gradient of a scan under construction. */
typedef struct
{
  const LoomGradCall *call;
  LoomScanAttrs attrs; /* of the forward scan */
  guint n_in, n_whole;
  BodyGradient b;     /* of one iteration */
  LoomValue *stacked; /* by stacked result: its cotangent, a part of b.seed; 0: none */
  GArray *terms;      /* ScanTerm */
  gboolean *reads;    /* by the body's input: TRUE if the backward body reads it */
} ScanGradient;

gboolean loom_scan_gradient (const LoomGradCall *call);

/* ---- scan-saved.c ------------------------------------------------------------- */
/* The index of the stacked result that is v, or n_stacked. */
guint scan_find_stacked (const ScanGradient *s, LoomValue v);
/* Finds the values of the body that are kept, unless everything is recomputed. */
void scan_find_saved (ScanGradient *s);
