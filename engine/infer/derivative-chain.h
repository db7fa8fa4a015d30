/* Computes the chain of local derivatives from an element to the loss, at the values of a step. */
#pragma once

#include "engine/infer/loom-derivative.h"
#include "engine/net/loom-net.h"
#include "engine/run/loom-eager.h"

/* A computed step: its values, and what computes one of its nodes again. */
typedef struct
{
  const LoomNet *net;
  LoomProgram *program;
  LoomEager *eager; /* that has computed the program */
  LoomNetSource loss;
  LoomLowerOptions options; /* of the program; what is wanted and given is set for each node */
  LoomState *state;
  LoomDevices *devices;
  const char *device;
  gboolean (*trains) (gpointer data, int slot); /* a slot of the program has a gradient */
  /* The value of a port, or with LOOM_PORT_GRADIENT its gradient, which is to be multiplied by *scale. NULL without
   * error: it is not known. (transfer full) */
  LoomTensor *(*port) (gpointer data, const char *port, double *scale, GError **error);
  gpointer data;
} DerivativeStep;

/* The backward pass of the step must be complete. The local derivatives of a node are the exact ones of its primitives:
 * the gradient of a node is linear in the gradients of its outputs, and the derivative of that function is a column of
 * the node's Jacobian matrix. port: an output, or a weight, whose chain begins with the nodes that compute with it.
 * *value and *gradient: of the element itself; in a loop an element of the values of all iterations. Returns
 * LoomDerivative; NULL on an error: PORT (no such port or element, no gradient, or a weight that is not trained), and
 * those of differentiation. */
GArray *derivative_chain_new (const DerivativeStep *step, const char *port, gint64 element, double *value,
                              double *gradient, GError **error);
