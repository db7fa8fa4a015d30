/* Declares LoomOp: each op-<name>.c defines one operator as a const LoomOp.
 *
 * Palette, inspector, tooltips, CLI help, schema, costs and tests are derived from it, so a new layer is one file
 * and one line in engine/ops/meson.build. infer() works on symbolic types and runs at every edit in Studio; lower()
 * emits primitives for one binding of the symbols. */
#pragma once

#include "engine/core/loom-fault.h"
#include "engine/core/loom-guard.h"
#include "engine/core/loom-dim.h"
#include "engine/program/loom-prim.h"

typedef struct _LoomOp LoomOp;
typedef struct _LoomElement LoomElement; /* engine/graph */
typedef struct _LoomGraph LoomGraph;     /* engine/graph */
typedef struct _LoomDataset LoomDataset; /* engine/data */

/* Palette order. Maths computes numbers, Logic compares them, Shape moves or selects them. */
typedef enum
{
  LOOM_CATEGORY_DATA,
  LOOM_CATEGORY_LAYERS,
  LOOM_CATEGORY_ACTIVATIONS,
  LOOM_CATEGORY_MATHS,
  LOOM_CATEGORY_LOGIC,
  LOOM_CATEGORY_SHAPE,
  LOOM_CATEGORY_LOSS,
  LOOM_CATEGORY_TRAINING, /* a training step in the graph: gradient, assign, detach */
  LOOM_CATEGORY_HIDDEN,   /* module_input and the like: not in the palette */
  LOOM_N_CATEGORIES
} LoomCategory;

const char *loom_category_title (LoomCategory category);

/* The role of an operator's nodes in the graph, in addition to their computation. */
typedef enum
{
  LOOM_ROLE_NONE,
  LOOM_ROLE_DATASET,      /* loads samples of a data set */
  LOOM_ROLE_INPUT,        /* its value comes from outside: a file of the command line, an input of a prediction */
  LOOM_ROLE_OUTPUT,       /* names a result of the graph */
  LOOM_ROLE_PARAMETER,    /* its output is a weight, which has the name of the node's path */
  LOOM_ROLE_MODULE_INPUT, /* a port of the module around it, with the name of the node */
  LOOM_ROLE_MODULE_OUTPUT,
  LOOM_ROLE_LOOP /* runs the module named by its attribute LOOM_BODY */
} LoomOpRole;

/* The parameter by which a node resumes from the state of the run before (rnn, lstm, gru, scan). */
#define LOOM_STATEFUL "stateful"

/* The state that nodes carry from one run of a program to the next. prefix NULL: none. */
typedef struct
{
  const char *prefix; /* of the slots: PREFIXPATH.WHAT, and PREFIX LOOM_CARRY_POSITION, which the caller sets */
  gboolean all;       /* every node that supports it; else those with stateful="true" */
  gint64 capacity;    /* the number of positions in the cache of attention; 0: no cache */
  GHashTable *nodes;  /* receives the paths of the nodes that carry state (owned by it); may be NULL */
} LoomCarry;

/* The i64 scalar that counts the positions read since the beginning; 0 starts a new sequence. */
#define LOOM_CARRY_POSITION "place"

/* Of op="scheduled": the scalar slot PATH.value, which the trainer sets before each step. */
#define LOOM_SCHEDULED "value"

#define LOOM_BODY "body"
/* On a module's output: the input that receives it at the next step of such a loop. */
#define LOOM_CARRY "carry"

typedef enum
{
  LOOM_PARAM_INT,
  LOOM_PARAM_FLOAT,
  LOOM_PARAM_BOOL,
  LOOM_PARAM_ENUM, /* choices */
  LOOM_PARAM_INTS, /* "3,3"; one value is used for all `length` */
  LOOM_PARAM_FLOATS,
  LOOM_PARAM_SHAPE, /* "B,1,28,28"; if minimum is -1, a size may be -1 and is unknown to infer() */
  LOOM_PARAM_DTYPE,
  LOOM_PARAM_STRING, /* any text, or one of choices if there are some */
  LOOM_PARAM_PATH    /* a file or folder, relative to the graph file */
} LoomParamType;

typedef struct
{
  const char *name; /* as in PyTorch */
  LoomParamType type;
  const char *def;         /* as text; NULL: required; "" for an absent optional one (loom_*_is_set is FALSE) */
  double minimum, maximum; /* of numbers; both 0: no bounds */
  int length;              /* of lists; 0: any */
  const char *const *choices;
  const char *unit, *doc; /* doc: one sentence for the tooltip */
  gboolean hyper;         /* may change during a run (p of dropout): a scalar slot "PATH.NAME" */
  gboolean advanced;      /* folded away in the inspector */
  const char *fresh;      /* the value in a new node, to be changed; NULL: none is likely, or that of def */
} LoomParamSpec;

/* A variant of an operator, selected by the value of its first parameter (a data set with source="csv"). */
typedef struct
{
  const char *value, *title, *doc;
  const LoomParamSpec *params; /* all parameters: those of the operator, then those of this variant */
} LoomOpVariant;

/* The meaning of numbers: of the prediction of a loss, or of the output of an operator. */
typedef enum
{
  LOOM_OUTPUT_VALUES,
  LOOM_OUTPUT_LOGITS, /* of classes */
  LOOM_OUTPUT_LOG_PROBABILITIES,
  LOOM_OUTPUT_PROBABILITIES,
  LOOM_OUTPUT_SCORES, /* of classes: the largest is the prediction */
  LOOM_OUTPUT_BINARY_LOGITS,
  LOOM_OUTPUT_BINARY_PROBABILITIES
} LoomOutputKind;

/* How the first element of the output is computed from the inputs, to fill a formula with numbers. */
typedef enum
{
  LOOM_FIRST_FORMULA, /* by the formula, if it is about one element of each operand; else it is not shown */
  LOOM_FIRST_ROWS,    /* the first row of the input times the first row of the weight, plus the bias */
  LOOM_FIRST_PRODUCT, /* the first row of the input times the first column of the other */
  LOOM_FIRST_SOFTMAX, /* the first exponential, divided by the sum along the last dimension */
  LOOM_FIRST_SUM,     /* of all elements, if the output is a scalar */
  LOOM_FIRST_MEAN,
  LOOM_N_FIRST
} LoomFirstElement;

typedef enum
{
  LOOM_PORT_OPTIONAL = 1 << 0,
  LOOM_PORT_VARIADIC = 1 << 1,  /* ports 0, 1, 2 …; must be the only input spec */
  LOOM_PORT_WEIGHT = 1 << 2,    /* an input that is replaced by a weight of this name if it is not wired */
  LOOM_PORT_WRT = 1 << 3,       /* gradients are computed with respect to this input */
  LOOM_PORT_TARGET = 1 << 4,    /* the target of a loss, usually from a data set */
  LOOM_PORT_PREDICTION = 1 << 5 /* of a loss: the prediction */
} LoomPortFlags;

typedef struct
{
  const char *name; /* PyTorch's argument name; "out" for a single output */
  const char *doc;
  LoomPortFlags flags;
  const char *axes; /* a letter for each dimension, if the operator fixes their order: "BCHW"; or NULL */
} LoomPortSpec;

/* A configuration for the generic tests: types of the inputs and parameters of the node. */
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

/* For operators whose parameters or shapes determine the number of outputs. */
#define LOOM_OP_MAX_OUTPUTS 64

struct _LoomOp
{
  const char *name;  /* "linear" */
  const char *title; /* "Linear" */
  LoomCategory category;
  const char *icon;     /* symbolic icon in data/icons: "loom-linear-symbolic" */
  const char *synonyms; /* words of the lecture, other libraries and papers, separated by spaces; or NULL */
  LoomOpRole role;
  const char *metric;                   /* of a loss: the metric that a new training shows with it; NULL for none */
  LoomOutputKind prediction_kind;       /* of a loss: the meaning of its prediction */
  LoomOutputKind output_kind;           /* the meaning of its first output, if the operator determines it */
  gboolean usual;                       /* part of a first course: shown before the others */
  const char *doc;                      /* one line */
  const char *details;                  /* a paragraph: its behaviour and use, not copied from elsewhere */
  const char *formula;                  /* Unicode: "y = x Wᵀ + b" */
  LoomFirstElement first;               /* how a tooltip fills the formula with numbers */
  const char *reference;                /* "torch.nn.Linear" */
  const char *source;                   /* the source of the formula: paper or book, with year; NULL: common
                                         * mathematics */
  const LoomPortSpec *inputs, *outputs; /* end with name NULL; NULL for none */
  const char *const *buffers; /* buffers that infer() may declare, ending with NULL; NULL for none. Wires may read
                               * them. */
  /* For ports that depend on parameters (dataset, split) or on the number of wired inputs, else NULL. It runs before
   * types are known; if the number of outputs depends on types (unbind), it returns the largest possible list, and
   * infer() selects with loom_infer_set_outputs(). */
  const LoomPortSpec *(*dynamic_outputs) (const LoomInfer *ctx);
  const char *counts_outputs; /* the parameter that is the number of outputs; if not set, the shape determines it. NULL:
                               * none */
  /* Inputs that depend on attributes of the node (the names of a formula), in lists that are never freed; `inputs`
   * then belongs to a new node. None of them is variadic or a weight. Call loom_op_inputs(). */
  const LoomPortSpec *(*dynamic_inputs) (const LoomElement *node);
  /* Faults of a node that show before its inputs are known, such as syntax errors in a formula. TRUE after a fault;
   * faults of inputs are then not reported, because they come from the same text. NULL: none. */
  gboolean (*check) (const LoomElement *node, LoomOpReport report, gpointer data);
  char *(*more) (void); /* text after the details, generated from a table (the functions of formulas); NULL for none */
  const LoomParamSpec *params; /* end with name NULL; NULL for none */
  /* For parameters that depend on the value of the first one: one entry for each value, ending with value NULL, in a
   * list that is never freed. Call loom_op_params(). NULL: params are all parameters. */
  const LoomOpVariant *(*variants) (void);
  LoomScalarOp scalar; /* the formula of an element-wise operator */
  /* Lowered in a training step even if its outputs are not used, because it changes state (assign). */
  gboolean has_effect;
  void (*infer) (LoomInfer *ctx);
  void (*lower) (LoomLower *ctx);
  /* With bound symbols: why a training step learns nothing from an input of this size (a norm of single values), as
   * a clause and a sentence with the remedy. NULL, also as the member: it can be trained. */
  const char *(*untrainable) (const LoomInfer *ctx);
  /* If the size of the output depends on the data (nonzero): an i64 scalar with that size. Such a node has a symbol
   * of its own, loom_infer_counted_dim(), which is bound before it is lowered. NULL: sizes follow from types. */
  LoomValue (*count_size) (LoomLower *ctx);
  /* For an operator whose outputs are batches of a data set: opens it. Relative paths start at folder (NULL: the
   * working folder). */
  LoomDataset *(*open_dataset) (const LoomInfer *ctx, const char *folder, GError **error);
  double (*flops) (const LoomInfer *ctx); /* with bound symbols; NULL: one per output element */
  const LoomSample *samples; /* end with inputs and params all NULL; NULL only for data operators and loops */
  /* Nodes and wires of a small example graph, as in a file, if loom_op_example() could not make a useful one from
   * the first sample. NULL: it can. */
  const char *example;
  /* For an operator that can be inserted into a wire to make a tensor fit its consumer: candidate nodes for a tensor
   * of this type, each as "NAME=VALUE …" (values without spaces) or "", the likeliest first; `siblings` are the types
   * of the other inputs of the consumer. NULL-terminated, transfer full. NULL: it is never inserted. */
  char **(*adapt) (const LoomType *from, const LoomType *const *siblings, guint n_siblings);
  /* "16 channels · 3×3 · pad 1": the second row of the card. NULL: the engine lists the parameters that are not at
   * their default. */
  char *(*summary) (const LoomInfer *ctx);
};

const LoomOp *const *loom_ops (void); /* NULL-terminated, palette order */
/* The operator with this name in other libraries or papers ("dense", "BCEWithLogitsLoss"); NULL unless it is exactly
 * one. */
const LoomOp *loom_op_by_synonym (const char *word);
/* "linear, bilinear": the operators whose name, title or documentation has this word; NULL if there are none. */
char *loom_ops_mentioning (const char *word);
const LoomOp *loom_op (const char *name);
/* The operator of a <node>; NULL for other elements, for instances of modules, and for unknown names. */
const LoomOp *loom_op_of (const LoomElement *node);
/* TRUE if an element is a node whose operator has this role. */
gboolean loom_op_has_role (const LoomElement *node, LoomOpRole role);
/* The inputs of a node of this operator; <node> may be NULL for a new one. */
const LoomPortSpec *loom_op_inputs (const LoomOp *op, const LoomElement *node);
/* The variant for a value of the first parameter; NULL if there is none (value may be NULL). */
const LoomOpVariant *loom_op_variant (const LoomOp *op, const char *value);
/* The parameters of a node of this operator, ending with name NULL; NULL for none. node may be NULL for a new one.
 * If the first parameter is an expression or unknown, these are op->params. */
const LoomParamSpec *loom_op_params (const LoomOp *op, const LoomElement *node);
/* TRUE if the parameter exists, in at least one variant. */
gboolean loom_op_has_param (const LoomOp *op, const char *name);

/* ---- ports ------------------------------------------------------------ */

guint loom_op_count_ports (const LoomPortSpec *specs);
/* The index of an output by name (NULL: the only required one), or -1. */
int loom_op_output_index (const LoomPortSpec *specs, guint n, const char *port);
/* Weights and buffers of an operator, as its table lists them: first the weight ports, then the buffers. */
guint loom_op_count_weights (const LoomOp *op);
const char *loom_op_weight_name (const LoomOp *op, guint k);
int loom_op_weight_index (const LoomOp *op, const char *name);
gboolean loom_op_is_weight_port (const LoomOp *op, guint input);

/* ---- texts generated from the table (transfer full) ------------------- */

char *loom_op_json (const LoomOp *op); /* one JSON object, in a line */
char *loom_ops_markdown (void);
char *loom_op_help (const LoomOp *op); /* for `gradloom ops NAME` */
/* "int, required, at least 1": type, default, range and choices of a parameter. */
char *loom_param_facts (const LoomParamSpec *param);
char *loom_op_source_file (const LoomOp *op); /* "engine/ops/op-linear.c"; of an operator in the table */

/* ---- examples (transfer full) ------------------------------------------ */

/* An example graph without faults: inputs of suitable types and the operator. NULL if the operator has neither an
 * example nor samples. */
LoomGraph *loom_op_example (const LoomOp *op);
/* One of its samples as a graph: the operator as node `id`, with inputs PREFIX0, PREFIX1, … or, if prefix is NULL,
 * named like the ports that they are wired to. Its symbols are not bound. */
LoomGraph *loom_op_sample_graph (const LoomOp *op, const LoomSample *sample, const char *id, const char *prefix);

/* ---- inside infer() --------------------------------------------------- */
const LoomOp *loom_infer_op (const LoomInfer *ctx); /* for code that several operators share */
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
/* Any attribute of the node as text, expressions evaluated; NULL if it is not given. */
const char *loom_infer_attribute (const LoomInfer *ctx, const char *name);
const char *loom_infer_folder (const LoomInfer *ctx); /* the graph file's folder, may be NULL */
const LoomGuard *loom_infer_guard (const LoomInfer *ctx);

/* Types of inputs. infer() does not run if the type of an input is unknown because of a fault upstream, so required
 * inputs always have a type; optional ones may be NULL. */
guint loom_infer_n_inputs (const LoomInfer *ctx); /* variadic count */
const LoomType *loom_infer_input (const LoomInfer *ctx, guint i);
/* TRUE if the wire to input i comes from a weight or buffer of another node, whose full name is stored in *name. */
gboolean loom_infer_input_is_state (const LoomInfer *ctx, guint i, const char **name);
/* Declares that this node sets the next value of that state; FALSE if another node already does. */
gboolean loom_infer_claim_state (LoomInfer *ctx, const char *name);
/* Selects the outputs out of those of dynamic_outputs. Called before the first loom_infer_output(). */
void loom_infer_set_outputs (LoomInfer *ctx, const LoomPortSpec *spec);
void loom_infer_output (LoomInfer *ctx, guint i, LoomDType dtype, const LoomShape *shape);
/* The size that depends on the data, of an operator with count_size(). */
LoomDim loom_infer_counted_dim (const LoomInfer *ctx);
const LoomType *loom_infer_get_output (const LoomInfer *ctx, guint i); /* for flops() and summary() */

/* A way to shard a weight over the ranks of a run, for the attribute split of its node. */
typedef struct
{
  const char *how; /* "column"; NULL ends a list */
  int axis;
  gint64 blocks;     /* the number of blocks along the axis, each of which is sharded; 0: one */
  const char *what;  /* the unit that is divided evenly, in the plural: "heads" */
  const char *count; /* the parameter with the number of units; NULL: the size of a block */
} LoomWeightSplit;

/* Declares a weight (or buffer) of float type named PATH.name. Its shape must be of plain integers. If a port of
 * that name is wired (a tied weight), the shapes are compared instead. */
typedef struct
{
  const char *name;
  LoomShape shape;
  LoomInit init;
  gboolean is_buffer;            /* not trained */
  gboolean is_factor;            /* of LoRA: trained in place of the net's other weights */
  LoomDType dtype;               /* LOOM_F32 means the program's float; num_batches_tracked is i64 */
  gboolean bare_name;            /* for op="parameter": the tensor has the name of the path */
  const LoomWeightSplit *splits; /* static; NULL: every rank has the whole weight, whatever the split of the node */
} LoomWeightSpec;
/* The names of the factors of LoRA, as in PEFT: A [r, in_features], B [out_features, r]; and of the magnitudes of DoRA,
 * [out_features]. */
#define LOOM_LORA_A         "lora_A.weight"
#define LOOM_LORA_B         "lora_B.weight"
#define LOOM_LORA_MAGNITUDE "lora_magnitude_vector"
#define LOOM_DORA_LEAST     1e-30 /* the norm of a row of zeros, in place of 0 */
void loom_infer_weight (LoomInfer *ctx, const LoomWeightSpec *spec);

/* Zeroed memory with the lifetime of the net: for LoomInit.data. */
gpointer loom_infer_keep (LoomInfer *ctx, gsize bytes);

/* PyTorch's default for linear and conv weights: uniform in ±1/sqrt(fan_in) (kaiming_uniform with a = √5; also for
 * the bias). */
LoomInit loom_init_fan_in (gint64 fan_in);

/* Reports a fault at this node; the name of the port or parameter may be NULL. At most one fix, as a new value of an
 * attribute. */
LoomFault *
loom_infer_fault (LoomInfer *ctx, LoomErrorCode code, const char *port, const char *format, ...) G_GNUC_PRINTF (4, 5);
gboolean loom_infer_has_fault (const LoomInfer *ctx);

/* ---- inside lower() --------------------------------------------------- */
LoomProgram *loom_lower_program (LoomLower *ctx);
/* The same node with every symbol bound: parameters and types. */
const LoomInfer *loom_lower_infer (const LoomLower *ctx);
gboolean loom_lower_is_training (const LoomLower *ctx);
gboolean loom_lower_is_direct (const LoomLower *ctx); /* <train algorithm="direct"> */
/* Whether the backward pass recomputes the results. A plan pass does this, except in the body of a loop, where the
 * operator must. */
gboolean loom_lower_is_recomputed (const LoomLower *ctx);
gboolean loom_lower_has_effects (const LoomLower *ctx); /* TRUE in a training step that commits: see has_effect */
LoomValue loom_lower_input (LoomLower *ctx, guint i);   /* 0 if an optional input is not wired */
/* A declared weight or buffer: the wired value, else that of the slot. 0 if it was not declared. */
LoomValue loom_lower_weight (LoomLower *ctx, const char *name);
/* Sets the next value of a declared buffer (training mode: running statistics). */
void loom_lower_commit (LoomLower *ctx, const char *name, LoomValue value);
/* TRUE if the node resumes from the state of the run before, which it declares with the functions below. */
gboolean loom_lower_carries (const LoomLower *ctx);
/* The number of positions in the cache of attention; 0: no cache. */
gint64 loom_lower_carry_capacity (const LoomLower *ctx);
/* The number of positions that earlier runs have read, i64. */
LoomValue loom_lower_carry_position (LoomLower *ctx);
/* A slot for carried state, initialised to zeros. */
int loom_lower_carry_slot (LoomLower *ctx, const char *what, LoomDType dtype, int rank, const gint64 *dims);
/* The value that the run before has stored, or `first` at the beginning; and the value for the next run, of the same
 * type. */
LoomValue loom_lower_carry_begin (LoomLower *ctx, const char *what, LoomValue first);
void loom_lower_carry_end (LoomLower *ctx, const char *what, LoomValue next);
/* The value of the scalar slot of a parameter with .hyper, in the program's float type. */
LoomValue loom_lower_hyper (LoomLower *ctx, const char *name);
/* A scalar slot PATH.NAME of the node with an initial value. */
LoomValue loom_lower_scalar (LoomLower *ctx, const char *name, double initial);
/* Random numbers keyed on seed, path of the node, step and index: the same on every device, and in a resumed run.
 * Floats of the program's type: uniform in [0,1), normal, or exponential with mean 1. `which` numbers the draws of a
 * node. */
LoomValue loom_lower_random (LoomLower *ctx, LoomRandomKind kind, guint which, int rank, const gint64 *dims);
/* The key of such numbers, for a primitive that draws them itself: the stream, and scalars. */
guint64 loom_lower_random_from (LoomLower *ctx, guint which, LoomValue *seed, LoomValue *step);
/* i64, uniform in 0 … 2⁶³-1. */
LoomValue loom_lower_random_int (LoomLower *ctx, guint which, int rank, const gint64 *dims);
void loom_lower_output (LoomLower *ctx, guint i, LoomValue value);
/* The state slot of the wire to input i, if loom_infer_input_is_state() holds. */
int loom_lower_input_slot (LoomLower *ctx, guint i);
/* Fails with an error that only lowering finds (a node on the path has no gradient). Takes the error. */
void loom_lower_fail (LoomLower *ctx, GError *error);
