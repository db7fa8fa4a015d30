/* The tree of modules from which a net was expanded, for code that writes modules as modules of another language.
 *
 * An instance is a scope at one place: the graph, a copy of a module, or a body of a loop. Its locals are the nodes of
 * the scope in the order of the file. Everything is owned by the net and valid until the net is renewed or freed; nets
 * with faults have no complete tree, so callers check the faults first. */
#pragma once

#include "engine/net/loom-net.h"

typedef struct _NetInstance LoomNetInstance;

typedef enum
{
  LOOM_LOCAL_BROKEN, /* not written: a fault was reported */
  LOOM_LOCAL_OP,
  LOOM_LOCAL_MODULE, /* instances of a module, also as bodies of a loop */
  LOOM_LOCAL_INPUT,  /* a port of the module around it */
  LOOM_LOCAL_OUTPUT
} LoomLocalKind;

typedef struct
{
  LoomLocalKind kind;
  const char *id;
  const LoomElement *element;
  const LoomOp *op; /* of an operator or a loop; NULL otherwise */
  guint n_inputs;   /* of a loop: those of its body, then the loop's own port */
  guint n_copies;   /* of a switch: the number of its bodies */
  gboolean repeated, shared, muted;
} LoomNetLocal;

/* The source of an input, in the same instance. */
typedef struct
{
  gboolean wired;
  guint local;
  int output;       /* −1: a weight or buffer */
  const char *name; /* of that weight: "weight", or with a path in a module "0.conv.weight" */
} LoomNetLink;

typedef enum
{
  LOOM_BORDER_WHOLE,    /* the same in every iteration */
  LOOM_BORDER_SEQUENCE, /* one row in each iteration */
  LOOM_BORDER_CARRIED   /* passed from one iteration to the next, or from children to parents */
} LoomBorder;

const LoomNetInstance *loom_net_tree (const LoomNet *net);
/* The <graph> or <module> of an instance, and its path ("" for the graph). */
const LoomElement *loom_net_instance_scope (const LoomNetInstance *self);
const char *loom_net_instance_path (const LoomNetInstance *self);
guint loom_net_instance_n_locals (const LoomNetInstance *self);
LoomNetLocal loom_net_instance_local (const LoomNetInstance *self, guint local);
LoomNetLink loom_net_instance_link (const LoomNet *net, const LoomNetInstance *self, guint local, guint input);
/* The net's node of a copy of an operator, or of the node that runs a loop. */
guint loom_net_instance_node (const LoomNet *net, const LoomNetInstance *self, guint local, guint copy);
/* The instance of a copy of a module, or of a body of a loop. */
const LoomNetInstance *loom_net_instance_copy (const LoomNetInstance *self, guint local, guint copy);
/* Ports of a module as locals. */
guint loom_net_instance_n_ports (const LoomNetInstance *self, gboolean outputs);
guint loom_net_instance_port (const LoomNetInstance *self, gboolean outputs, guint port);
/* For a body of a loop: how an input enters it; the output that is carried to it, or −1; the port of the first body
 * that corresponds to a port of this one. */
LoomBorder loom_net_instance_border (const LoomNet *net, const LoomNetInstance *body, guint input);
int loom_net_instance_carrier (const LoomNetInstance *body, guint input);
guint loom_net_instance_first_port (const LoomNetInstance *body, gboolean outputs, guint port);
