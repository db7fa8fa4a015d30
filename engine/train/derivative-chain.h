/* Computes the chain of local derivatives from an element to the loss, at the values of a walk. */
#pragma once

#include "engine/train/loom-derivative.h"
#include "engine/train/step-walk.h"

/* The backward pass of the walk must be complete. The local derivatives of a node are the exact ones of its primitives:
 * the gradient of a node is linear in the gradients of its outputs, and the derivative of that function is a column of
 * the node's Jacobian matrix. port: an output, or a weight, whose chain begins with the nodes that compute with it.
 * *value and *gradient: of the element itself; in a loop an element of the values of all iterations. Returns
 * LoomDerivative; NULL on an error: PORT (no such port or element, no gradient, or a weight that is not trained), USAGE
 * (the run has continued), and those of differentiation. */
GArray *derivative_chain_new (StepWalk *walk, const char *port, gint64 element, double *value, double *gradient,
                              GError **error);
