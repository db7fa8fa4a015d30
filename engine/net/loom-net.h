/* A net: a graph made flat and typed.
 *
 * Modules, repeats and expressions are expanded, operators and their parameters looked up, wires resolved,
 * nodes ordered, shapes inferred. Every mistake is a fault with its place; types are still inferred where that is
 * possible. Studio builds a net at every edit; `check`, training and `run` build one per binding. */
#pragma once

#include "engine/data/loom-dataset.h"
#include "engine/graph/loom-graph.h"
#include "engine/ops/loom-op.h"

G_BEGIN_DECLS

typedef struct _LoomNet LoomNet;

typedef struct
{
  char *name; /* "block.0.conv.weight": the state_dict's */
  LoomShape shape;
  LoomDType dtype;
  LoomInit init;
  gboolean is_buffer;
  gboolean frozen;
  guint node; /* whose it is */
  const LoomWeightSplit *splits; /* the ways in which ranks may have shards of it; NULL: none */
  gint64 split_count;            /* of those that count something, how many there are */
} LoomNetWeight;

typedef struct
{
  guint node; /* G_MAXUINT: not wired */
  /* An output of that node. From n_outputs on these are its weights and buffers, which a wire reads as they are at the
   * start of a step: this needs none of the node's inputs, and the node may come later. */
  guint output;
} LoomNetSource;

typedef struct
{
  const char *path;           /* interned: "block.0.conv" */
  const LoomOp *op;           /* NULL if unknown */
  const LoomElement *element; /* <node> in the graph the net was made from; valid as long as that is unchanged */
  guint64 serial;             /* of that element */
  int line;
  const char *device; /* interned; NULL: the graph's */
  int stage;          /* of a pipeline, named by it or by a module around it; -1: none */
  guint n_inputs;     /* variadic ones counted; otherwise the number of specs (weights' ports among them) */
  const LoomPortSpec *input_spec;
  const LoomNetSource *input;
  guint n_outputs;
  const LoomPortSpec *output_spec;
  gboolean outputs_dynamic; /* their number is not known yet: n_outputs is the largest possible one */
  const LoomType *output;   /* undefined unless typed */
  gboolean muted;           /* it or a module around it: readers get its input instead of its output */
  gboolean typed;           /* inference reached it without a fault */
  LoomCost cost;            /* symbols bound as given, B = 1 where unbound */
  guint loop; /* the node that runs the loop around it: it has a value in each iteration; G_MAXUINT: none */
  char own_symbol;          /* stands for a size that only data decide, see LoomOp.count_size; 0: none */
  char *summary;            /* card's second row */
} LoomNetNode;

/* Never NULL. binding may be NULL (everything symbolic). Faults go to the list. A frozen or mutable graph: it is
 * only read. Ordering is topological, file order among equals, so listings are stable. */
LoomNet *loom_net_new (const LoomGraph *graph, const LoomBinding *binding, LoomFaults *faults);
void loom_net_free (LoomNet *net);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomNet, loom_net_free)

guint loom_net_n_nodes (const LoomNet *net);
const LoomNetNode *loom_net_node (const LoomNet *net, guint i);
int loom_net_find (const LoomNet *net, const char *path); /* -1 */
/* PATH.PORT with the longest existing path first; a module's path names its only (or named) output. -1 and a USAGE
 * error that lists the ports, because the caller has named the port. */
int loom_net_find_port (const LoomNet *net, const char *port, guint *output, GError **error);
/* TRUE if it is unknown whether there is such a port: its node's outputs follow from parameters, which have a fault. */
gboolean loom_net_port_is_unknown (const LoomNet *net, const char *port);
guint loom_net_n_weights (const LoomNet *net);
const LoomNetWeight *loom_net_weight (const LoomNet *net, guint i);
/* TRUE if a source is a weight or buffer of its node and not an output. */
gboolean loom_net_is_weight (const LoomNet *net, const LoomNetSource *source);
/* TRUE if an input of a node that runs a loop is a result of the loop's body, which does not exist outside of it. */
gboolean loom_net_is_from_body (const LoomNet *net, guint node, guint input);
/* The index among the net's weights of a node's declared weight or buffer, by name or by source; -1 if a wire replaces
 * it or none of that name was declared. */
int loom_net_find_weight (const LoomNet *net, guint node, const char *name);
int loom_net_source_weight (const LoomNet *net, const LoomNetSource *source);
/* The index of a wired input by name, or -1; those of a variadic operator have none. */
int loom_net_find_input (const LoomNetNode *node, const char *name);
/* The same for the first input that its operator gives this role: LOOM_PORT_PREDICTION, LOOM_PORT_TARGET. */
int loom_net_find_input_for (const LoomNetNode *node, LoomPortFlags role);
/* For each node, whether a port depends on it. (transfer full) */
gboolean *loom_net_needed_for (const LoomNet *net, const LoomNetSource *of);
/* The prediction that a loss compares: the input of the only node before the loss that compares an input with a target.
 * FALSE if there is none, or several. */
gboolean loom_net_find_prediction (const LoomNet *net, const LoomNetSource *loss, LoomNetSource *output);
/* Adds a DATA fault at each loss node on the way to `loss` whose target is the class of a data set, if the open data
 * set has more classes than the node has logits. Only for named classes, which the data set numbers itself: their
 * numbers are in no file, so a kernel's error about one would not help. */
void loom_net_check_classes (const LoomNet *net, const LoomNetSource *loss, int dataset_node,
                             const LoomDataset *dataset, LoomFaults *faults);
/* The files and folders that a graph's nodes and its <train> read outside the folder of the graph's file (NULL: the
 * guard's, or else the folder in which relative paths begin), the folder of data sets (GRADLOOM_DATA) and /usr/share,
 * those included that links in a data set's folder lead to; each once, absolute, links followed. A folder that the
 * net's guard refuses is not looked through. (transfer full) */
char **loom_net_outside_paths (const LoomNet *net, const LoomGraph *graph, const char *file);
/* A warning for each, with its element. */
void loom_net_warn_of_outside_paths (const LoomNet *net, const LoomGraph *graph, const char *file, LoomFaults *faults);
/* A node's parameters and types as infer() received them, for the calls of loom-op.h. */
const LoomInfer *loom_net_infer (const LoomNet *net, guint node);
/* loom_net_is_dataset: TRUE if a node delivers batches of a data set. loom_net_open_dataset: opens the data set that it
 * names, with its options as the net evaluated them. Relative paths start at folder (NULL: the working folder); node -1
 * is the one without ports. Errors: those of loom_dataset_open(). */
gboolean loom_net_is_dataset (const LoomNet *net, guint node);
LoomDataset *loom_net_open_dataset (const LoomNet *net, int node, const char *folder, GError **error);
/* The name of an output port in messages and events: "fc" if it is the only one, else "data.x". */
char *loom_net_port_name (const LoomNet *net, guint node, guint output);
/* Paths of the nodes and module instances, each copy apart, with recompute="true": a set. */
GHashTable *loom_net_recomputed (const LoomNet *net);
/* path → GUINT_TO_POINTER (LoomDType + 1) of the nodes that compute in a type of their own, by dtype="…" on them or on
 * a module around them. */
GHashTable *loom_net_dtypes (const LoomNet *net);
/* The stage of each node in a pipeline: the one that it names, else the latest stage that it reads from, else -1.
 * Returns the number of stages; 0 if no node names one. */
int loom_net_stages (const LoomNet *net, int *stage);
/* Symbols that occur in any type, as a string "BT". */
char *loom_net_symbols (const LoomNet *net);
/* The type of an output of a node or module instance, for a wire in a scope of the file: by the node's serial. For a
 * repeated node it is the last copy's, as for its wires. instance_path is NULL or "" at the root; a repeated module
 * without a copy number means its first copy. NULL if unknown. */
const LoomType *loom_net_type_of (const LoomNet *net, const char *instance_path, guint64 serial, const char *port);
/* The output of the flat net that it stands for; FALSE if unknown. */
gboolean loom_net_source_of (const LoomNet *net, const char *instance_path, guint64 serial, const char *port,
                             LoomNetSource *source);

/* The names of a tensor's dimensions: B the batch, T time; C, D, H, W and L if a layer that reads or makes
 * the tensor names them (LoomPortSpec.axes), kept by layers that keep the shape. */
typedef struct
{
  char name[LOOM_SHAPE_MAX_RANK]; /* a letter per dimension; '\0': no name */
} LoomNetAxes;
/* The axes of every output, in the order of nodes and of their outputs. (transfer full) */
GPtrArray *loom_net_axes_new (const LoomNet *net); /* LoomNetAxes[n_outputs] each */

/* ---- lowering --------------------------------------------------------- */

typedef struct
{
  gboolean training;
  /* TRUE: nodes that change state (assign) are lowered too, even if not wanted: in a step that commits. */
  gboolean effects;
  LoomDType float_dtype; /* LOOM_F32 or LOOM_F64 */
  /* Only what these need is lowered: n pairs of node and output. A port within a loop has a value in each iteration:
   * they are stacked along a new first dimension, for nested loops the outer loop's first. */
  guint n_wanted;
  const LoomNetSource *wanted;
  /* May be NULL. For such a port probe_of[k] receives zeros of the stack's shape that are added to it in every
   * iteration: the gradient with respect to them is the port's gradient, iteration by iteration. 0 for other ports. */
  LoomValue *probe_of;
  /* Ports with a value from outside although their node could compute it (--in). They become program
   * inputs named PATH.PORT. Dataset and input nodes always do; weights never, they are slots. */
  guint n_given;
  const LoomNetSource *given;
  guint64 seed;               /* start of the slot "seed" */
  gboolean allow_untrainable; /* for training that takes no step: nodes that learn nothing from this size (see LoomOp)
                                 are accepted */
  const char *rng_step;       /* the i64 slot by which random numbers differ from step to step; NULL: "step" */
  LoomCarry carry;            /* what nodes pass to the program's next run; nodes in loops pass nothing */
  gboolean keep_all;          /* recompute="true" is ignored */
  gboolean direct;            /* no convolution may be computed by Winograd's algorithm */
  gboolean tf32;              /* devices may round the operands of f32 products to TF32 */
} LoomLowerOptions;

/* All nodes that the wanted ports need must be without faults, and their sizes known (SHAPE error naming the unbound
 * symbol). Program inputs are named PATH.PORT ("data.x"; "x.out" → "x" as loom_net_port_name does).
 * value_of[k] receives the value of wanted[k]. */
LoomProgram *loom_lower (const LoomNet *net, const LoomLowerOptions *options, LoomValue *value_of, GError **error);

/* Sizes that data decide. The first node, in the order of computing, that the wanted ports need and whose own symbol
 * the net's binding leaves open; -1 if there is none. Once its symbol is bound, in a new net of the same graph with the
 * same node numbers, the next one can be found. */
int loom_net_dynamic_size (const LoomNet *net, const LoomLowerOptions *options);
/* The first node that the wanted ports need and that learns nothing from a batch of this size (see LoomOp); -1 if there
 * is none. Lowering for training refuses it. */
int loom_net_find_untrainable (const LoomNet *net, const LoomLowerOptions *options);
/* The program that computes such a size: size receives an i64 scalar. It changes no state. */
LoomProgram *
loom_lower_size (const LoomNet *net, const LoomLowerOptions *options, guint node, LoomValue *size, GError **error);

G_END_DECLS
