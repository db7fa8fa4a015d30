/* The state of the ONNX reader (OnnxImport), and the functions that its files call.
 *
 * onnx-file.c checks and unpacks bytes, onnx-tensor.c reads tensors (onnx-external.c those in external data files),
 * onnx-import.c walks the model's nodes in the order of onnx-order.c, onnx-value.c stores values, onnx-scope.c imports
 * graphs inside the graph, onnx-attribute.c reads attributes, onnx-emit.c emits nodes of the graph,
 * onnx-constant.c those of tensors, onnx-graph.c writes
 * them as a graph, onnx-fold.c folds constants, and onnx-map-*.c are tables with one const descriptor for each operator
 * of ONNX. */
#pragma once

#include "engine/onnx/loom-onnx.h"
#include "engine/net/loom-net.h"

#include "onnx.pb-c.h"

/* ONNX has renamed its axes several times; 25 is the newest operator set whose changes are known here. */
#define ONNX_NEWEST_OPSET 28

typedef struct _OnnxNode OnnxNode;
typedef struct _OnnxImport OnnxImport;
typedef struct _OnnxCtx OnnxCtx;
typedef struct _OnnxExternal OnnxExternal;
typedef struct _OnnxModule OnnxModule;

/* A port of an emitted node. It lives as long as the import. */
typedef struct
{
  OnnxNode *node;
  const char *port; /* interned; "out" for a single output */
  LoomType type;
  /* A weight that its reader can have as its own, so there is no node yet. */
  struct _OnnxValue *own;
} OnnxWire;

typedef struct
{
  char *port;
  char *name; /* in the state dict of the network; NULL: unknown */
  LoomTensor *tensor;
} OnnxWeight;

/* An emitted node. */
struct _OnnxNode
{
  const LoomOp *op;
  char *id;
  GPtrArray *attributes; /* name, value, … */
  guint n_in;
  const OnnxWire **in;       /* by port; NULL: not wired */
  const char *const *ports;  /* interned names of the ports; NULL: the operator's */
  const OnnxModule *body[2]; /* the modules that it runs; NULL after the last one */
  guint n_out;
  OnnxWire *out;
  GPtrArray *weights; /* OnnxWeight */
  gboolean live;
  int column, row;
  char *path;        /* "layer1.0.conv1": the module of the network from which it was exported; NULL: unknown */
  char *weight_path; /* the same from the names of its weights; NULL: it has none, or none with such a name */
  char *word;        /* the last word of such a path, its id in its module; NULL: any id will do */
  guint position;    /* among the needed nodes */
  GPtrArray *copies; /* OnnxModule: equal modules that run one after the other as this instance; NULL: only body[0] */
};

/* A value of the model, found by name. */
typedef struct _OnnxValue
{
  char *name;
  OnnxImport *home;     /* the scope to which it belongs */
  LoomTensor *constant; /* known during the import */
  LoomTensor *given;    /* the caller's value of an input, used only for attributes */
  int elem_type;        /* ONNX's type; 0 if it is not known */
  gboolean is_weight;   /* an initialiser that training may change */
  gboolean is_restored; /* a bias of zeros that the exporter has left out */
  /* The weight of the state dict from which the exporter computed it, and whether it is its transpose; or NULL. */
  const char *original;
  gboolean is_turned;
  const OnnxWire *wire;
  const GPtrArray *sequence; /* OnnxValue: its elements; NULL: it is no sequence */
  gboolean is_none;          /* an optional value that is absent */
  gboolean failed;           /* its node could not be translated */
  const Onnx__NodeProto *producer;
} OnnxValue;

typedef struct
{
  const char *name; /* ONNX's operator */
  const char *op;   /* Gradloom's operator, if both differ only in names */
  void (*map) (OnnxCtx *c);
  const char *domain; /* NULL: ONNX's own */
  /* For descriptors that share a function: attributes "onnx=ours", separated by spaces. */
  const char *attributes;
  /* The operator set that introduced the operator, if it is newer than the set of exported models: see
   * onnx-export-same.c. */
  int since;
} OnnxMap;

/* A module under construction. */
struct _OnnxModule
{
  char *name;
  OnnxImport *scope;
  GPtrArray *inputs, *outputs; /* OnnxNode: its module_input and module_output nodes */
  GPtrArray *captured;         /* by input: the wire outside that it represents, or NULL (OnnxWire) */
  GPtrArray *cut;              /* by input: TRUE: each iteration gets a row; FALSE: it is whole */
  const OnnxWire *step;        /* the index of the iteration, if the body has it; else NULL */
  LoomDim steps;               /* number of iterations */
  OnnxModule *same;            /* the module that is written in its stead, if another one computes the same */
  const OnnxNode *first;       /* the input that has to be the first one; NULL: any order will do */
};

/* The import of a model, or of a graph inside its graph. A graph inside is imported into the graph around it, with
 * whose nodes and ids it then shares its own, or into a module. */
struct _OnnxImport
{
  const char *file;
  Onnx__ModelProto *model;
  GHashTable *functions;  /* the model's own, see onnx-function.c; NULL if it has none */
  GPtrArray *copies;      /* of the functions, one for each call */
  gsize *copied;          /* bytes of all these copies */
  GPtrArray *lists;       /* GPtrArray of the sequences */
  GPtrArray *notes;       /* sentences for the user */
  guint calls;            /* of functions around this scope */
  OnnxImport *outer;      /* the scope in which other names are looked up; NULL: this is the model's graph */
  OnnxModule *module;     /* the module that receives its nodes; NULL: that of outer */
  OnnxExternal *external; /* files with the numbers of tensors */
  gint64 opset;
  GHashTable *values; /* name → OnnxValue */
  GHashTable *uses;   /* name → number of nodes and outputs that read it, including those of graphs inside */
  /* for a Scan's body: state that every iteration passes on unchanged → name of its value outside; or NULL */
  GHashTable *kept;
  GHashTable *ids;  /* ids in use */
  GPtrArray *nodes; /* OnnxNode */
  GPtrArray *wires; /* OnnxWire that are no output of a node */
  GHashTable *given;
  LoomFaults *faults;
  char *last_error; /* of an initialiser */
  GStringChunk *pool;
  GPtrArray *memory;  /* other memory that lives as long as the import */
  GArray *dynamic;    /* LoomDim of the dynamic sizes that were folded, see onnx_dynamic_dim() */
  GPtrArray *symbols; /* dim_param of symbol 'A' + …; NULL: the symbol is free */
  GPtrArray *mapped;  /* "Conv → conv2d" for each node */
  GPtrArray *scopes;  /* OnnxImport: graphs inside the model's */
  GPtrArray *modules; /* OnnxModule */
  GHashTable *module_names;
  GHashTable *classes; /* path of a module of the network → the name of its class, from PyTorch's exporter */
  GHashTable *kinds;   /* name in the state dict → OnnxKind, from PyTorch's exporter */
  GHashTable *targets; /* name of an input of the exported program → name in the state dict */
  gint64 fixed_batch;  /* the model's, which becomes the symbol `batch`; 0: it stays */
  LoomDim batch;
  GHashTable *data_free;   /* OnnxWire → LoomTensor, see onnx-data-free.c; NULL: nothing was computed yet */
  GHashTable *dropped;     /* OnnxWire of random numbers → OnnxWire of the ones that are dropped by these */
  GHashTable *batch_outer; /* OnnxWire → gint64: the elements before `batch` in its dimension; 1 if there is none */
};

/* The node of the model that is being translated. */
struct _OnnxCtx
{
  OnnxImport *all;
  const Onnx__NodeProto *node;
  const OnnxMap *map;
  gboolean drawn;   /* emitted nodes are named after their operators, since this node becomes several */
  gboolean failed;  /* a fault was added, or an input's node had one */
  guint first_node; /* the first node that was emitted for it */
  guint64 read;     /* bits: attributes of the node that the mapping has read */
};

/* ---- onnx-file.c ------------------------------------------------------ */
/* Checks a message by its description: lengths, depth and number of parts. Called before protobuf-c, which recurses as
 * deep as a file requires and allocates for each empty part. */
gboolean onnx_check_bytes (const ProtobufCMessageDescriptor *descriptor, const guint8 *data, gsize length,
                           const char *name, GError **error);

/* ---- onnx-tensor.c ---------------------------------------------------- */
/* Gradloom's type for an ONNX element type; FALSE if there is none. FLOAT16, BFLOAT16 and DOUBLE are types of tensors;
 * wires have the program's float, see onnx_wire_dtype(). */
gboolean onnx_dtype (int elem_type, LoomDType *dtype);
gboolean onnx_wire_dtype (int elem_type, LoomDType *dtype);
LoomDType onnx_on_wire (LoomDType dtype);
/* The range of an integer type of at most 32 bits; FALSE for other types. */
gboolean onnx_type_range (int elem_type, gint64 *least, gint64 *most);
const char *onnx_type_name (int elem_type);
LoomTensor *onnx_tensor_read (OnnxExternal *external, const Onnx__TensorProto *proto, const char *what, GError **error);
gint64 onnx_tensor_int (const LoomTensor *t, gint64 i);
/* TRUE if a tensor has a number of 2⁶³ or more, which is stored as the i64 of the same bits. Only operators on bits may
 * read it. */
gboolean onnx_is_beyond (int elem_type, const LoomTensor *t);
/* Whole numbers up to this magnitude are exact in an attribute, as in a double. */
#define ONNX_MAX_WHOLE (G_GINT64_CONSTANT (1) << 53)

/* ---- onnx-small-float.c ---------------------------------------------------- */
/* TRUE for floats of 8 and 4 bits, which are f32 in graphs. */
gboolean onnx_is_small_float (int elem_type);
/* The number that these bits represent. */
float onnx_small_float_value (int elem_type, guint bits);
/* x, rounded to a number that the type represents; for other types x itself. A number beyond the largest one becomes
 * that if it saturates, else infinity or NaN as the type has it. round_mode (float8e8m0 only): up, down or nearest. */
const OnnxWire *
onnx_to_small_float (OnnxCtx *c, const OnnxWire *x, int elem_type, gboolean saturate, const char *round_mode);

/* ---- onnx-external.c -------------------------------------------------- */
/* Bytes of an external data file. */
typedef struct
{
  guint64 offset, length;
  int fd;
  LoomTensor *tensor; /* the tensor as which they were read; NULL: not read yet */
  int data_type;
} OnnxRegion;

/* model_path NULL: the model is not from a file, so it has no external data. */
OnnxExternal *onnx_external_new (const char *model_path);
void onnx_external_free (OnnxExternal *self);
/* The address of the `bytes` bytes of a tensor; NULL with a sentence that begins with `what`, or that is about the file
 * and the same for all its tensors. (transfer none) */
OnnxRegion *onnx_external_region (OnnxExternal *self, const Onnx__TensorProto *proto, const char *what, guint64 bytes,
                                  GError **error);
gboolean onnx_region_read (const OnnxRegion *region, guint8 *to, const char *what, GError **error);

/* ---- onnx-fold.c ------------------------------------------------------ */
/* ---- open sizes (onnx-sizes.c) -------------------------------------------------- */

/* The name of an open size: the model's, or "x.0" if it has none. NULL if the size is fixed. (transfer full) */
char *onnx_size_name (const Onnx__ValueInfoProto *input, int dim);
/* Gives the open sizes of the graph's inputs the values that the caller knows. FALSE (USAGE) if a name is unknown, or a
 * value contradicts the model. */
gboolean onnx_sizes_fix (Onnx__GraphProto *graph, const LoomOnnxInputs *inputs, GError **error);
/* The names of the open sizes, NULL-terminated. (transfer full) */
char **onnx_sizes_list (const Onnx__GraphProto *graph);
/* Adds a fault that lists the open sizes, if there are any. */
void onnx_sizes_report (const Onnx__GraphProto *graph, LoomFaults *faults);

/* ---- open batches (onnx-batch.c) ------------------------------------------------ */

/* The first size of all inputs, if it is fixed and they have the same; else 0. */
gint64 onnx_batch_find (const Onnx__GraphProto *graph);
/* If the batch is being opened: gives it its position in fixed sizes to which x is reshaped next; rest: the
 * dimension that is the remainder, or −1. FALSE: nothing was changed. */
gboolean onnx_batch_place (OnnxCtx *c, const OnnxWire *x, LoomShape *to, int rest);
/* TRUE if the batch is being opened and this is the size that the dimension had in the model. */
gboolean onnx_batch_is_size (OnnxCtx *c, LoomDim dim, gint64 size);
/* Repeats operands without a batch for each sample, where others have one along another dimension than axis. */
void onnx_batch_spread (OnnxCtx *c, guint n, const OnnxWire **in, int axis);
/* Fails if a node reads a batch and does not keep its samples apart. */
void onnx_batch_check_node (OnnxCtx *c, const OnnxNode *node);
/* TRUE if all outputs (LoomOnnxPort) have the batch as their first dimension. */
gboolean onnx_batch_is_open (const OnnxImport *all, const GPtrArray *outputs);

/* The node's only output if everything that it depends on is known, else NULL. With given, the caller's values of
 * inputs count as known. */
LoomTensor *onnx_fold (OnnxImport *all, const Onnx__NodeProto *node, gboolean given, guint depth);
/* The same for a value. (transfer none) */
const LoomTensor *onnx_known (OnnxImport *all, const char *name, gboolean given, guint depth);

/* Folding of shapes represents a symbolic size by a number that no real size has. TRUE if a number is one; *dim
 * receives the size. */
gboolean onnx_dynamic_dim (const OnnxImport *all, gint64 number, LoomDim *dim);
gboolean onnx_has_dynamic (const OnnxImport *all, const LoomTensor *t);

/* ---- onnx-order.c ----------------------------------------------------- */
/* Onnx__NodeProto, each after the nodes that it reads from. (transfer container) */
GPtrArray *onnx_nodes_in_order (const Onnx__GraphProto *graph);
/* Counts the nodes and outputs that read each name, including those of graphs inside this one. */
void onnx_count_uses (GHashTable *uses, const Onnx__GraphProto *graph);

/* ---- onnx-import.c ---------------------------------------------------- */
/* Adds the initialisers of a graph, and maps its nodes. Inputs are added before. */
void onnx_add_tensors (OnnxImport *all, const Onnx__GraphProto *graph);
void onnx_map_nodes (OnnxImport *all, const Onnx__GraphProto *graph);

/* ---- onnx-function.c -------------------------------------------------- */
/* The functions of the model, by domain, name and overload; NULL if it has none. */
GHashTable *onnx_functions (const Onnx__ModelProto *model);
/* (transfer full) (element-type Onnx__FunctionProto) */
GPtrArray *onnx_function_copies (void);
/* The function that a node calls; NULL if it is an operator. Functions take precedence over operators. */
const Onnx__FunctionProto *onnx_function_of (const OnnxImport *all, const Onnx__NodeProto *node);
/* Imports the nodes of the function in place of the node. */
void onnx_call_function (OnnxCtx *c, const Onnx__FunctionProto *function);
/* Makes the value of this name in a scope an output of the node. */
void onnx_pass_output (OnnxCtx *c, OnnxImport *scope, const char *name, guint output);

/* ---- onnx-names.c ----------------------------------------------------- */
typedef enum
{
  ONNX_KIND_UNKNOWN,
  ONNX_KIND_PARAMETER,
  ONNX_KIND_BUFFER
} OnnxKind;

/* "layer1.0.conv1", the path of the module in which a node was computed; "" if it is the network itself, NULL if the
 * model does not say. Classes of the modules on the path are added. (transfer full) */
char *onnx_module_path (const Onnx__NodeProto *node, GHashTable *classes);
/* Reads the kinds of the names in the state dict, and which inputs carry them; both are empty if the model does
 * not say. */
void onnx_signature (OnnxImport *all);
/* TRUE if training changes the tensor of this name: the exporter says so, or it has several numbers and may be a
 * weight. */
gboolean onnx_is_trained (const OnnxImport *all, const char *name, const LoomTensor *t);
/* The name of a value in the state dict; NULL if it has none. */
const char *onnx_state_name (const OnnxImport *all, const OnnxValue *value);
/* Argument i of the call of aten.FUNCTION by which PyTorch computed a node, "%linear =
 * call_function[target=torch.ops.aten. linear.default](args = (%x, %p_fc_weight, %p_fc_bias), kwargs = {})":
 * "%p_fc_weight". NULL: the node is of another call, or the argument is not given. (transfer full) */
char *onnx_call_argument (const Onnx__NodeProto *node, const char *function, guint i);
/* The weight of the state dict that the call of a node names, if it is the only one, another one than the stored one,
 * and not in the model; else NULL. */
const char *onnx_called_weight (OnnxImport *all, const Onnx__NodeProto *node, const char *stored);
/* The name in the state dict of the weight of a port, weight_ih_l0, of a layer of PyTorch's LSTM or GRU, by the call of
 * its node; NULL if it is none. (transfer full) */
char *onnx_called_recurrent (const OnnxImport *all, const Onnx__NodeProto *node, const char *port);
/* Finds of which weights the node's tables are copies that the exporter made. */
void onnx_claim_originals (OnnxImport *all, const Onnx__NodeProto *node);
/* Makes input i of a node that of another name. Without memory its value fails. */
void onnx_rename_input (OnnxImport *all, const Onnx__NodeProto *node, gsize i, const char *name);
/* Gives a layer its bias of zeros again that the exporter left out. */
void onnx_restore_bias (OnnxImport *all, Onnx__NodeProto *node);
/* Adds sentences about weights of the state dict that are not in the model. */
void onnx_note_lost (const OnnxImport *all, GPtrArray *notes);
/* Notes nodes that draw random numbers, once it is known which are written. Adds a fault if numbers by which a dropout
 * drops are read otherwise, too, for which they would be other ones. */
void onnx_note_random (const OnnxImport *all);
/* Notes once that the model dropped elements when it was exported. */
void onnx_note_training (const OnnxImport *all);

/* ---- onnx-rows.c ------------------------------------------------------ */
/* The tensor of which a wire is all rows in order, cut into blocks and joined again; else the wire. */
const OnnxWire *onnx_rows_source (const OnnxWire *wire);

/* ---- onnx-modules.c --------------------------------------------------- */
/* The operator of nodes that are instances of a module. */
extern const LoomOp onnx_instance;
/* Groups the needed nodes by their paths into modules. Needs nodes to be marked. */
void onnx_make_modules (OnnxImport *all);

/* ---- onnx-recover.c --------------------------------------------------- */
/* If the node of c is the last one of a decomposed operator, its result becomes that operator's. */
void onnx_recover (OnnxCtx *c);

/* ---- onnx-scope.c ----------------------------------------------------- */
/* A scope for a graph inside the graph. Its nodes become those of a new module of about this name; NULL: those of
 * outer's module. (transfer none) */
OnnxImport *onnx_scope_new (OnnxImport *outer, const char *module);
void onnx_scope_free (gpointer scope);
/* A module without a name whose nodes are those of this new scope; it gets a free name like `name`. */
OnnxModule *onnx_module_new (OnnxImport *scope);
void onnx_module_name (OnnxModule *module, const char *name);
void onnx_module_free (gpointer module);
/* FALSE with a fault if nested loops would be unrolled too often. */
gboolean onnx_has_room (OnnxCtx *c);
/* The graph that is this attribute of the node, whose inputs and outputs have names; NULL after a fault. */
const Onnx__GraphProto *onnx_graph_of (OnnxCtx *c, const char *name);
/* A context that emits nodes in a scope, for the node of c. */
OnnxCtx onnx_scope_ctx (const OnnxCtx *c, OnnxImport *scope);
/* Adds an input of about this name to the scope's module; and one that represents a wire outside of it. */
const OnnxWire *onnx_scope_input (OnnxImport *scope, const char *name, const LoomType *type);
const OnnxWire *onnx_scope_capture (OnnxImport *scope, const char *name, const OnnxWire *outside);
/* If the value of this name is a sequence outside of a loop, and index is the number of the iteration: its row `index`
 * along an axis, as a sequence of the loop; else NULL. */
const OnnxWire *onnx_scope_row (OnnxCtx *c, const char *name, const OnnxWire *index, gint64 axis);
/* Adds an output, carried to the input `carry` if that is not NULL; returns its name. */
const char *onnx_scope_output (OnnxCtx *c, const char *name, const OnnxWire *wire, const OnnxWire *carry);
/* The value of this name for nodes of c. A value of another scope becomes a new constant, or an input of the module.
 * NULL if there is none. */
OnnxValue *onnx_reach (OnnxCtx *c, const char *name);
/* The wire of a value; a constant becomes a node. */
const OnnxWire *onnx_reach_wire (OnnxCtx *c, const char *name);
/* Indices 0, 1, 2 … up to a size, i64; a dynamic size is that of a value which has it. */
const OnnxWire *onnx_count (OnnxCtx *c, LoomDim size);
/* Adds the same value under a name of another scope of the same module. */
void onnx_alias (OnnxImport *scope, const char *name, const OnnxValue *value);
/* Emits a scan over a module: for each of its inputs the wire outside (NULL: it starts with zeros), and lengths (may be
 * NULL). sequences: TRUE for each input that is a sequence. The node's outputs have the names of the module's. */
typedef struct
{
  const OnnxWire **in;
  const gboolean *is_sequence;
  const OnnxWire *lengths;
  int axis;
  gboolean reverse;
} OnnxLoop;

const OnnxNode *onnx_emit_loop (OnnxCtx *c, const OnnxImport *scope, const OnnxLoop *loop);

/* ---- onnx-emit.c ------------------------------------------------------ */
/* Infers the node's types from its operator, its attributes and its wires. */
void onnx_infer (OnnxCtx *c, OnnxNode *node);
OnnxNode *onnx_node_new (OnnxImport *all, const LoomOp *op, const char *wanted_id);
void onnx_node_free (OnnxNode *node);
void onnx_node_set (OnnxNode *node, const char *name, const char *value);
/* The value of an attribute, or the operator's default; NULL if it has none. */
const char *onnx_node_get (const OnnxNode *node, const char *name);

/* The functions below do nothing after a failure, and return placeholder wires. */
#define ONNX_IN(...)                                                                                                   \
  G_N_ELEMENTS (((const OnnxWire *[]){ __VA_ARGS__ })), (const OnnxWire *[])                                           \
  {                                                                                                                    \
    __VA_ARGS__                                                                                                        \
  }

/* Emits a node: inputs in port order (NULL: not wired), attributes as name, value, …, NULL. An attribute without a
 * value, or with the default value, is left out. */
const OnnxWire *onnx_emit (OnnxCtx *c, const char *op, guint n_in, const OnnxWire **in, ...) G_GNUC_NULL_TERMINATED;
/* Another output of the node of a wire. */
const OnnxWire *onnx_sibling (OnnxCtx *c, const OnnxWire *wire, const char *port);
/* Gives a node its own weight or buffer, with its name in the state dict (NULL: it has none). */
void onnx_add_weight (OnnxCtx *c, OnnxNode *node, const char *port, LoomTensor *tensor, const char *name);
/* TRUE for the name of a buffer of the state dict (a mask, a table of positions), which is not trained. */
gboolean onnx_is_buffer (OnnxCtx *c, const char *name);
/* The same for the node of a wire. */
void onnx_own (OnnxCtx *c, const OnnxWire *wire, const char *port, LoomTensor *tensor);
/* The same for the constant of a value, with its name in the state dict. */
void onnx_own_named (OnnxCtx *c, const OnnxWire *wire, const char *port, const OnnxValue *value);
/* The same for the number of a parameter node, which it replaces. */
void onnx_take_weight (OnnxCtx *c, const OnnxWire *wire, const char *port, const OnnxNode *parameter);
/* Adds a fault at this node; the sentence follows the operator's name. */
void onnx_fail (OnnxCtx *c, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Returns text that lives as long as the import. */
const char *onnx_text (OnnxCtx *c, const char *format, ...) G_GNUC_PRINTF (2, 3);
const char *onnx_number (OnnxCtx *c, double x);
const char *onnx_list (OnnxCtx *c, guint n, const gint64 *values);
const char *onnx_dims (OnnxCtx *c, const LoomShape *shape);
/* The same for a reshape, of which one size may be unknown: the rest, −1. */
const char *onnx_dims_and_rest (OnnxCtx *c, const LoomShape *shape);

/* Common small nodes. */
const OnnxWire *onnx_unary (OnnxCtx *c, const char *op, const OnnxWire *x);
const OnnxWire *onnx_binary (OnnxCtx *c, const char *op, const OnnxWire *a, const OnnxWire *b);
const OnnxWire *onnx_with_number (OnnxCtx *c, const char *op, const OnnxWire *x, double other);
const OnnxWire *onnx_constant (OnnxCtx *c, double value, LoomDType dtype);
const OnnxWire *onnx_cast (OnnxCtx *c, const OnnxWire *x, LoomDType dtype);
const OnnxWire *onnx_reshape (OnnxCtx *c, const OnnxWire *x, const LoomShape *shape);
const OnnxWire *onnx_permute (OnnxCtx *c, const OnnxWire *x, const gint64 *order);
/* A bound that is infinite is none. */
const OnnxWire *onnx_clamp (OnnxCtx *c, const OnnxWire *x, double least, double most);
const OnnxWire *onnx_unsqueeze (OnnxCtx *c, const OnnxWire *x, int dim);
const OnnxWire *onnx_slice (OnnxCtx *c, const OnnxWire *x, int dim, gint64 start, gint64 end, gint64 step);
/* op is sum, mean, max, min or prod. n_axes 0: all. */
const OnnxWire *
onnx_reduce (OnnxCtx *c, const char *op, const OnnxWire *x, guint n_axes, const gint64 *axes, gboolean keep);

/* ---- onnx-value.c ----------------------------------------------------- */
/* The value of a name in this scope or those around it; NULL if none is made yet. */
OnnxValue *onnx_value_of (OnnxImport *all, const char *name);
/* The same in this scope only. */
OnnxValue *onnx_own_value (OnnxImport *all, const char *name);
/* Adds a value; of two with the same name the first is kept. */
OnnxValue *onnx_declare (OnnxImport *all, const char *name);
void onnx_value_free (gpointer value);
/* ONNX's element type of an input or output of a graph; 0: unknown. */
int onnx_port_type (const Onnx__ValueInfoProto *port);
/* The same for output i of a node; the types of its inputs are known. */
int onnx_result_type (OnnxImport *all, const Onnx__NodeProto *node, guint i);
/* Sets the element types of a node's results. */
void onnx_report_types (OnnxImport *all, const Onnx__NodeProto *node);

/* ---- onnx-value.c and onnx-attribute.c: accessors for mappings --------- */
guint onnx_n_inputs (OnnxCtx *c);
gboolean onnx_has (OnnxCtx *c, guint i);
gboolean onnx_has_output (OnnxCtx *c, guint i);
const OnnxWire *onnx_in (OnnxCtx *c, guint i);
const OnnxWire *onnx_value_wire (OnnxCtx *c, OnnxValue *value);
/* ONNX's element type of an input; several become i64 on wires. 0 if it is not known. */
int onnx_elem_type (OnnxCtx *c, guint i);
/* For a port that may be a weight: a weight of the model becomes the node's own. */
const OnnxWire *onnx_weight (OnnxCtx *c, guint i);
const OnnxWire *onnx_value_weight (OnnxCtx *c, OnnxValue *value);
/* A value that is known during the import; NULL (without a fault) if it is not, or missing. */
const LoomTensor *onnx_const_or_null (OnnxCtx *c, guint i);
const LoomTensor *onnx_const (OnnxCtx *c, guint i, const char *what);
/* The same, but known in the model itself, not only to the caller. */
gboolean onnx_is_constant (OnnxCtx *c, guint i);
void onnx_out (OnnxCtx *c, guint i, const OnnxWire *wire);
void onnx_out_tensor (OnnxCtx *c, guint i, LoomTensor *t /* transfer full */);

const Onnx__AttributeProto *onnx_attribute (const Onnx__NodeProto *node, const char *name);
/* The attribute of c's node, which then counts as read; NULL if it is absent. */
const Onnx__AttributeProto *onnx_attr (OnnxCtx *c, const char *name);
gboolean onnx_has_attr (OnnxCtx *c, const char *name);
gint64 onnx_attr_int (OnnxCtx *c, const char *name, gint64 def);
double onnx_attr_float (OnnxCtx *c, const char *name, double def);
const char *onnx_attr_string (OnnxCtx *c, const char *name, const char *def);
/* The index of one of these words, the first of which is the default; fails the node if the attribute is another
 * one. */
#define onnx_attr_word(c, name, ...) onnx_attr_word_of (c, name, (const char *const[]){ __VA_ARGS__, NULL })
const char *onnx_attr_word_of (OnnxCtx *c, const char *name, const char *const *words);
/* Fails the node if it has an attribute that its mapping did not read and that may matter. */
void onnx_check_attributes (OnnxCtx *c);
/* The number of integers of an attribute; 0 if it is absent. Fails the node if there are more than max. */
guint onnx_attr_ints (OnnxCtx *c, const char *name, gint64 *values, guint max);
/* The same for floats. */
guint onnx_attr_floats (OnnxCtx *c, const char *name, double *values, guint max);
/* The integers from an attribute or, since some opset, an input of known value (input < 0: attribute only). *present:
 * TRUE if one of them exists. */
guint onnx_ints (OnnxCtx *c, const char *name, int input, gint64 *values, guint max, gboolean *present);
/* The same for sizes, which may be the numbers of dynamic sizes. */
guint onnx_sizes (OnnxCtx *c, const char *name, int input, gint64 *values, guint max, gboolean *present);
/* Such a number as a dimension. */
LoomDim onnx_size (OnnxCtx *c, gint64 number);
/* An axis within a rank, negative from the end; fails the node if it is out of range. */
int onnx_axis (OnnxCtx *c, gint64 axis, int rank);
gint64 onnx_opset (OnnxCtx *c);
/* The dimension as a number; fails the node if it is not known. */
gint64 onnx_dim (OnnxCtx *c, const OnnxWire *x, int i);

/* ---- tables ----------------------------------------------------------- */
extern const OnnxMap *const onnx_map_tables[]; /* NULL-terminated */
const OnnxMap *onnx_map_find (const char *domain, const char *name);
extern const OnnxMap onnx_map_math[], onnx_map_logic[], onnx_map_activation[], onnx_map_layer[], onnx_map_norm[],
    onnx_map_pool[], onnx_map_reduce[], onnx_map_shape[], onnx_map_index[], onnx_map_loss[], onnx_map_image[],
    onnx_map_training[], onnx_map_signal[], onnx_map_random[], onnx_map_quant[], onnx_map_branch[], onnx_map_control[],
    onnx_map_sequence[], onnx_map_recurrent[], onnx_map_attention[], onnx_map_contrib[], onnx_map_weights[],
    onnx_map_bits[], onnx_map_region[], onnx_map_state[], onnx_map_ml[];
void onnx_map_grid_sample (OnnxCtx *c);
void onnx_map_affine_grid (OnnxCtx *c);
void onnx_map_col2im (OnnxCtx *c);
void onnx_map_rotary (OnnxCtx *c);
void onnx_map_tree_ensemble (OnnxCtx *c);
/* If a DequantizeLinear reads only numbers of the model, its result becomes a weight of floats; TRUE in this case. */
gboolean onnx_dequantize_weight (OnnxCtx *c);
/* The results of Conv and Gemm, for operators that add to them. */
const OnnxWire *onnx_conv (OnnxCtx *c);
/* FALSE, with a failure, if kernel_shape is given and is not that of the filter w. */
gboolean onnx_check_kernel (OnnxCtx *c, const OnnxWire *w);
/* Whether a value is computed from zeros alone, and is no weight. */
gboolean onnx_is_zero (OnnxCtx *c, const char *name);
const OnnxWire *onnx_gemm (OnnxCtx *c);
/* Selects from x along an axis by an index of any shape, which replaces the axis. No index is negative. */
const OnnxWire *onnx_pick (OnnxCtx *c, const OnnxWire *x, int axis, const OnnxWire *index);
/* Input 1, broadcast to input 0 by the rules of operator sets before 7. */
const OnnxWire *onnx_second_operand (OnnxCtx *c, const OnnxWire *a);
/* Wraps integers that are stored in a larger type to the range of their ONNX type. */
const OnnxWire *onnx_wrap (OnnxCtx *c, const OnnxWire *x, int elem_type);
/* An Add after a linear without a bias, of a weight of its size, becomes the bias; TRUE in this case. */
gboolean onnx_map_bias (OnnxCtx *c);

/* ---- onnx-graph.c ----------------------------------------------------- */
char *onnx_free_id (OnnxImport *all, const char *wanted);
LoomGraph *onnx_write_graph (OnnxImport *all, const char *name, GPtrArray *weights);
/* Of modules that compute the same one is written. */
const OnnxModule *onnx_written (const OnnxModule *module);
/* Appends a module, and before it those that its nodes run. done: the set of OnnxModule appended already. */
void onnx_write_module (const OnnxModule *module, LoomGraph *graph, GHashTable *done);
