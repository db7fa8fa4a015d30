/* Declares the code that operators on matrices share: checks of shape, batches that broadcast, transposing the last
 * two axes. */
#pragma once

#include "engine/ops/op-private.h"

/* FALSE with a fault unless input i holds square matrices of floats. */
gboolean loom_op_matrix_square (LoomInfer *ctx, guint i, const char *port);
/* The leading axes of inputs 0 and 1, all but the last two, broadcast; FALSE with a fault. */
gboolean loom_op_matrix_lead (LoomInfer *ctx, const LoomShape *a, const LoomShape *b, LoomShape *lead);
LoomValue loom_op_matrix_transposed (LoomProgram *p, LoomValue a);
/* Both expanded to the same leading axes. */
void loom_op_matrix_batch (LoomProgram *p, LoomValue *a, LoomValue *b);
/* n³ for each matrix of input 0. */
double loom_op_cubic_flops (const LoomInfer *ctx);
