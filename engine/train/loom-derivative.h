/* The chain rule for one number of a step: from an element of a tensor, from node to node, to the loss. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* A link of the chain: from the element before it to an element of a node that reads it. Among all elements that depend
 * on the one before, it is that with the largest product. */
typedef struct
{
  char *port;      /* of the node: "act", "data.x" */
  gint64 element;  /* row-major index */
  double local;    /* its derivative with respect to the element before */
  double gradient; /* of the loss with respect to it */
  gint64 n_terms;  /* number of elements that depend on the one before, in all readers */
  guint n_readers; /* number of nodes that read it: its paths */
  double sum;      /* sum of local · gradient over all of them: the gradient of the element before */
} LoomDerivative;

G_END_DECLS
