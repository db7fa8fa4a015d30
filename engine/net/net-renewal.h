/* Records what a node was before its net was renewed (net-renew.c), and the weights that nodes declare then. */
#pragma once

#include "engine/net/net-private.h"

struct _NetRenewal
{
  gboolean is_new;  /* the node did not exist */
  gboolean is_made; /* it was made again from its element; else only typed again */
  gboolean retyped; /* its readers have to be typed again */
  gboolean bypassed, typed;
  const LoomOp *op;
  guint n_outputs, n_declared, n_inputs;
  const LoomPortSpec *output_spec;
  const LoomType *output;
  const gboolean *output_is_set;
  guint *weight;    /* of each that it declared */
  NetNode **source; /* by input; NULL: none */
  guint *source_output;
};

/* net-renew-weights.c: puts the weights of nodes that were typed again, `touched`, in place of those before, which are
 * the first n_before. FALSE if they are not as many. */
gboolean loom_net_replace_weights (LoomNet *net, const GPtrArray *touched, guint n_before);
/* Lists the weights in the order of the nodes, and drops those that no node declares any more. */
void loom_net_list_weights (LoomNet *net);
