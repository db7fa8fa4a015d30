/* One operator, one place: op-<name>.c holds one const LoomOp.
 *
 * Palette, inspector, tooltips, CLI help, schema, costs and tests derive from it, so a
 * new layer is one file and one line in engine/ops/meson.build. infer() works on symbolic
 * types and runs at every edit in Studio; lower() emits primitives for one binding of the symbols. */
#pragma once

#include "engine/core/loom-fault.h"
#include "engine/core/loom-guard.h"
#include "engine/core/loom-dim.h"
#include "engine/program/loom-prim.h"

G_BEGIN_DECLS

typedef struct _LoomOp LoomOp;
typedef struct _LoomElement LoomElement; /* engine/graph */
typedef struct _LoomGraph LoomGraph;     /* engine/graph */
typedef struct _LoomDataset LoomDataset; /* engine/data */

/* Palette order. Maths is what computes numbers, Logic what asks about them, Shape what moves or picks them. */
typedef enum
{
  LOOM_CATEGORY_DATA,
  LOOM_CATEGORY_LAYERS,
  LOOM_CATEGORY_ACTIVATIONS,
  LOOM_CATEGORY_MATHS,
  LOOM_CATEGORY_LOGIC,
  LOOM_CATEGORY_SHAPE,
  LOOM_CATEGORY_LOSS,
  LOOM_CATEGORY_TRAINING, /* a step drawn by hand: gradient, assign, detach */
  LOOM_CATEGORY_HIDDEN,   /* module_input and the like: not in the palette */
  LOOM_N_CATEGORIES
} LoomCategory;

const char *loom_category_title (LoomCategory category);

/* The role of a node of this operator in the graph around it, beside a computation. */
typedef enum
{
  LOOM_ROLE_NONE,
  LOOM_ROLE_DATASET,      /* gives samples of a data set */
  LOOM_ROLE_INPUT,        /* its value comes from outside: a file of the command line, what a model predicts from */
  LOOM_ROLE_OUTPUT,       /* names a result of the graph */
  LOOM_ROLE_PARAMETER,    /* its output is a weight, which is named by the node's path alone */
  LOOM_ROLE_MODULE_INPUT, /* a port of the module that it stands in, named by the node */
  LOOM_ROLE_MODULE_OUTPUT,
  LOOM_ROLE_LOOP /* it runs the module that its attribute LOOM_BODY names */
} LoomOpRole;

/* The parameter by which a node goes on where the run before has ended (rnn, lstm, gru, scan). */
#define LOOM_STATEFUL "stateful"

/* What nodes hand from one run of a program to the next. prefix NULL: nothing, every run begins anew. */
typedef struct
{
  const char *prefix; /* of the slots: PREFIXPATH.WHAT, and PREFIX LOOM_CARRY_PLACE, which whoever runs it sets */
  gboolean all;       /* every node that can; else those with stateful="true" */
  gint64 room;        /* places that attention keeps; 0: it keeps none */
  GHashTable *nodes;  /* receives the paths of the nodes that do (owned by it); NULL: nobody asks */
} LoomCarry;

/* The i64 scalar that says how many places were read since the beginning; 0 begins anew. */
#define LOOM_CARRY_PLACE "place"

/* Of op="scheduled": the scalar slot PATH.value, which the trainer sets before each step. */
#define LOOM_SCHEDULED "value"

#define LOOM_BODY "body"
/* Of a module's output: the input that it is at the next step of such a loop. */
#define LOOM_CARRY "carry"

typedef enum
{
  LOOM_PARAM_INT,
  LOOM_PARAM_FLOAT,
  LOOM_PARAM_BOOL,
  LOOM_PARAM_ENUM, /* choices */
  LOOM_PARAM_INTS, /* "3,3"; one value stands for all `length` */
  LOOM_PARAM_FLOATS,
  LOOM_PARAM_SHAPE, /* "B,1,28,28"; where minimum is -1 a size may be -1 and is unknown to infer() */
  LOOM_PARAM_DTYPE,
  LOOM_PARAM_STRING, /* any text, or one of choices where there are some */
  LOOM_PARAM_PATH    /* a file or folder, relative to the graph file */
} LoomParamType;

typedef struct
{
  const char *name; /* PyTorch's */
  LoomParamType type;
  const char *def;         /* as text; NULL: required; "" for an absent optional one (loom_*_is_set is FALSE) */
  double minimum, maximum; /* of numbers; both 0: no bounds */
  int length;              /* of lists; 0: any */
  const char *const *choices;
  const char *unit, *doc; /* doc: one sentence for the tooltip */
  gboolean hyper;         /* may change during a run (dropout's p): a scalar slot "PATH.NAME" */
  gboolean advanced;      /* the inspector folds it away */
  const char *fresh; /* of a required one: what an editor gives a new node, to be changed; NULL: nothing is likely */
} LoomParamSpec;

/* A form of an operator, by the value of its first parameter (a data set with source="csv"). */
typedef struct
{
  const char *value, *title, *doc;
  const LoomParamSpec *params; /* all of the node's: the operator's and then those that only this value has */
} LoomOpVariant;

/* The meaning of numbers: those that a loss takes at its port input, or those that an operator gives. */
typedef enum
{
  LOOM_OUTPUT_VALUES,
  LOOM_OUTPUT_LOGITS, /* of classes */
  LOOM_OUTPUT_LOG_PROBABILITIES,
  LOOM_OUTPUT_PROBABILITIES,
  LOOM_OUTPUT_SCORES, /* of classes: the largest wins */
  LOOM_OUTPUT_BINARY_LOGITS,
  LOOM_OUTPUT_BINARY_PROBABILITIES
} LoomOutputKind;

/* How the first element of the output follows from the inputs, for whoever fills a formula with numbers. */
typedef enum
{
  LOOM_FIRST_FORMULA, /* as the formula says it, where that is about one element of each operand; else it is not shown
                       */
  LOOM_FIRST_ROWS,    /* the first row of the input times the first row of the weight, plus the bias */
  LOOM_FIRST_PRODUCT, /* the first row of the input times the first column of the other */
  LOOM_FIRST_SHARE,   /* the first exponential, divided by the sum of all along the last dimension */
  LOOM_FIRST_SUM,     /* of all elements, where a single one comes out */
  LOOM_FIRST_MEAN,
  LOOM_N_FIRST
} LoomFirstElement;

typedef enum
{
  LOOM_PORT_OPTIONAL = 1 << 0,
  LOOM_PORT_VARIADIC = 1 << 1,  /* ports 0, 1, 2 …; must be the only input spec */
  LOOM_PORT_WEIGHT = 1 << 2,    /* an input that a weight of this name serves when nothing is wired */
  LOOM_PORT_WRT = 1 << 3,       /* gradients are taken with respect to what is wired here */
  LOOM_PORT_TARGET = 1 << 4,    /* what a prediction is compared with: as a rule a data set says it */
  LOOM_PORT_PREDICTION = 1 << 5 /* of a loss: what it judges by its target */
} LoomPortFlags;

typedef struct
{
  const char *name; /* PyTorch's argument name; "out" for a single output */
  const char *doc;
  LoomPortFlags flags;
  const char *axes; /* what each dimension is called, a letter each, where the operator fixes it: "BCHW"; or NULL */
} LoomPortSpec;

/* A configuration for the generic tests: inputs' types and a node's parameters. */
typedef struct
{
  const char *params;    /* "out_features=10 bias=false"; values without spaces */
  const char *inputs[6]; /* "f32:B,3,8,8", in port order; variadic: as many as given; "" skips an optional one.
                            B is bound to 4, T to 5. */
  const char *range;     /* "positive", "distinct" (for max), "class:10" per first integer input, "away0" (not near
                            0), "unit" (between -1 and 1), "probability" (between 0 and 1),
                            "above1", or NULL: normal */
} LoomSample;

typedef struct _LoomInfer LoomInfer;
typedef struct _LoomLower LoomLower;

/* Reports a fault of a node at one of its parameters. */
typedef LoomFault *(*LoomOpReport) (gpointer data, const char *parameter, const char *message);

typedef struct
{
  double parameters; /* elements; filled by the engine from declared weights */
  double flops;      /* forward, for one call */
  double bytes;      /* of the outputs */
} LoomCost;

/* Of operators whose parameters or shapes decide how many there are. */
#define LOOM_OP_MAX_PARTS 64

struct _LoomOp
{
  const char *name;  /* "linear" */
  const char *title; /* "Linear" */
  LoomCategory category;
  const char *icon; /* symbolic icon in data/icons: "loom-linear-symbolic" */
  const char
      *synonyms; /* what the blackboard, other libraries and papers call it, words with a space between; or NULL */
  LoomOpRole role;
  const char *metric;                   /* of a loss: the metric that a new training shows beside it; NULL for none */
  LoomOutputKind judges;                /* of a loss: the numbers of its prediction */
  LoomOutputKind gives;                 /* the numbers of its first output, where the operator alone decides that */
  gboolean usual;                       /* a first course needs it: shown before the others */
  const char *doc;                      /* one line */
  const char *details;                  /* a paragraph: what it does, when to use it; own words */
  const char *formula;                  /* Unicode: "y = x Wᵀ + b" */
  LoomFirstElement first;               /* how a tooltip fills the formula with numbers */
  const char *reference;                /* "torch.nn.Linear" */
  const char *source;                   /* where the formula comes from: paper or book, with year; NULL: mathematics */
  const LoomPortSpec *inputs, *outputs; /* end with name NULL; NULL for none */
  const char *const *buffers; /* that infer() may declare, ends with NULL; NULL for none. Wires may read them. */
  /* Where ports depend on parameters (dataset, split) or on how many inputs are wired, else NULL. It is asked before
   * types are known; where only they decide how many outputs there are (unbind), it offers as many as there can be, and
   * infer() says by loom_infer_set_outputs() which there are. */
  const LoomPortSpec *(*dynamic_outputs) (const LoomInfer *ctx);
  const char
      *counts_outputs; /* the parameter that says how many outputs there are; not given, the shape does. NULL: none */
  /* Inputs that depend on what is written at the node (a formula's names), in lists that are never freed; `inputs` is
   * then what a fresh node has. None of them is variadic or a weight. Ask by loom_op_inputs(). */
  const LoomPortSpec *(*dynamic_inputs) (const LoomElement *node);
  /* Faults of a node that show before its inputs are known, as mistakes in a formula; TRUE after a fault, and then
   * nothing is said of inputs, which come from the same text. NULL: nothing. */
  gboolean (*check) (const LoomElement *node, LoomOpReport report, gpointer data);
  char *(*more) (void); /* after the details, where a table lists it (the functions of formulas); NULL for none */
  const LoomParamSpec *params; /* end with name NULL; NULL for none */
  /* Where further parameters depend on the value of the first: one entry a value, ending with value NULL, in a list
   * that is never freed. Ask by loom_op_params(). NULL: params are all there are. */
  const LoomOpVariant *(*variants) (void);
  LoomScalarOp scalar; /* the formula of an element-wise operator */
  /* Lowered in a training step even where its outputs are not needed: it changes state (assign). */
  gboolean has_effect;
  void (*infer) (LoomInfer *ctx);
  void (*lower) (LoomLower *ctx);
  /* With bound symbols: why a training step learns nothing from an input of this size (a norm of single values), as a
   * clause and a sentence on what helps. NULL: it learns; and as a member, it always does. */
  const char *(*untrainable) (const LoomInfer *ctx);
  /* Where the size of what comes out depends on the data (nonzero): an i64 scalar that counts it. Such a node has a
   * symbol of its own, loom_infer_own_dim(), which is bound before it is lowered. NULL: sizes follow from types. */
  LoomValue (*count_size) (LoomLower *ctx);
  /* Of an operator whose outputs are batches of a data set: opens it. Relative paths start at folder (NULL: the working
   * folder). */
  LoomDataset *(*open_dataset) (const LoomInfer *ctx, const char *folder, GError **error);
  double (*flops) (const LoomInfer *ctx); /* with bound symbols; NULL: one per output element */
  const LoomSample *samples; /* end with inputs and params all NULL; NULL only for data operators and loops */
  /* Nodes and wires of a small graph that shows it, as in a file, where loom_op_example() could not make one from the
   * first sample or that would show little. NULL: it can. */
  const char *example;
  /* Of an operator that can stand on a wire to make a tensor fit what comes next: nodes worth trying on a tensor of
   * this type, each as "NAME=VALUE …" (values without spaces) or "", the likeliest first; `beside` are the types that
   * the node behind the wire gets at its other inputs. NULL-terminated, transfer full. NULL: it never mends. */
  char **(*adapt) (const LoomType *from, const LoomType *const *beside, guint n_beside);
  /* "16 channels · 3×3 · pad 1": the card's second row. NULL: the engine lists what differs from the defaults. */
  char *(*summary) (const LoomInfer *ctx);
};

const LoomOp *const *loom_ops (void); /* NULL-terminated, palette order */
/* The one operator that other libraries or papers call so ("dense", "BCEWithLogitsLoss"); NULL where none or several
 * do. */
const LoomOp *loom_op_called (const char *word);
/* "linear, bilinear": operators whose name, title or documentation has this word, for somebody who knows one by another
 * name; NULL where there is none. */
char *loom_ops_mentioning (const char *word);
const LoomOp *loom_op (const char *name);
/* The operator of a <node>; NULL for other elements, for instances of modules, and where the name is unknown. */
const LoomOp *loom_op_of (const LoomElement *node);
/* TRUE if an element is a node whose operator has this role. */
gboolean loom_op_has_role (const LoomElement *node, LoomOpRole role);
/* The inputs of a node of this operator, whose <node> may be NULL for a fresh one. */
const LoomPortSpec *loom_op_inputs (const LoomOp *op, const LoomElement *node);
/* The variant for a value of the first parameter; NULL where there are none, or none for it (value may be NULL). */
const LoomOpVariant *loom_op_variant (const LoomOp *op, const char *value);
/* The parameters of a node of this operator, whose <node> may be NULL for a fresh one, ending with name NULL; NULL for
 * none. Where the first one's value is an expression or unknown these are op->params. */
const LoomParamSpec *loom_op_params (const LoomOp *op, const LoomElement *node);
/* TRUE if a node of this operator may have the parameter, in one variant at least. */
gboolean loom_op_has_param (const LoomOp *op, const char *name);

/* ---- ports ------------------------------------------------------------ */

guint loom_op_count_ports (const LoomPortSpec *specs);
/* The index of an output by name (NULL: the only required one), or -1. */
int loom_op_output_index (const LoomPortSpec *specs, guint n, const char *port);
/* Weights and buffers of an operator, as its table lists them: ports that a weight may serve, then buffers. */
guint loom_op_count_weights (const LoomOp *op);
const char *loom_op_weight_name (const LoomOp *op, guint k);
int loom_op_weight_index (const LoomOp *op, const char *name);
gboolean loom_op_is_weight_port (const LoomOp *op, guint input);

/* ---- texts that derive from the table (transfer full) ------------------ */

char *loom_op_json (const LoomOp *op); /* one JSON object, in a line */
char *loom_ops_markdown (void);
char *loom_op_help (const LoomOp *op); /* for `gradloom ops NAME` */
/* "int, required, at least 1": type, default, range and choices of a parameter. */
char *loom_param_facts (const LoomParamSpec *param);
char *loom_op_source_file (const LoomOp *op); /* "engine/ops/op-linear.c" */

/* ---- examples (transfer full) ------------------------------------------ */

/* A graph that shows the operator at work and has no fault: inputs of fitting types, and it. NULL where the operator
 * has neither an example nor samples. */
LoomGraph *loom_op_example (const LoomOp *op);
/* One of its samples as a graph: the operator as node `id`, with inputs PREFIX0, PREFIX1, … or, where prefix is NULL,
 * called as the ports that they are wired to. Its symbols are open. */
LoomGraph *loom_op_sample_graph (const LoomOp *op, const LoomSample *sample, const char *id, const char *prefix);

/* ---- inside infer() --------------------------------------------------- */
const LoomOp *loom_infer_op (const LoomInfer *ctx); /* the operator itself, for code that several share */
/* Values of parameters, converted and range-checked before infer() runs. Names must be in the node's parameters. */
gint64 loom_infer_int (const LoomInfer *ctx, const char *name);
double loom_infer_float (const LoomInfer *ctx, const char *name);
gboolean loom_infer_bool (const LoomInfer *ctx, const char *name);
const char *loom_infer_string (const LoomInfer *ctx, const char *name); /* enums too */
guint loom_infer_ints (const LoomInfer *ctx, const char *name, gint64 *values, guint max);
guint loom_infer_floats (const LoomInfer *ctx, const char *name, double *values, guint max);
LoomShape loom_infer_shape (const LoomInfer *ctx, const char *name);
LoomDType loom_infer_dtype (const LoomInfer *ctx, const char *name);
gboolean loom_infer_is_set (const LoomInfer *ctx, const char *name); /* given, or default not "" */
/* Any attribute of the node as text, expressions evaluated; NULL where it is not given. */
const char *loom_infer_attribute (const LoomInfer *ctx, const char *name);
const char *loom_infer_folder (const LoomInfer *ctx); /* the graph file's folder, may be NULL */
const LoomGuard *loom_infer_guard (const LoomInfer *ctx);

/* Types of inputs. An input whose type is not known because of a fault upstream keeps infer() from running at all,
 * so required inputs are always there; optional ones may be NULL. */
guint loom_infer_n_inputs (const LoomInfer *ctx); /* variadic count */
const LoomType *loom_infer_input (const LoomInfer *ctx, guint i);
/* TRUE if what is wired into input i is a weight or buffer of another node; its full name goes to *name. */
gboolean loom_infer_input_is_state (const LoomInfer *ctx, guint i, const char **name);
/* Says that this node gives that state its next value; FALSE where another node does already. */
gboolean loom_infer_claim_state (LoomInfer *ctx, const char *name);
/* Of what dynamic_outputs offered, these there are. Before the first loom_infer_output(). */
void loom_infer_set_outputs (LoomInfer *ctx, const LoomPortSpec *spec);
void loom_infer_output (LoomInfer *ctx, guint i, LoomDType dtype, const LoomShape *shape);
/* The size that only data decide, of an operator with count_size(). */
LoomDim loom_infer_own_dim (const LoomInfer *ctx);
const LoomType *loom_infer_get_output (const LoomInfer *ctx, guint i); /* for flops() and summary() */

/* A way in which the ranks of a run may each have a part of a weight, for the attribute split of its node. */
typedef struct
{
  const char *how; /* "column"; NULL ends a list */
  int axis;
  gint64 blocks;     /* that lie along it one behind the other, and of each of which a rank has a part; 0: one */
  const char *what;  /* what ranks share evenly, in the plural: "heads" */
  const char *count; /* the parameter that says how many there are; NULL: the size of a block */
} LoomWeightSplit;

/* Declares a weight (or buffer): its name is the node's path + "." + name, its type float. It needs a plain
 * integer shape. Where a port of that name is wired (a tied weight) the shape is compared instead. */
typedef struct
{
  const char *name;
  LoomShape shape;
  LoomInit init;
  gboolean is_buffer; /* not trained */
  LoomDType dtype;    /* LOOM_F32 means the program's float; num_batches_tracked is i64 */
  gboolean bare_name; /* op="parameter": the tensor is named by the path alone */
  const LoomWeightSplit *splits; /* static; NULL: each rank has all of it, however its node is split */
} LoomWeightSpec;
void loom_infer_weight (LoomInfer *ctx, const LoomWeightSpec *spec);

/* Memory (zeroed) that lives as long as the net: for LoomInit.data. */
gpointer loom_infer_keep (LoomInfer *ctx, gsize bytes);

/* PyTorch's default for linear and conv weights: uniform in ±1/sqrt(fan_in) (kaiming_uniform with a = √5; also for
 * the bias). */
LoomInit loom_init_fan_in (gint64 fan_in);

/* Reports a fault at this node; port or parameter name may be NULL. At most one fix, as an attribute's new value. */
LoomFault *
loom_infer_fault (LoomInfer *ctx, LoomErrorCode code, const char *port, const char *format, ...) G_GNUC_PRINTF (4, 5);
gboolean loom_infer_has_fault (const LoomInfer *ctx);

/* ---- inside lower() --------------------------------------------------- */
LoomProgram *loom_lower_program (LoomLower *ctx);
/* The same node with every symbol bound: parameters and types. */
const LoomInfer *loom_lower_infer (const LoomLower *ctx);
gboolean loom_lower_is_training (const LoomLower *ctx);
gboolean loom_lower_is_direct (const LoomLower *ctx);   /* <train algorithm="direct"> */
/* What it computes is not to be kept for the backward pass. A pass sees to it, but in the body of a loop the operator.
 */
gboolean loom_lower_is_recomputed (const LoomLower *ctx);
gboolean loom_lower_has_effects (const LoomLower *ctx); /* a training step that commits: see has_effect */
LoomValue loom_lower_input (LoomLower *ctx, guint i);   /* 0 when an optional one is not wired */
/* A declared weight or buffer: what is wired into its port, else the slot's value. 0 when it was not declared. */
LoomValue loom_lower_weight (LoomLower *ctx, const char *name);
/* The next value of a declared buffer (training mode: running statistics). */
void loom_lower_commit (LoomLower *ctx, const char *name, LoomValue value);
/* TRUE if the node goes on where the run before has ended, from what it says by the functions below. */
gboolean loom_lower_carries (const LoomLower *ctx);
/* How many places attention may keep; 0 where it keeps none. */
gint64 loom_lower_carry_room (const LoomLower *ctx);
/* How many places earlier runs have read, i64. */
LoomValue loom_lower_carry_place (LoomLower *ctx);
/* A slot for what is carried, which begins as zeros. */
int loom_lower_carry_slot (LoomLower *ctx, const char *what, LoomDType dtype, int rank, const gint64 *dims);
/* What the run before has left, or `first` at the beginning; and what this one leaves, of the same type. */
LoomValue loom_lower_carry_begin (LoomLower *ctx, const char *what, LoomValue first);
void loom_lower_carry_end (LoomLower *ctx, const char *what, LoomValue next);
/* A parameter with .hyper: the scalar slot's value, in the program's float type. */
LoomValue loom_lower_hyper (LoomLower *ctx, const char *name);
/* A scalar slot of the node's, PATH.NAME, which begins as `initial`. */
LoomValue loom_lower_scalar (LoomLower *ctx, const char *name, double initial);
/* Random numbers keyed on seed, this node's path, the step and their place: the same on every device, and again in a
 * resumed run. Floats of the program's type: uniform in [0,1), normal, or exponential with mean 1. A node that
 * draws several times counts them in `which`. */
LoomValue loom_lower_random (LoomLower *ctx, LoomRandomKind kind, guint which, int rank, const gint64 *dims);
/* What such numbers are made of, for a primitive that draws them by itself: the stream, and scalars. */
guint64 loom_lower_random_from (LoomLower *ctx, guint which, LoomValue *seed, LoomValue *step);
/* i64, uniform in 0 … 2⁶³-1. */
LoomValue loom_lower_random_int (LoomLower *ctx, guint which, int rank, const gint64 *dims);
void loom_lower_output (LoomLower *ctx, guint i, LoomValue value);
/* The state slot that is wired into input i, where loom_infer_input_is_state() holds. */
int loom_lower_input_slot (LoomLower *ctx, guint i);
/* An error that only lowering finds (no gradient passes a node in between) ends it. Takes the error. */
void loom_lower_fail (LoomLower *ctx, GError *error);

G_END_DECLS
