/* A formula filled in with numbers: what an operator computed of one batch, for its first element. Plain C. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

/* A value as the worker sends it: the last two dimensions of the first sample, row major. */
typedef struct
{
  const char *name;          /* of the port; NULL: there is nothing here */
  gint64 dim[LOOM_MAX_RANK]; /* of the whole tensor */
  guint rank;
  const float *value; /* rows × columns; of a scalar one, of a vector a row */
  gsize rows, columns;
} StudioWorkedTensor;

/* The most ports of a node that are read: inputs and weights in the order of the operator's table, then the output. */
#define STUDIO_WORKED_MAX 6

/* "y₀₀ = max(−0.31, 0) = 0", then a line for each value: the numbers of a small one, else its shape with least, mean
 * and greatest. exact: the values are of one step, so that left and right side agree; without it the first line is left
 * out. inputs are in the order of the operator's table (transfer full). */
char *studio_worked_text (const LoomOp *op, const StudioWorkedTensor *inputs, guint n_inputs,
                          const StudioWorkedTensor *output, gboolean exact);

G_END_DECLS
