/* Conditions on the values of a node, at which training stops before the weights change. */
#pragma once

#include "engine/core/loom-summary.h"

typedef struct
{
  const char *name;     /* as in files and on the bus */
  gboolean has_limit;   /* the condition has a number */
  gboolean of_gradient; /* reads gradients of the node's outputs and weights */
  gboolean of_value;    /* reads the node's outputs */
  gboolean of_integers; /* also those of whole numbers, such as tokens */
  /* TRUE if the tensor meets the condition; *figure is what was compared with the limit */
  gboolean (*is_met) (const LoomTensor *tensor, const LoomSummary *summary, double limit, double *figure);
} LoomBreakKind;

#define LOOM_BREAK_NAME 192 /* bytes of a path or port that ranks send to each other */

/* not_finite, gradient_above, dead_above or equals; NULL: unknown. */
const LoomBreakKind *loom_break_kind (const char *name);

typedef struct
{
  char *node; /* path of a node, or of a module, whose nodes are then all tested */
  const LoomBreakKind *kind;
  double limit;
} LoomBreakpoint;

typedef struct
{
  LoomBreakpoint at; /* borrowed */
  const char *node;  /* the node that meets it: `at.node`, or one inside */
  const char *port;  /* the port or weight whose tensor meets it */
  gboolean is_gradient;
  double figure;
  gint64 step; /* the step before which training stands, from 1 */
  int rank;    /* whose samples meet it; -1: there is one */
} LoomBreakHit;
