/* The values of a graph without data, computed once with its initial weights. */
#pragma once

#include "engine/core/loom-summary.h"
#include "engine/graph/loom-graph.h"
#include "engine/infer/loom-derivative.h"

/* Computes the values of n ports of a graph in which every value follows from parameters and constants, and for
 * "grad:PORT" the gradients of its loss: that of <train>, else the only number that no other node reads. Ports in loops
 * and of nodes with faults are not known. Errors: those of the graph, of lowering and of the eager executor. */
gboolean
loom_instant_compute (const LoomGraph *graph, guint n, const char *const *port, LoomPortSummary *value, GError **error);
/* The chain of local derivatives from one number of such a graph to its loss: LoomDerivative. *value and *gradient: of
 * the number. Errors: likewise, and PORT (no such number, no loss, or no gradient). */
GArray *loom_instant_derivatives (const LoomGraph *graph, const char *port, gint64 element, double *value,
                                  double *gradient, GError **error);
