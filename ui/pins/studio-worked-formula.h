/* Writes the formula of an operator with the numbers of a batch filled in, for the first element of its output: "y₀₀ =
 * max(−0.31, 0) = 0". Plain C without GTK. */
#pragma once

#include "engine/loom.h"

/* A value as the worker sends it: the last two dimensions of the first sample, f32 and row major. */
typedef struct
{
  const char *name;          /* of the port; NULL: no value */
  gint64 dim[LOOM_MAX_RANK]; /* of the whole tensor */
  guint rank;
  const float *value; /* [rows, columns]; a scalar is [1, 1], a vector [1, n] */
  gsize rows, columns;
} StudioWorkedTensor;

/* The maximum number of ports of a node: inputs and weights in the order of the operator's ports, then the output. */
#define STUDIO_WORKED_MAX 6

/* Returns "y₀₀ = max(−0.31, 0) = 0", then a line per value: all numbers of a small one, else its shape with minimum,
 * mean and maximum. exact: all values are of one step, so both sides of the formula agree; otherwise the formula is
 * left out. (transfer full) */
char *studio_worked_formula_text (const LoomOp *op, const StudioWorkedTensor *inputs, guint n_inputs,
                                  const StudioWorkedTensor *output, gboolean exact);
