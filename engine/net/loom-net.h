/* A net: a graph made flat and typed.
 *
 * Building a net expands modules, repeats and expressions, looks up operators and their parameters, resolves wires,
 * orders the nodes and infers shapes. Every mistake is a fault with its location; types are still inferred where
 * possible. Studio builds a net at every edit; `check`, training and `run` build one per binding. */
#pragma once

#include "engine/data/loom-dataset.h"
#include "engine/graph/loom-graph.h"
#include "engine/ops/loom-op.h"

typedef struct _LoomNet LoomNet;

typedef struct
{
  char *name; /* the name in a state_dict: "block.0.conv.weight" */
  LoomShape shape;
  LoomDType dtype;
  LoomInit init;
  gboolean is_buffer;
  gboolean is_factor; /* of LoRA */
  gboolean frozen;
  guint node;                    /* the node that declares it */
  const LoomWeightSplit *splits; /* the ways in which ranks may split it; NULL: none */
  gint64 split_count;            /* the number of counted items, for splits that count something */
} LoomNetWeight;

typedef struct
{
  guint node; /* G_MAXUINT: not wired */
  /* An output of that node. Numbers from n_outputs on are its weights and buffers, whose values a wire reads from the
   * beginning of a step. Reading one needs no input of the node, so the node may come later. */
  guint output;
} LoomNetSource;

typedef struct
{
  const char *path; /* interned: "block.0.conv" */
  const LoomOp *op; /* NULL if unknown */
  /* the <node> of the graph from which the net was made; valid until the graph changes */
  const LoomElement *element;
  guint64 serial; /* of that element */
  int line;
  const char *device; /* interned; NULL: the graph's */
  int stage;          /* the pipeline stage that it, or a module around it, names; −1: none */
  /* including each input of a variadic operator; otherwise the number of specs (with ports of weights) */
  guint n_inputs;
  const LoomPortSpec *input_spec;
  const LoomNetSource *input;
  guint n_outputs;
  const LoomPortSpec *output_spec;
  gboolean outputs_dynamic; /* the number of outputs is not known yet, and n_outputs is the largest possible one */
  const LoomType *output;   /* valid only if `typed` */
  gboolean muted;           /* the node, or a module around it, is muted: readers get its input instead of its output */
  gboolean typed;           /* inference typed it without a fault */
  LoomCost cost;            /* with symbols as bound; an unbound B counts as 1 */
  guint loop; /* the node that runs the loop around it, so that it has a value in each iteration; G_MAXUINT: none */
  char own_symbol;     /* the symbol of a size that only data determine, see LoomOp.count_size; 0: none */
  const char *summary; /* second line of the node's card */
} LoomNetNode;

/* Never NULL. Faults are appended to the list; NULL: they are dropped. The graph (frozen or mutable) is only read.
 * binding may be NULL: all sizes are symbolic. The order is topological, and that of the file among independent nodes,
 * so listings are stable. */
LoomNet *loom_net_new (const LoomGraph *graph, const LoomBinding *binding, LoomFaults *faults);
/* The net of the present version of the graph, from the net of an earlier version of this very graph, made without a
 * binding (transfer full). It is equal to a new one in all that this header shows, and so are the faults; but only
 * nodes that the changes reach are typed again. Pointers into the earlier net are invalid. Changes in modules, and
 * graphs with loops, tied weights, cycles or faults of the graph itself (ids, ends of wires) are built as a whole. */
LoomNet *loom_net_renew (LoomNet *net, const LoomGraph *graph, LoomFaults *faults);
/* The same net for other sizes: types, costs, weights and faults are those of loom_net_new (graph, sizes, faults), but
 * names, scopes and wires are shared with `net`, which stays as it is. graph: the unchanged graph of `net`. */
LoomNet *loom_net_bind (const LoomNet *net, const LoomGraph *graph, const LoomBinding *sizes, LoomFaults *faults);
LoomNet *loom_net_ref (const LoomNet *net);
void loom_net_free (LoomNet *net);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomNet, loom_net_free)

guint loom_net_n_nodes (const LoomNet *net);
/* The number of nodes that were typed when this net was built or renewed last: the cost of an edit. */
guint loom_net_n_typed (const LoomNet *net);
const LoomNetNode *loom_net_node (const LoomNet *net, guint i);
int loom_net_find (const LoomNet *net, const char *path); /* −1: none */
/* Finds a port by "PATH.PORT", with the longest path that exists; a module's path alone is its only (or named) output.
 * −1 with a USAGE error that lists the ports, because the caller has named the port. */
int loom_net_find_port (const LoomNet *net, const char *port, guint *output, GError **error);
/* TRUE if the existence of the port is unknown: the outputs of its node depend on parameters that have a fault. */
gboolean loom_net_port_is_unknown (const LoomNet *net, const char *port);
guint loom_net_n_weights (const LoomNet *net);
const LoomNetWeight *loom_net_weight (const LoomNet *net, guint i);
/* By its name in a state_dict; NULL: the net has none of that name. */
const LoomNetWeight *loom_net_weight_named (const LoomNet *net, const char *name);
/* TRUE if a source is a weight or buffer of its node and not an output. */
gboolean loom_net_is_weight (const LoomNet *net, const LoomNetSource *source);
/* TRUE if an input of a node that runs a loop is a result of the loop's body, which does not exist outside of it. */
gboolean loom_net_is_from_body (const LoomNet *net, guint node, guint input);
/* The index, among the net's weights, of a weight or buffer that a node declares, by name or by source; −1 if a wire
 * replaces it or the node declares none of that name. */
int loom_net_find_weight (const LoomNet *net, guint node, const char *name);
int loom_net_source_weight (const LoomNet *net, const LoomNetSource *source);
/* The index of a wired input by name, or −1. The inputs of a variadic operator have no names. */
int loom_net_find_input (const LoomNetNode *node, const char *name);
/* The same for the first input with this role: LOOM_PORT_PREDICTION, LOOM_PORT_TARGET. */
int loom_net_find_input_for (const LoomNetNode *node, LoomPortFlags role);
/* By node: TRUE if the port depends on it. (transfer full) */
gboolean *loom_net_needed_for (const LoomNet *net, const LoomNetSource *of);
/* Finds the prediction that a loss compares: the input of the only node before the loss that compares an input with a
 * target. FALSE if there is none, or several. */
gboolean loom_net_find_prediction (const LoomNet *net, const LoomNetSource *loss, LoomNetSource *output);
/* Adds a DATA fault at each loss node before `loss` whose target is the class of a data set, if the open data set has
 * more classes than the node has logits. Only for named classes, which the data set numbers itself: their numbers are
 * in no file, so a kernel's error about a number would not help. */
void loom_net_check_classes (const LoomNet *net, const LoomNetSource *loss, int dataset_node,
                             const LoomDataset *dataset, LoomFaults *faults);
/* The files and folders outside the graph's own that the nodes and <train> of a graph read, including targets of links
 * in a data set's folder; each once, absolute, with links resolved. (transfer full) Paths in the graph's folder (NULL:
 * the guard's, or else the folder for relative paths), in the folder of data sets (GRADLOOM_DATA) and in /usr/share are
 * left out. Folders that the net's guard refuses are not searched. */
char **loom_net_outside_paths (const LoomNet *net, const LoomGraph *graph, const char *file);
/* Adds a warning with its element for each of them. */
void loom_net_warn_of_outside_paths (const LoomNet *net, const LoomGraph *graph, const char *file, LoomFaults *faults);
/* The parameters and types of a node, as infer() received them, for the functions of loom-op.h. */
const LoomInfer *loom_net_infer (const LoomNet *net, guint node);
/* loom_net_is_dataset(): TRUE if a node delivers batches of a data set. loom_net_open_dataset(): opens that data set,
 * with its options as the net evaluated them. Relative paths start at folder (NULL: the working folder). node −1: the
 * data set without ports. Errors: those of loom_dataset_open(). */
gboolean loom_net_is_dataset (const LoomNet *net, guint node);
LoomDataset *loom_net_open_dataset (const LoomNet *net, int node, const char *folder, GError **error);
/* The name of an output port in messages and events: "fc" if it is the only one, else "data.x". */
char *loom_net_port_name (const LoomNet *net, guint node, guint output);
/* The paths of nodes and module instances, each copy separately, with recompute="true": a set. */
GHashTable *loom_net_recomputed (const LoomNet *net);
/* path → GUINT_TO_POINTER (LoomDType + 1) of the nodes that compute in their own type, by dtype="…" on them or on a
 * module around them. */
GHashTable *loom_net_dtypes (const LoomNet *net);
/* The pipeline stage of each node: the one that it names, otherwise the latest stage from which it reads, otherwise −1.
 * Returns the number of stages; 0 if no node names one. */
int loom_net_stages (const LoomNet *net, int *stage);
/* The symbols that occur in a type, as a string "BT". */
char *loom_net_symbols (const LoomNet *net);
/* The type of an output of a node or module instance, for a wire in a scope of the file, by the serial of the element.
 * For a repeated node it is the last copy's type, as for its wires. instance_path: NULL or "" for the root; a repeated
 * module without a copy number means its first copy. NULL if the type is unknown. */
const LoomType *loom_net_type_of (const LoomNet *net, const char *instance_path, guint64 serial, const char *port);
/* Finds the output of the flat net that corresponds to it; FALSE if it is unknown. */
gboolean loom_net_source_of (const LoomNet *net, const char *instance_path, guint64 serial, const char *port,
                             LoomNetSource *source);

/* The names of a tensor's dimensions: B for the batch, T for time; C, D, H, W and L if a layer that reads or makes the
 * tensor names them (LoomPortSpec.axes) and all layers in between keep the shape. */
typedef struct
{
  char name[LOOM_SHAPE_MAX_RANK]; /* a letter for each dimension; '\0': no name */
} LoomNetAxes;

/* ---- lowering --------------------------------------------------------- */

typedef struct
{
  gboolean training;
  /* TRUE for programs that commit state: nodes that change state (assign) are lowered even if no wanted port needs
   * them */
  gboolean effects;
  LoomDType float_dtype; /* LOOM_F32 or LOOM_F64 */
  /* The ports whose values are needed: n pairs of node and output. Only the nodes that they depend on are lowered. A
   * port in a loop has a value in each iteration; the values are stacked along a new first dimension, for nested loops
   * that of the outer loop first. */
  guint n_wanted;
  const LoomNetSource *wanted;
  /* May be NULL. For a port in a loop, probe_of[k] receives zeros of the stack's shape that are added to the port in
   * every iteration: the gradient with respect to them is the port's gradient, by iteration. 0 for other ports. */
  LoomValue *probe_of;
  /* Ports whose values come from outside (--in) although their node could compute them. They become program inputs
   * named PATH.PORT. Ports of dataset and input nodes always are inputs; weights never are, they are slots. */
  guint n_given;
  const LoomNetSource *given;
  guint64 seed; /* initial value of the slot "seed" */
  /* for programs without a step: accepts nodes that cannot learn from a batch of this size (LoomOp.untrainable) */
  gboolean allow_untrainable;
  const char *rng_step; /* the i64 slot from which random numbers are drawn together with the seed; NULL: "step" */
  LoomCarry carry;      /* the state that nodes pass to the next run of the program; nodes in loops pass none */
  gboolean keep_all;    /* recompute="true" is ignored */
  gboolean direct;      /* no convolution may use Winograd's algorithm */
  gboolean tf32;        /* devices may round operands of f32 products to TF32 */
} LoomLowerOptions;

/* Lowers a net to a program. All nodes that the wanted ports depend on must be without faults, and their sizes known
 * (otherwise a SHAPE error names the unbound symbol). Program inputs are named like ports ("data.x"; "x.out" is named
 * "x", see loom_net_port_name()). value_of[k] receives the value of wanted[k]. */
LoomProgram *loom_lower (const LoomNet *net, const LoomLowerOptions *options, LoomValue *value_of, GError **error);

/* For sizes that only data determine: the first node, in the order of computation, that the wanted ports depend on and
 * whose own symbol has no value in the net's binding; −1 if there is none. The caller binds that symbol in a new net of
 * the same graph, with the same node numbers, and then finds the next one. */
int loom_net_dynamic_size (const LoomNet *net, const LoomLowerOptions *options);
/* The first node that the wanted ports depend on and that cannot learn from a batch of this size (see LoomOp); −1 if
 * there is none. Lowering for training refuses it. */
int loom_net_find_untrainable (const LoomNet *net, const LoomLowerOptions *options);
/* The program that computes such a size. size: receives an i64 scalar. The program changes no state. */
LoomProgram *
loom_lower_size (const LoomNet *net, const LoomLowerOptions *options, guint node, LoomValue *size, GError **error);
