/* The internal structs of a net: scopes, instances, loops and nodes.
 *
 * Building has three steps. net-scope.c compiles each scope once: names become indices, and a fault of a wire is
 * reported once even if the module is used often. net-expand.c makes the instances, and net-follow.c follows wires
 * across their borders. net-order.c orders the nodes, and net-infer.c types them. All memory of a net is in one arena
 * and is freed together. net-lower.c lowers a finished net. The body of a loop is an instance like a module, but wires
 * end at its borders (net-loop.c). */
#pragma once

#include "engine/graph/loom-expr.h"
#include "engine/net/loom-axes.h"
#include "engine/net/loom-net.h"
#include "engine/net/loom-net-since.h"
#include "engine/ops/loom-context.h"
#include "engine/ops/loom-loop.h"
#include "engine/ops/loom-param.h"

/* ---- memory ---- */
typedef struct
{
  GPtrArray *blocks;
  char *next;
  gsize left;
  gsize size; /* bytes allocated so far */
} NetArena;

gpointer loom_net_alloc (NetArena *arena, gsize bytes); /* zeroed */
char *loom_net_strdup (NetArena *arena, const char *text);

/* ---- arguments of modules ---- */
typedef struct
{
  const char *name;
  const char *text; /* the value in the form of an attribute; NULL if a fault makes it unknown */
  gboolean is_number, is_module;
  LoomNumber number;
} NetArgument;

typedef struct
{
  guint n;
  NetArgument *items;
} NetEnvironment;

/* ---- scopes ---- */
typedef struct _NetScope NetScope;
typedef struct _NetInstance NetInstance;
typedef struct _NetLoop NetLoop;

/* A body of a loop. The bodies of a switch have the same ports, maybe in another order. */
typedef struct
{
  NetScope *scope;
  guint *input, *output; /* by port of the first body: the corresponding port of this body */
} NetBody;

typedef enum
{
  NET_BROKEN,
  NET_OP,
  NET_MODULE,
  NET_INPUT,
  NET_OUTPUT
} NetKind;

typedef struct
{
  guint from; /* number of the source node in its scope */
  /* index of the source output; −1: `port` names it (for weights, and for outputs that depend on parameters) */
  int output;
  /* that name, or the path of a weight inside a module ("0.conv.weight"); NULL if it was omitted */
  const char *port;
  const LoomElement *wire;
} NetWire;

typedef struct
{
  NetKind kind;
  const char *id;
  const char *path; /* path in the first instance, for faults */
  const LoomElement *element;
  guint64 serial;   /* of that element, which may be gone when the net is renewed */
  const LoomOp *op; /* for NET_MODULE: the loop of which it is a body; NULL for an ordinary module */
  NetScope *module;
  guint n_bodies; /* of a loop; the first body is `module` */
  NetBody *bodies;
  const LoomPortSpec *inputs; /* for NET_OP */
  guint port;                 /* for NET_INPUT and NET_OUTPUT: the index of the module's port */
  guint n_ports;              /* number of inputs */
  NetWire **wires;            /* by input; NULL: not wired */
  gboolean *wrong;            /* by input: it is wired, but the wire has a fault */
  gboolean faulty;            /* LoomOp.check reported a fault */
} NetLocal;

/* TRUE for a node that runs one of several bodies; the bodies have numbers in paths, as copies have. */
static inline gboolean
loom_net_is_switch (const NetLocal *local)
{
  return loom_op_loop (local->op) != NULL && loom_op_loop (local->op)->kind == LOOM_LOOP_SWITCH;
}

/* The ends of a <wire> as local nodes of its scope; G_MAXUINT: there is no such node. */
typedef struct
{
  const LoomElement *wire;
  guint64 serial; /* of that element, which may be gone when the net is renewed */
  guint from, to;
} NetEnds;

struct _NetScope
{
  const LoomElement *element;
  const char *name; /* name of the module; NULL for the graph */
  gboolean compiling;
  guint n_locals;
  NetLocal *locals;
  guint *inputs, *outputs; /* local nodes that are ports of the module */
  guint n_inputs, n_outputs;
  guint n_wires;
  NetEnds *wires;                /* in the order of the file */
  guint locals_room, wires_room; /* allocated */
  int *carrier; /* by input: the output whose value it takes in the next iteration of a loop; −1: none */
};

/* ---- instances ---- */
typedef struct _NetLocation NetLocation;

typedef struct
{
  guint n;              /* number of copies, and of nodes for NET_OP */
  guint first;          /* for NET_OP: the number of the first copy's node */
  NetInstance **copies; /* for NET_MODULE */
  NetLocation *locations;
} NetSlot;

struct _NetInstance
{
  NetScope *scope;
  NetInstance *parent;
  guint local; /* the corresponding local node of the parent's scope */
  guint copy;
  NetInstance **siblings; /* all copies, including this one */
  NetEnvironment arguments;
  const char *path, *weight_path, *device; /* paths are "" at the root */
  gboolean frozen, muted;
  NetLoop *loop;     /* the innermost loop around its nodes; NULL: none */
  guint body;        /* the index of the body of that loop that contains it */
  gboolean is_body;  /* it is the body itself; FALSE for a module inside the body */
  const char *dtype; /* the type in which its nodes compute, as written; NULL: the graph's */
  int stage;         /* the pipeline stage of its nodes; −1: none is named */
  NetSlot *slots;    /* by local node */
};

/* ---- loops ---- */
typedef enum
{
  NET_WHOLE,    /* the same in every iteration */
  NET_SEQUENCE, /* a row in each iteration */
  NET_CARRIED   /* passed from one iteration to the next, or from children to parents */
} NetBorderKind;

/* A node that runs modules as the bodies of a loop. */
struct _NetLoop
{
  const LoomLoop *spec;
  const NetLocal *local;
  guint n_bodies;
  NetInstance **bodies;
  NetInstance *body; /* the first body */
  NetLoop *outer;    /* the loop that contains this one; NULL: none */
  guint node;
  NetBorderKind *kind; /* by input of the module */
  guint axis;
  LoomDim steps;   /* number of iterations; unknown until a sequence is typed */
  guint slots;     /* for a tree: the maximum number of children; 0 if children are added up */
  gboolean by_row; /* for a switch: each sample chooses its branch; known when the node is typed */
  guint n_members;
  /* nodes inside this loop and in no inner loop, in the order of the net; NULL until it is ordered */
  guint *members;
};

/* ---- nodes ---- */
/* What a node was before it was typed again (net-renew.c). */
typedef struct _NetRenewal NetRenewal;

typedef struct
{
  LoomNetNode node; /* the public part */
  LoomInfer infer;  /* its data are this struct */
  LoomNet *net;
  guint index; /* index in the net */
  const char *weight_path;
  gboolean frozen;
  gboolean bypassed; /* the node itself is muted, not only a module around it */
  const NetEnvironment *arguments;
  NetLoop *loop;          /* the loop that contains it; NULL: none */
  guint body;             /* the body of that loop that contains it */
  NetLoop *runs;          /* the loop that it runs; NULL: none */
  int border;             /* the input of its loop's body that it represents; −1: it is an ordinary node */
  gboolean broken;        /* a wire into it has a fault, so its type cannot be known */
  gboolean unconnected;   /* the part of this that is known before types are */
  gboolean queries;       /* infer() asked for the state of other nodes */
  gboolean passes_by;     /* one of its sources was bypassed */
  guint file;             /* index in the order of the file; set while a net is renewed */
  guint outputs_room;     /* number of types for which infer.output has space */
  LoomDeclared *declared; /* where infer.declared are; NULL: none yet */
  guint declared_room;    /* number for which there is space */
  char *summary;          /* where node.summary is; NULL: none yet */
  gsize summary_room;     /* bytes for which there is space */
  guint64 since;          /* the number of the net that changed it last; 0: it is as the net was built */
  guint n_axes;           /* outputs whose axes are kept */
  LoomNetAxes *axes;      /* [2 n_axes]: the names, and those before names were propagated backward; NULL: not kept */
  guint64 axes_since;     /* the number of the net that changed the names last */
  NetRenewal *renewal;    /* NULL unless the net is being renewed and the node is typed again */
} NetNode;

/* What a path leads to. */
struct _NetLocation
{
  NetInstance *instance;
  guint local;
  int copy;          /* −1: all copies */
  NetLocation *next; /* of the same local node */
};

struct _LoomNet
{
  int refs;      /* atomic: the owner, and nets that were bound from this one */
  LoomNet *base; /* from which it was bound: owner of what both share; NULL: it owns all */
  NetArena arena;
  const LoomGraph *graph; /* only during building */
  LoomFaults *faults;     /* only during building */
  char *folder;
  LoomGuard guard;
  LoomBinding binding;
  gboolean has_binding;
  LoomFaults *repeated_faults; /* only during building: collects faults that other copies have reported already */
  GHashTable *reported;        /* keys of reported faults: "serial message" */
  GHashTable *claimed;         /* only during building: full names of state to which an assign node gives a new value */
  GHashTable *advice;          /* only during building: by unknown operator name, the suggestion */
  GHashTable *scopes;          /* key of module and its module arguments → NetScope */
  GPtrArray *compiling_modules;
  NetInstance *root;
  GPtrArray *nodes; /* NetNode: in the order of the file, and topological once the net is built */
  GPtrArray *loops; /* NetLoop */
  guint *order;     /* maps the first of these orders to the second; NULL until then */
  GArray *weights;  /* LoomNetWeight */
  GHashTable *weight_by_name;
  GHashTable *locations;           /* path → NetPlace */
  GHashTable *ids;                 /* serial → id */
  GHashTable *recomputed, *dtypes; /* see loom_net_recomputed() and loom_net_dtypes() */

  /* For loom_net_renew(). */
  guint64 version;      /* of the graph */
  guint64 number;       /* see loom-net-since.h */
  guint64 built;        /* the number with which it was built as a whole */
  guint64 order_since;  /* the number of the net that changed the order of nodes last */
  guint64 wires_since;  /* the number of the net that changed a source of a node last */
  guint64 axes_number;  /* the number of the net for which axes were kept last; 0: they are not kept */
  gboolean has_splits;  /* a node has an attribute "split", or had one */
  gboolean has_devices; /* a node or a module around it names a device, or did */
  gboolean had_faults;  /* of the graph itself */
  gboolean is_whole;    /* the next version has to be built again as a whole */
  guint n_typed;        /* calls of loom_net_infer_node() so far for this version */
  guint n_modules;      /* in the root */
  gboolean has_stages;  /* a node or a module around it names a stage */
  GHashTable *noisy;    /* serials of nodes and wires of the root about which a fault was reported */
  gsize arena_size;     /* bytes of the arena when the net was built as a whole */
};

/* The state that exists only while a net is built or changed. */
void loom_net_begin (LoomNet *net, const LoomGraph *graph, LoomFaults *faults);
void loom_net_end (LoomNet *net);
GArray *loom_net_weights_new (guint reserved); /* of LoomNetWeight */
/* net-bind.c: a copy of a node for another net, with its state before it was typed. */
NetNode *loom_net_copy_node (LoomNet *to, const NetNode *from);
/* net-roots.c: removes faults of inference that follow from other faults. */
void loom_net_keep_roots (LoomNet *net);
/* net-stages.c: reports nodes that read values of a later stage. */
void loom_net_check_stages (LoomNet *net);

/* Reports a fault of an element. If it was reported for another copy of the module already, it is added to a list that
 * is not shown. Never NULL. */
LoomFault *loom_net_fault (LoomNet *net, const LoomElement *element, const char *path, LoomErrorCode code,
                           const char *port, const char *format, ...) G_GNUC_PRINTF (6, 7);
/* Interns a string until the process ends, because programs and events name nodes after their net is freed. No GQuark:
 * its table is copied for every 2,048 new strings, which would take gigabytes for a large graph. */
const char *loom_net_intern (const char *text);
const char *loom_net_join (LoomNet *net, const char *path, const char *id); /* interned */

/* net-scope.c. path: the location for faults. */
NetScope *loom_net_scope (LoomNet *net, const LoomElement *element, const NetEnvironment *arguments, const char *path);
/* Steps along the path of a weight: over the number of a copy (−1 if there is none), and to the node of a scope named
 * by the first n letters. */
const char *loom_net_skip_copy (const NetLocal *local, const char *way, int *copy);
const NetLocal *loom_net_find_local (const NetScope *scope, const char *way, gsize n);

/* The steps of compiling a scope, for one node. loom_net_compile_local() returns FALSE if no wire can name it. */
gboolean loom_net_compile_local (LoomNet *net, NetScope *scope, NetLocal *local, const LoomElement *element,
                                 const NetEnvironment *arguments, const char *path);
void loom_net_prepare_ports (LoomNet *net, NetLocal *local);
void loom_net_check_inputs (LoomNet *net, NetLocal *local);

/* net-wire.c: the wires of a scope that is being compiled. */
/* Allocates n inputs of a variadic operator. */
void loom_net_grow_inputs (LoomNet *net, NetLocal *local, guint n);
void loom_net_compile_wire (LoomNet *net, NetScope *scope, const NetEnds *ends);
/* Sets the ends of a wire. */
void loom_net_find_ends (const NetScope *scope, const guint *local_of_child, NetEnds *ends);

/* net-expand.c, net-connect.c: connects the nodes of an instance and of the instances in it. */
/* Maximum number of nodes of a net. */
#define NET_MAX_NODES 200000 /* of about 1 KB each; with program and plan of 6 */
void loom_net_expand (LoomNet *net);
/* Makes the nodes of one local node of an instance. */
void loom_net_expand_local (LoomNet *net, NetInstance *instance, guint local);
/* Reports a wrong number of copies, as expanding does; all of them come first. */
void loom_net_count_copies (LoomNet *net, NetInstance *instance, guint local);
/* Makes the list of a node's outputs, which are untyped. */
void loom_net_prepare_outputs (NetNode *n);
void loom_net_connect (LoomNet *net, NetInstance *instance);
/* Connects the nodes of an operator in an instance. */
void loom_net_connect_local (LoomNet *net, NetInstance *instance, guint local);
/* The index of a node in the net's present order, from its index in the order of the file. */
static inline guint
loom_net_index_of (const LoomNet *net, guint file)
{
  return net->order != NULL ? net->order[file] : file;
}
/* net-renew.c: changes a net into that of the graph's present version; FALSE if it has to be built as a whole, and the
 * net is then fit for nothing but loom_net_free(). net->graph and net->faults are set. */
gboolean loom_net_change (LoomNet *net);

/* net-loop.c: bodies of loops. The node that runs a loop has as inputs those of the module, its own port (the lengths
 * of the samples), and the outputs of each body in the first body's order, for which it waits. */
/* The input of that node for output o (in the first body's order) of body b. */
static inline guint
loom_net_body_output (const NetScope *module, guint b, guint o)
{
  return module->n_inputs + 1 + b * module->n_outputs + o;
}
/* A port of a module, and the index of the port with this id; −1: there is none. */
static inline const NetLocal *
net_port (const NetScope *module, gboolean is_input, guint i)
{
  return module->locals + (is_input ? module->inputs : module->outputs)[i];
}
int net_find_port (const NetScope *module, gboolean is_input, const char *id);
/* A fault at a node. */
#define net_complain(net, n, code, port, ...)                                                                          \
  loom_net_fault (net, (n)->node.element, (n)->node.path, code, port, __VA_ARGS__)
/* Finds the outputs of a module that are carried, and reports faults of their names. */
void loom_net_pair_carried (LoomNet *net, NetScope *scope);
/* TRUE if an input of a loop needs no wire: it starts with zeros, or is an optional port. */
gboolean loom_net_begins_as_zeros (const NetLocal *local, guint input);
/* TRUE if an input of a loop must not be wired, because children provide its value. */
gboolean loom_net_is_from_children (const NetLocal *local, guint input);
/* The sentence of the fault of an input that is not wired, with its name as %s. */
const char *loom_net_why_unwired (const NetLocal *local, guint input);
/* Pairs the ports of the bodies; FALSE after a fault if they differ. */
gboolean loom_net_match_bodies (LoomNet *net, NetLocal *local);
/* The input to which an output is carried, or −1. */
int loom_net_carried_input (const NetScope *module, guint output);
/* Lists the ports of the node that runs a loop. */
void loom_net_prepare_loop (LoomNet *net, NetNode *n);
/* The output of the node that runs a loop, for an output of one of its bodies. */
guint loom_net_loop_output (const NetInstance *body, guint output);
void loom_net_infer_border (LoomNet *net, NetNode *n);
void loom_net_infer_loop (LoomNet *net, NetNode *n);
/* The node that represents an input of a body, in the first body's order. */
guint loom_net_border (const LoomNet *net, const NetLoop *loop, guint body, guint input);
/* FALSE with a fault if the carried value `name` has another type after an iteration than before. */
gboolean loom_net_check_carried (LoomNet *net, NetNode *n, guint output, guint input, const LoomType *after);
/* net-visit.c: the same for switch and recurse. */
void loom_net_prepare_tree (LoomNet *net, NetNode *n);
void loom_net_infer_tree_border (LoomNet *net, NetNode *n);
void loom_net_infer_tree (LoomNet *net, NetNode *n);
void loom_net_infer_switch (LoomNet *net, NetNode *n);
/* "f32 B × 3". (transfer full) */
char *loom_net_type_to_string (const LoomType *type);
/* Makes the net again, for lowering, with the bodies of a loop typed for `rows` rows instead of `all`, as the first
 * dimension of each input. NULL with an error if a node cannot have them. */
LoomNet *loom_net_retype (const LoomNet *net, const NetLoop *loop, gint64 all, gint64 rows, GError **error);
void loom_net_retype_free (LoomNet *net);
/* Reports why a node cannot be in a loop's body; TRUE after a fault. */
gboolean loom_net_cannot_loop (LoomNet *net, const NetNode *n);
/* Called when the net is ordered. */
void loom_net_collect_members (LoomNet *net);
/* The number of times that a node is computed: the product of the iterations of all loops around it. */
double loom_net_count_runs (const NetNode *n, const LoomBinding *ones);

/* net-follow.c */
/* Reports muted modules below the instance whose input has another type than their output. Called when all is typed. */
void loom_net_check_muted (LoomNet *net, NetInstance *instance);
/* Follows output `output` of a local node to the operator that computes it; FALSE if a fault is in between. */
gboolean loom_net_follow (LoomNet *net, NetInstance *instance, guint local, int copy, int output, const char *port,
                          LoomNetSource *source);
gboolean loom_net_follow_wire (LoomNet *net, NetInstance *instance, const NetWire *wire, LoomNetSource *source);

/* net-params.c: the text of an attribute with its expression evaluated; NULL after a fault. */
const char *loom_net_evaluate (LoomNet *net, const LoomElement *element, const char *path,
                               const NetEnvironment *arguments, const char *name, const char *text, NetArgument *value);
/* If an integer is expected, converts a float that is equal to one: {channels / 2}. */
void loom_net_make_integer (LoomNet *net, NetArgument *value);
void loom_net_parse_params (LoomInfer *infer);
void loom_net_check_reserved (LoomNet *net, const LoomElement *element, const char *path, const LoomOp *op);

/* net-order.c */
/* TRUE if a node has to come after the source of an input. A source in place of a weight (a tie) is only compared with
 * it at the end, so ties make no cycles: the first layer may use the weight of the last one. */
gboolean loom_net_waits_for (const LoomNet *net, const LoomNetNode *node, guint input);
void loom_net_sort (LoomNet *net);
static inline gboolean
loom_type_equal (const LoomType *a, const LoomType *b)
{
  return a->dtype == b->dtype && loom_shape_equal (&a->shape, &b->shape);
}

/* net-infer.c */
/* Replaces a source that is an output of a muted node by the source of the node's first input of that type. FALSE after
 * a fault if there is none. */
gboolean loom_net_pass_by (LoomNet *net, LoomNetSource *source);
LoomFault *
loom_net_fault_muted (LoomNet *net, const LoomElement *element, const char *path, const char *id, const LoomType *type);
extern const LoomInferHost loom_net_infer_host;
/* Types one node, after the nodes that it reads from. ones: the binding, with 1 for unbound symbols. */
void loom_net_infer_node (LoomNet *net, NetNode *n, const LoomBinding *ones);
/* The binding of a net, with 1 for unbound symbols. */
LoomBinding loom_net_ones (const LoomNet *net);
void loom_net_infer_all (LoomNet *net);
/* The same for nodes that are sorted. */
void loom_net_type_all (LoomNet *net);
