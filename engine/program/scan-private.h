/* The state of a scan's gradient, shared by the files that make it. */
#pragma once

#include "engine/program/program-body.h"

G_BEGIN_DECLS

/* One summand of the gradient of a whole operand. */
typedef struct
{
  guint operand;       /* of the body */
  LoomValue part;      /* of one iteration, in `run` */
  guint n_factors;     /* stacked: a product's two, a sum's one; 0: it is carried */
  LoomValue factor[2]; /* in `run` */
  guint sequence[2];   /* if it is stacked: the stacked result of the backward scan, or … */
  LoomValue stack[2];  /* … an operand of the outer program that has it already */
} ScanTerm;

/* The gradient of a scan under construction. */
typedef struct
{
  const LoomGradCall *call;
  LoomScanAttrs attrs; /* of the forward scan */
  guint n_in, n_whole;
  LoomProgram *run;   /* the body, followed by the gradients of one iteration */
  guint n_forward;    /* the number of its instructions that are the body's */
  LoomValue *map;     /* value of the body → of run */
  LoomValue *input;   /* of run, by the body's input */
  LoomValue *carried; /* the cotangent of a carried value, an input of run; 0: not a float */
  LoomValue *stacked; /* that of a stacked result; 0: none */
  LoomValue *grad;    /* by the body's input; 0: none */
  GArray *terms;      /* ScanTerm */
  GArray *kept;       /* LoomValue of the body that the backward body reads, except inputs */
  gboolean *reads;    /* by the body's input: the backward body reads it */
} ScanGradient;

/* scan-gradient.c */
gboolean loom_scan_gradient (const LoomGradCall *call);

/* scan-saved.c */
/* The value of the body's output o, in `run`. */
LoomValue scan_output (const ScanGradient *s, guint o);
/* The index of the stacked result with this value, or n_stacked. */
guint scan_find_stacked (const ScanGradient *s, LoomValue v);
/* Finds the values of the body that the results need, from the last instruction to the first: an instruction of the
 * gradients needs its operands; a value of the body is kept, unless everything is recomputed. */
void scan_find_saved (ScanGradient *s);

G_END_DECLS
