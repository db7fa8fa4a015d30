/* The curve of an operator: its values for given numbers, computed with the operator itself.
 *
 * A graph of an input and the operator is evaluated on the reference device, so a new operator has a curve without
 * other code. That takes one or two milliseconds. */
#pragma once

#include "engine/core/loom-tensor.h"
#include "engine/graph/loom-graph.h"
#include "engine/ops/loom-op.h"

/* f32 [n]: the operator's output for the n numbers x as its only input, with the parameters of node (NULL: the
 * defaults; expressions of a module's parameters count as not set). NULL if it has more than one input, does not return
 * one number for each, or cannot be computed. (transfer full) */
LoomTensor *loom_curve_evaluate (const LoomOp *op, const LoomElement *node, const float *x, guint n);
/* The operator and these parameters as text: curves with the same key are equal. (transfer full) */
char *loom_curve_key (const LoomOp *op, const LoomElement *node);
