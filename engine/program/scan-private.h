/* Shared by the files of the scan. */
#pragma once

#include "engine/program/program-body.h"

G_BEGIN_DECLS

/* One summand of the gradient of a whole operand. */
typedef struct
{
  guint operand;       /* of the body */
  LoomValue part;      /* of one run, in `run` */
  guint n_factors;     /* stacked: a product's two, a sum's one; 0: it is carried */
  LoomValue factor[2]; /* in `run` */
  guint sequence[2];   /* once it is stacked: the stacked result of the backward scan, or … */
  LoomValue stack[2];  /* … an operand that is it already, in the outer program */
} ScanTerm;

/* The gradient of a scan while it is made. */
typedef struct
{
  const LoomGradCall *call;
  LoomScanAttrs attrs; /* of the forward scan */
  guint n_in, n_whole;
  LoomProgram *run;   /* the body, and behind it the gradients of one run */
  guint n_forward;    /* so many instructions of it are the body's */
  LoomValue *map;     /* value of the body → of run */
  LoomValue *input;   /* of run, by the body's input */
  LoomValue *carried; /* the cotangent of a carried value, an input of run; 0: it is no float */
  LoomValue *stacked; /* that of a stacked result; 0: none arrives */
  LoomValue *grad;    /* by the body's input; 0: none */
  GArray *terms;      /* ScanTerm */
  GArray *kept;       /* LoomValue of the body: what the backward body reads of it, its inputs apart */
  gboolean *reads;    /* by the body's input: whether the backward body reads it */
} ScanGradient;

/* scan-gradient.c */
gboolean loom_scan_gradient (const LoomGradCall *call);

/* scan-kept.c */
/* What the body gives as result o, in `run`. */
LoomValue scan_output (const ScanGradient *s, guint o);
/* The stacked result that is this value, or n_stacked. */
guint scan_find_stacked (const ScanGradient *s, LoomValue v);
/* Finds the values of the body that the results need, from the last instruction to the first: an instruction of the
 * gradients needs its operands, one of the body is kept in its place, unless all of it is computed again. */
void scan_find_kept (ScanGradient *s);

G_END_DECLS
