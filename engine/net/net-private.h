/* The inside of a net: scopes compiled once, instances of them, and what infer() sees.
 *
 * Three steps share these structs. net-scope.c compiles each scope once: names become indexes, and whatever is wrong
 * with a wire is said once, however often a module is used. net-expand.c makes the instances, net-follow.c follows
 * wires across their borders. net-order.c orders the nodes and net-infer.c types them. Everything a net allocates lives
 * in one arena and goes at once. net-lower.c walks a finished net. The body of a loop stands in the net like a module,
 * but wires end at its borders: net-loop.c. */
#pragma once

#include "engine/graph/loom-expr.h"
#include "engine/net/loom-net.h"
#include "engine/ops/loom-context.h"
#include "engine/ops/loom-loop.h"
#include "engine/ops/loom-param.h"

G_BEGIN_DECLS

/* ---- memory ---- */
typedef struct
{
  GPtrArray *blocks;
  char *next;
  gsize left;
} NetArena;

gpointer loom_net_alloc (NetArena *arena, gsize bytes); /* zeroed */
char *loom_net_strdup (NetArena *arena, const char *text);

/* ---- arguments of modules ---- */
typedef struct
{
  const char *name;
  const char *text; /* the value as an attribute would have it; NULL where it is unknown because of a fault */
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

/* A body of a loop. Those of a switch have the same ports, perhaps in another order. */
typedef struct
{
  NetScope *scope;
  guint *input, *output; /* its port by that of the first body */
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
  guint from;       /* local node */
  int output;       /* index of its output; -1: by name, for weights and for outputs that depend on parameters */
  const char *port; /* that name, or the way to a weight ("0.conv.weight" in a module); NULL where it was omitted */
  const LoomElement *wire;
} NetWire;

typedef struct
{
  NetKind kind;
  const char *id;
  const char *path; /* in the first instance: where a fault says it is */
  const LoomElement *element;
  const LoomOp *op; /* of NET_MODULE: the loop whose body it is; NULL for a module that is used as it is */
  NetScope *module;
  guint n_bodies; /* of a loop; the first is `module` */
  NetBody *bodies;
  const LoomPortSpec *inputs; /* of NET_OP */
  guint port;                 /* of NET_INPUT and NET_OUTPUT: which port of the module */
  guint n_ports;              /* inputs */
  NetWire **wires;            /* by input; NULL where none */
  gboolean *wrong;            /* by input: a wire is there, but it is at fault */
  gboolean faulty;            /* LoomOp.check said so */
} NetLocal;

/* TRUE for a node that runs one of several bodies, which have numbers in paths as copies have. */
static inline gboolean
loom_net_is_switch (const NetLocal *local)
{
  return loom_op_loop (local->op) != NULL && loom_op_loop (local->op)->kind == LOOM_LOOP_SWITCH;
}

struct _NetScope
{
  const LoomElement *element;
  const char *name; /* of the module; NULL for the graph */
  gboolean compiling;
  guint n_locals;
  NetLocal *locals;
  guint *inputs, *outputs; /* locals that are ports of the module */
  guint n_inputs, n_outputs;
  int *carrier; /* by input: the output that carries it to a loop's next step; -1: none */
};

/* ---- instances ---- */
typedef struct
{
  guint n;              /* copies */
  guint first;          /* NET_OP: node of the first one */
  NetInstance **copies; /* NET_MODULE */
} NetSlot;

struct _NetInstance
{
  NetScope *scope;
  NetInstance *parent;
  guint local; /* which node of the parent's scope */
  guint copy;
  NetInstance **siblings; /* the copies, this one among them */
  NetEnvironment arguments;
  const char *path, *weight_path, *device; /* paths are "" at the root */
  gboolean frozen, muted;
  NetLoop *loop;     /* the innermost loop around its nodes, or NULL */
  guint body;        /* which of that loop's bodies it is, or is in */
  gboolean is_body;  /* of that loop; FALSE for a module within the body */
  const char *dtype; /* what its nodes compute in, as it is written; NULL: the graph's */
  int stage;         /* of its nodes; -1: none is named */
  NetSlot *slots;    /* by local */
};

/* ---- loops ---- */
typedef enum
{
  NET_WHOLE,    /* the same at every step */
  NET_SEQUENCE, /* a row at every step */
  NET_CARRIED   /* from one step to the next, from children to parents */
} NetBorderKind;

/* A node that runs modules as bodies of a loop. */
struct _NetLoop
{
  const LoomLoop *spec;
  const NetLocal *local;
  guint n_bodies;
  NetInstance **bodies;
  NetInstance *body; /* the first one */
  NetLoop *outer; /* the loop that this one stands in, or NULL */
  guint node;
  NetBorderKind *kind; /* by input of the module */
  guint axis;
  LoomDim steps;   /* unknown until a sequence is typed */
  guint slots;     /* of a tree: its arity, 0 where children are added up */
  gboolean by_row; /* of a switch: each sample chooses; once the node is typed */
  guint n_members;
  guint *members; /* nodes that stand in it and in no loop within it, once the net is ordered */
};

/* ---- nodes ---- */
typedef struct
{
  LoomNetNode node; /* what the public sees */
  LoomInfer infer;  /* its data is this struct */
  LoomNet *net;
  guint index; /* in the net */
  const char *weight_path;
  gboolean frozen;
  gboolean bypassed; /* muted itself, and not only with the module that it is in */
  const NetEnvironment *arguments;
  NetLoop *loop;   /* that it stands in, or NULL */
  guint body;      /* in which of its bodies */
  NetLoop *runs;   /* that it runs, or NULL */
  int border;      /* the input of its loop's body that it is; -1: it computes something */
  gboolean broken; /* a wire into it is at fault, so its type cannot be known */
} NetNode;

typedef struct
{
  NetInstance *instance;
  guint local;
  int copy; /* -1: all of them */
} NetPlace;

struct _LoomNet
{
  NetArena arena;
  const LoomGraph *graph; /* while it is made only */
  LoomFaults *faults;     /* while it is made only */
  char *folder;
  LoomGuard guard;
  LoomBinding binding;
  gboolean has_binding;
  LoomFaults *repeated_faults; /* while it is made only: what other copies complained about before */
  GHashTable *reported;        /* faults already reported: "serial message" */
  GHashTable *claimed;         /* while it is made only: full names of state that an assign gives a new value */
  GHashTable *advice;          /* while it is made only: by the name of an operator that there is not */
  GHashTable *scopes;          /* key of module and its module arguments → NetScope */
  GPtrArray *compiling_modules;
  NetInstance *root;
  GPtrArray *nodes; /* NetNode: in the order of the file, and topological once the net is made */
  GPtrArray *loops; /* NetLoop */
  guint *order;     /* from the first of these orders to the second; NULL until then */
  GArray *weights;  /* LoomNetWeight */
  GHashTable *weight_by_name;
  GHashTable *places;              /* path → NetPlace */
  GHashTable *ids;                 /* serial → id */
  GHashTable *recomputed, *dtypes; /* as loom_net_recomputed() and loom_net_dtypes() have them */
};

/* Keeps of the faults that inference found those that others follow from: net-roots.c. */
void loom_net_keep_roots (LoomNet *net);
/* Faults of nodes that read what a later stage makes (net-stages.c). */
void loom_net_check_stages (LoomNet *net);

/* A fault of an element. Of 100 copies of a module only the first reports it: a repeated sentence
 * goes to a list that is not shown, so the result is never NULL. */
LoomFault *loom_net_fault (LoomNet *net, const LoomElement *element, const char *path, LoomErrorCode code,
                           const char *port, const char *format, ...) G_GNUC_PRINTF (6, 7);
/* Kept until the process ends, as programs and events name nodes after their net is gone. Not a GQuark: its table is
 * copied for every 2,048 new strings, which a graph of a million nodes would turn into gigabytes. */
const char *loom_net_intern (const char *text);
const char *loom_net_join (LoomNet *net, const char *path, const char *id); /* interned */

/* net-scope.c: `path` is where a fault says it is. */
NetScope *loom_net_scope (LoomNet *net, const LoomElement *element, const NetEnvironment *arguments, const char *path);
/* Steps on the way to a weight: past the number of a copy (-1 where none is given), and to a node of a scope by the
 * first n letters. */
const char *loom_net_skip_copy (const NetLocal *local, const char *way, int *copy);
const NetLocal *loom_net_find_local (const NetScope *scope, const char *way, gsize n);

/* net-wire.c: wires of a scope that is being compiled. */
/* Makes room for n inputs of a variadic operator. */
void loom_net_grow_inputs (LoomNet *net, NetLocal *local, guint n);
void loom_net_compile_wire (LoomNet *net, NetScope *scope, const guint *local_of_child, const LoomElement *element);

/* net-expand.c, and net-connect.c: the wires into the nodes of an instance and of those in it. */
void loom_net_expand (LoomNet *net);
void loom_net_connect (LoomNet *net, NetInstance *instance);

/* net-loop.c: bodies of loops. The node that runs one has the module's inputs, then the port of its own (the
 * samples' lengths), then the outputs of each body, in the first one's order, which it waits for. */
/* The input of the node that body b's output o of the first one's order is. */
static inline guint
loom_net_body_output (const NetScope *module, guint b, guint o)
{
  return module->n_inputs + 1 + b * module->n_outputs + o;
}
/* Finds which outputs of a module are carried, and says what is wrong with their names. */
void loom_net_pair_carried (LoomNet *net, NetScope *scope);
/* TRUE if an input of a loop needs no wire: it begins as zeros, or is a port that may be left out. */
gboolean loom_net_begins_as_zeros (const NetLocal *local, guint input);
/* TRUE if nothing can be wired into an input of a loop: it is what children give. */
gboolean loom_net_is_from_children (const NetLocal *local, guint input);
/* Says what is wrong where a fault is that an input is not wired. (static or arena) */
const char *loom_net_why_unwired (const NetLocal *local, guint input);
/* Pairs the ports of bodies; FALSE after a fault, where they differ. */
gboolean loom_net_match_bodies (LoomNet *net, NetLocal *local);
/* The input that an output is carried to, or -1. */
int loom_net_carried_input (const NetScope *module, guint output);
/* Lists the ports of the node that runs a loop. */
void loom_net_prepare_loop (LoomNet *net, NetNode *n);
/* The output of the node that runs a loop, by that of a body of it. */
guint loom_net_loop_output (const NetInstance *body, guint output);
void loom_net_infer_border (LoomNet *net, NetNode *n);
void loom_net_infer_loop (LoomNet *net, NetNode *n);
/* The node of an input of a body, in the first body's order. */
guint loom_net_border (const LoomNet *net, const NetLoop *loop, guint body, guint input);
/* FALSE with a fault where the input or output `name`, which comes back as what it was before, has another type. */
gboolean loom_net_check_carried (LoomNet *net, NetNode *n, guint output, guint input, const LoomType *after);
/* net-visit.c: the same of switch and recurse. */
void loom_net_prepare_tree (LoomNet *net, NetNode *n);
void loom_net_infer_tree_border (LoomNet *net, NetNode *n);
void loom_net_infer_tree (LoomNet *net, NetNode *n);
void loom_net_infer_switch (LoomNet *net, NetNode *n);
/* "f32 B × 3" (transfer full) */
char *loom_net_type_to_string (const LoomType *type);
/* The net again, for lowering, with the nodes of a loop's bodies typed for `rows` rows in place of `all`: that is the
 * first dimension of each of its inputs then. NULL with an error where a node cannot take them. */
LoomNet *loom_net_retype (const LoomNet *net, const NetLoop *loop, gint64 all, gint64 rows, GError **error);
void loom_net_retype_free (LoomNet *net);
/* Says why a node cannot stand in a loop's body; TRUE after a fault. */
gboolean loom_net_cannot_loop (LoomNet *net, const NetNode *n);
/* Once the net is ordered. */
void loom_net_collect_members (LoomNet *net);
/* How often a node is computed: the steps of all loops around it. */
double loom_net_count_runs (const NetNode *n, const LoomBinding *ones);

/* net-follow.c */
/* Says of muted modules below the instance that what passes them by is not what they give, once all is typed. */
void loom_net_check_muted (LoomNet *net, NetInstance *instance);
/* Follows output `output` of a local node to the operator that computes it; FALSE where a fault is in between. */
gboolean loom_net_follow (LoomNet *net, NetInstance *instance, guint local, int copy, int output, const char *port,
                          LoomNetSource *source);
gboolean loom_net_follow_wire (LoomNet *net, NetInstance *instance, const NetWire *wire, LoomNetSource *source);

/* net-params.c: an attribute's text with its expression evaluated; NULL after a fault. */
const char *loom_net_evaluate (LoomNet *net, const LoomElement *element, const char *path,
                               const NetEnvironment *arguments, const char *name, const char *text, NetArgument *value);
/* Where an integer is asked for, a float that is one exactly becomes it: {channels / 2}. */
void loom_net_make_integer (LoomNet *net, NetArgument *value);
void loom_net_parse_params (LoomInfer *infer);
void loom_net_check_reserved (LoomNet *net, const LoomElement *element, const char *path, const LoomOp *op);

/* net-order.c */
/* TRUE if a node waits for what is wired into an input. A weight that stands for another is only compared with it, in
 * the end, so a tie never makes a ring: the first layer may use what the last one learns. */
gboolean loom_net_waits_for (const LoomNet *net, const LoomNetNode *node, guint input);
void loom_net_sort (LoomNet *net);
static inline gboolean
loom_type_equal (const LoomType *a, const LoomType *b)
{
  return a->dtype == b->dtype && loom_shape_equal (&a->shape, &b->shape);
}

/* net-infer.c */
/* Takes a source that is an output of a muted node to what passes the node by: its first input of that type. FALSE
 * after a fault, where there is none. */
gboolean loom_net_pass_by (LoomNet *net, LoomNetSource *source);
LoomFault *
loom_net_fault_muted (LoomNet *net, const LoomElement *element, const char *path, const char *id, const LoomType *type);
extern const LoomInferHost loom_net_infer_host;
/* Types one node, those that feed it being typed. ones: the binding with 1 for what it does not bind. */
void loom_net_infer_node (LoomNet *net, NetNode *n, const LoomBinding *ones);
void loom_net_infer_all (LoomNet *net);

G_END_DECLS
