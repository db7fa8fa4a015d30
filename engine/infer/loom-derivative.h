/* The chain rule for one number of a step: from an element of a tensor, from node to node, to the loss. */
#pragma once

#include <glib.h>

#define LOOM_DERIVATIVE_TERMS 8

/* A path from an element to one that depends on it directly: its product is a term of the element's gradient. */
typedef struct
{
  char *port;      /* of the node: "act", "data.x" */
  gint64 element;  /* row-major index */
  double local;    /* its derivative with respect to the element before */
  double gradient; /* of the loss with respect to it */
} LoomDerivativeTerm;

/* A link of the chain: from the element before it to all elements that depend on it. The chain continues at the one
 * with the largest product. A loop is one node: what its results depend on in all iterations. */
typedef struct
{
  guint n_listed; /* the largest terms, the largest first */
  LoomDerivativeTerm term[LOOM_DERIVATIVE_TERMS];
  gint64 n_terms;  /* number of elements that depend on the one before, in all readers */
  guint n_readers; /* number of nodes that read it */
  double sum;      /* sum of local · gradient over all terms: the gradient of the element before */
  double size;     /* sum of |local · gradient|, of which a term has its share */
} LoomDerivative;
