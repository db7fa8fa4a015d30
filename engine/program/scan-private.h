/* The state of a scan's gradient (ScanGradient), shared by scan-gradient.c and scan-saved.c. */
#pragma once

#include "engine/program/program-body.h"

G_BEGIN_DECLS

/* One summand of the gradient of a whole operand. */
typedef struct
{
  guint operand;       /* the operand of the body */
  LoomValue part;      /* the summand of one iteration, in `run` */
  guint n_factors;     /* 2 for a product, 1 for a sum over rows, whose factors are stacked; 0: the sum is carried */
  LoomValue factor[2]; /* in `run` */
  guint sequence[2];   /* the index of its stack among the results of the backward scan, or … */
  LoomValue stack[2];  /* … an operand of the outer program that is its stack already */
} ScanTerm;

/* The gradient of a scan under construction. */
typedef struct
{
  const LoomGradCall *call;
  LoomScanAttrs attrs; /* of the forward scan */
  guint n_in, n_whole;
  LoomProgram *run;   /* the body, followed by the gradients of one iteration */
  guint n_forward;    /* the number of instructions of `run` that are the body's */
  LoomValue *map;     /* value of the body → value of run */
  LoomValue *input;   /* by the body's input: value of run */
  LoomValue *carried; /* by carried value: its cotangent, an input of run; 0: it is not a float */
  LoomValue *stacked; /* by stacked result: its cotangent, an input of run; 0: none */
  LoomValue *grad;    /* by the body's input: its gradient; 0: none */
  GArray *terms;      /* ScanTerm */
  GArray *kept;       /* LoomValue of the body that the backward body reads, except the body's inputs */
  gboolean *reads;    /* by the body's input: TRUE if the backward body reads it */
} ScanGradient;

gboolean loom_scan_gradient (const LoomGradCall *call);

/* ---- scan-saved.c ------------------------------------------------------------- */
/* The value of the body's output o, in `run`. */
LoomValue scan_output (const ScanGradient *s, guint o);
/* The index of the stacked result that is v, or n_stacked. */
guint scan_find_stacked (const ScanGradient *s, LoomValue v);
/* Finds the values of the body that its gradient needs, from the last instruction to the first: an instruction of the
 * gradients needs its operands; a value of the body is kept, unless everything is recomputed. */
void scan_find_saved (ScanGradient *s);

G_END_DECLS
