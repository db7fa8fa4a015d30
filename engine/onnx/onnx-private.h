/* Shared by the files of the ONNX reader.
 *
 * onnx-file.c checks and unpacks bytes, onnx-tensor.c reads tensors (onnx-external.c finds those in external
 * data files), onnx-import.c walks the model's nodes in the order of onnx-order.c, onnx-value.c keeps its values,
 * onnx-scope.c has the graphs within its graph, onnx-attribute.c reads attributes, onnx-emit.c emits nodes of the
 * graph, onnx-graph.c writes them as a graph, onnx-fold.c folds constants, and onnx-map-*.c are tables: one const
 * descriptor for each operator of ONNX. */
#pragma once

#include "engine/onnx/loom-onnx.h"
#include "engine/net/loom-net.h"

#include "onnx.pb-c.h"

G_BEGIN_DECLS

/* ONNX has named its axes differently over the years; 25 is the newest set of operators whose changes are known here.
 */
#define ONNX_NEWEST_OPSET 25

typedef struct _OnnxNode OnnxNode;
typedef struct _OnnxImport OnnxImport;
typedef struct _OnnxCtx OnnxCtx;
typedef struct _OnnxExternal OnnxExternal;
typedef struct _OnnxModule OnnxModule;

/* A port of one of our nodes. It lives as long as the import. */
typedef struct
{
  OnnxNode *node;
  const char *port; /* interned; "out" for a single output */
  LoomType type;
  /* A weight that its reader may keep as its own: no node yet. */
  struct _OnnxValue *own;
} OnnxWire;

typedef struct
{
  char *port;
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
  const char *const *ports;  /* interned names of these; NULL: the operator's */
  const OnnxModule *body[2]; /* the modules that it runs; NULL after the last one */
  guint n_out;
  OnnxWire *out;
  GPtrArray *weights; /* OnnxWeight */
  gboolean live;
  int column, row;
};

/* A value of the model, by name. */
typedef struct _OnnxValue
{
  char *name;
  OnnxImport *home;     /* whose it is */
  LoomTensor *constant; /* known while importing */
  LoomTensor *given;    /* the caller's value of an input: usable for attributes only */
  int elem_type;        /* ONNX's; 0 where it is not known */
  gboolean is_weight;   /* an initialiser that training may change */
  const OnnxWire *wire;
  gboolean failed; /* its node could not be translated */
  const Onnx__NodeProto *producer;
} OnnxValue;

typedef struct
{
  const char *name; /* ONNX's operator */
  const char *op;   /* ours, if the two differ in names only */
  void (*map) (OnnxCtx *c);
  const char *domain; /* NULL: ONNX's own */
  /* For descriptors that share a function: attributes "onnx=ours", a space between them. */
  const char *attributes;
  /* The operator set that brought it, where that is newer than what is written: see onnx-export-same.c. */
  int since;
} OnnxMap;

/* A module in the making. */
struct _OnnxModule
{
  char *name;
  OnnxImport *scope;
  GPtrArray *inputs, *outputs; /* OnnxNode: its module_input and module_output nodes */
  GPtrArray *captured;         /* by input: the wire outside that it brings in, or NULL (OnnxWire) */
  GPtrArray *cut;              /* by input: TRUE: a row of it in each iteration; FALSE: all of it */
  const OnnxWire *step;        /* the number of the iteration, if the body has it; else NULL */
  LoomDim steps;               /* and how many there are */
};

/* A model, or a graph within its graph. The latter is imported into the graph around it, whose nodes and ids it then
 * shares, or into a module. */
struct _OnnxImport
{
  const char *file;
  Onnx__ModelProto *model;
  GHashTable *functions;  /* “domain\nname” of the model's own; NULL if it has none */
  OnnxImport *outer;      /* the scope for names that are unknown here; NULL: this is the model's graph */
  OnnxModule *module;     /* that it is drawn into; NULL: what outer is drawn into */
  OnnxExternal *external; /* the files that hold numbers of it */
  gint64 opset;
  GHashTable *values; /* name → OnnxValue */
  GHashTable *uses;   /* name → how many nodes and outputs read it, those of graphs within this one among them */
  GHashTable *kept; /* of a Scan's body: state that every step hands on as it is → name of its value outside; or NULL */
  GHashTable *ids;  /* taken */
  GPtrArray *nodes; /* OnnxNode */
  GPtrArray *wires; /* OnnxWire that are not a node's output */
  GHashTable *given;
  LoomFaults *faults;
  char *last_error; /* of an initialiser */
  GStringChunk *pool;
  GPtrArray *memory;  /* what else lives as long as the import */
  GArray *dynamic;    /* LoomDim of dynamic sizes that folding met, see onnx_dynamic_dim() */
  GPtrArray *symbols; /* dim_param of 'A' + … ; NULL where free */
  GPtrArray *mapped;  /* "Conv → conv2d" of every node */
  GPtrArray *scopes;  /* OnnxImport: graphs within the model's */
  GPtrArray *modules; /* OnnxModule */
  GHashTable *module_names;
};

/* The node of the model that is being translated. */
struct _OnnxCtx
{
  OnnxImport *all;
  const Onnx__NodeProto *node;
  const OnnxMap *map;
  gboolean drawn;   /* nodes are named after their operators, since this node becomes many */
  gboolean failed;  /* a fault was added, or an input's node had one */
  guint first_node; /* of ours that belongs to it */
  guint64 read;     /* bits: the node's attributes that the mapping has read */
};

/* ---- onnx-file.c ------------------------------------------------------ */
/* Walks the bytes by the message's description: lengths, depth and number of parts. protobuf-c recurses as deep as a
 * file asks and allocates for each empty part, so this comes first. */
gboolean onnx_check_bytes (const ProtobufCMessageDescriptor *descriptor, const guint8 *data, gsize length,
                           const char *name, GError **error);

/* ---- onnx-tensor.c ---------------------------------------------------- */
/* Our type for an ONNX element type; FALSE where there is none. FLOAT16, BFLOAT16 and DOUBLE have one in a tensor; on
 * wires they are the program's float, see onnx_wire_dtype(). */
gboolean onnx_dtype (int elem_type, LoomDType *dtype);
gboolean onnx_wire_dtype (int elem_type, LoomDType *dtype);
LoomDType onnx_on_wire (LoomDType dtype);
/* The range of an integer type of at most 32 bits; FALSE for any other. */
gboolean onnx_type_range (int elem_type, gint64 *least, gint64 *most);
const char *onnx_type_name (int elem_type);
LoomTensor *onnx_tensor_read (OnnxExternal *external, const Onnx__TensorProto *proto, const char *what, GError **error);
gint64 onnx_tensor_int (const LoomTensor *t, gint64 i);
/* Whole numbers up to this, on either side of 0, are exact in an attribute: those of a double. */
#define ONNX_MAX_WHOLE (G_GINT64_CONSTANT (1) << 53)

/* ---- onnx-external.c -------------------------------------------------- */
/* Bytes of an external data file. */
typedef struct
{
  guint64 offset, length;
  int fd;
  LoomTensor *tensor; /* what they were read as; NULL before */
  int data_type;
} OnnxRegion;

/* model_path NULL: the model came from no file, so it has no external data. */
OnnxExternal *onnx_external_new (const char *model_path);
void onnx_external_free (OnnxExternal *self);
/* The address of the `bytes` bytes of a tensor; NULL with a sentence that begins with what, or one about the
 * file, the same for each of its tensors. (transfer none) */
OnnxRegion *onnx_external_region (OnnxExternal *self, const Onnx__TensorProto *proto, const char *what, guint64 bytes,
                                  GError **error);
gboolean onnx_region_read (const OnnxRegion *region, guint8 *to, const char *what, GError **error);

/* ---- onnx-fold.c ------------------------------------------------------ */
/* The node's only output where everything that it depends on is known, else NULL. With given, the caller's values
 * of inputs count as known. */
LoomTensor *onnx_fold (OnnxImport *all, const Onnx__NodeProto *node, gboolean given, guint depth);
/* The same for a value. (transfer none) */
const LoomTensor *onnx_known (OnnxImport *all, const char *name, gboolean given, guint depth);

/* A symbolic size passes through the folding of shapes as a number that no real size has. TRUE if a number is one; *dim
 * receives it. */
gboolean onnx_dynamic_dim (const OnnxImport *all, gint64 number, LoomDim *dim);
gboolean onnx_has_dynamic (const OnnxImport *all, const LoomTensor *t);

/* ---- onnx-order.c ----------------------------------------------------- */
/* Onnx__NodeProto, each after those that make what it reads. (transfer container) */
GPtrArray *onnx_nodes_in_order (const Onnx__GraphProto *graph);
/* Adds how many nodes and outputs read each name, those of graphs within this one among them. */
void onnx_count_uses (GHashTable *uses, const Onnx__GraphProto *graph);

/* ---- onnx-import.c ---------------------------------------------------- */
/* Declares the numbers that a graph has with it, and maps its nodes; inputs are declared before that. */
void onnx_add_tensors (OnnxImport *all, const Onnx__GraphProto *graph);
void onnx_map_nodes (OnnxImport *all, const Onnx__GraphProto *graph);

/* ---- onnx-scope.c ----------------------------------------------------- */
/* A scope for a graph within the graph, drawn into a module of about this name, or into what `outer` is drawn into
 * where that is NULL. (transfer none) */
OnnxImport *onnx_scope_new (OnnxImport *outer, const char *module);
void onnx_scope_free (gpointer scope);
void onnx_module_free (gpointer module);
/* FALSE, and a fault, if nested loops would be unrolled too often. */
gboolean onnx_has_room (OnnxCtx *c);
/* The graph that is this attribute of the node, whose ends are tensors with names; NULL after a fault. */
const Onnx__GraphProto *onnx_graph_of (OnnxCtx *c, const char *name);
/* A context that emits nodes in a scope, for the node of c. */
OnnxCtx onnx_scope_ctx (const OnnxCtx *c, OnnxImport *scope);
/* An input of the scope's module of about this name, and one that stands for a wire outside of it. */
const OnnxWire *onnx_scope_input (OnnxImport *scope, const char *name, const LoomType *type);
const OnnxWire *onnx_scope_capture (OnnxImport *scope, const char *name, const OnnxWire *outside);
/* Row `index` along an axis of the value of this name, where that is a sequence outside of a loop and the index the
 * number of its step: then the loop cuts it. NULL where it is not so. */
const OnnxWire *onnx_scope_row (OnnxCtx *c, const char *name, const OnnxWire *index, gint64 axis);
/* An output, carried to the input `carry` where that is not NULL; its name is returned. */
const char *onnx_scope_output (OnnxCtx *c, const char *name, const OnnxWire *wire, const OnnxWire *carry);
/* The value of this name for nodes of c: a value of another scope becomes a constant of its own, or an input of the
 * module. NULL if there is none. */
OnnxValue *onnx_reach (OnnxCtx *c, const char *name);
/* Its wire; a constant becomes a node. */
const OnnxWire *onnx_reach_wire (OnnxCtx *c, const char *name);
/* 0, 1, 2 … as many as a size says, i64; a size that is dynamic is that of something which has it. */
const OnnxWire *onnx_count (OnnxCtx *c, LoomDim size);
/* The same value under a name of another scope that is drawn into the same. */
void onnx_alias (OnnxImport *scope, const char *name, const OnnxValue *value);
/* A scan over a module: for each of its inputs the wire outside (NULL: it begins as zeros), and lengths (may be NULL).
 * sequences: a flag for each input. The node's outputs have the names of the module's. */
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
/* Types the node by its operator, its attributes and what is wired to it. */
void onnx_infer (OnnxCtx *c, OnnxNode *node);
OnnxNode *onnx_node_new (OnnxImport *all, const LoomOp *op, const char *wanted_id);
void onnx_node_free (OnnxNode *node);
void onnx_node_set (OnnxNode *node, const char *name, const char *value);
/* A node for a tensor: a constant where it is small, else a parameter. */
const OnnxWire *onnx_tensor_wire (OnnxCtx *c, LoomTensor *t, const char *name, gboolean is_weight);

/* The calls below are no-ops after a failure, and return placeholder wires. */
#define ONNX_IN(...)                                                                                                   \
  G_N_ELEMENTS (((const OnnxWire *[]){ __VA_ARGS__ })), (const OnnxWire *[])                                           \
  {                                                                                                                    \
    __VA_ARGS__                                                                                                        \
  }

/* A node of ours, inputs in port order (NULL: not wired), attributes as name, value, …, NULL; an attribute without a
 * value, or with the default, is left out. */
const OnnxWire *onnx_emit (OnnxCtx *c, const char *op, guint n_in, const OnnxWire **in, ...) G_GNUC_NULL_TERMINATED;
/* Another output of the node that made wire. */
const OnnxWire *onnx_sibling (OnnxCtx *c, const OnnxWire *wire, const char *port);
/* Gives the node that made wire a weight or buffer of its own. */
void onnx_own (OnnxCtx *c, const OnnxWire *wire, const char *port, LoomTensor *tensor);
/* A fault at this node; the sentence follows the operator's name. */
void onnx_fail (OnnxCtx *c, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Text that lives as long as the import. */
const char *onnx_text (OnnxCtx *c, const char *format, ...) G_GNUC_PRINTF (2, 3);
const char *onnx_number (OnnxCtx *c, double x);
const char *onnx_list (OnnxCtx *c, guint n, const gint64 *values);
const char *onnx_dims (OnnxCtx *c, const LoomShape *shape);

/* Common small nodes. */
const OnnxWire *onnx_unary (OnnxCtx *c, const char *op, const OnnxWire *x);
const OnnxWire *onnx_binary (OnnxCtx *c, const char *op, const OnnxWire *a, const OnnxWire *b);
const OnnxWire *onnx_with_number (OnnxCtx *c, const char *op, const OnnxWire *x, double other);
const OnnxWire *onnx_constant (OnnxCtx *c, double value, LoomDType dtype);
const OnnxWire *onnx_cast (OnnxCtx *c, const OnnxWire *x, LoomDType dtype);
const OnnxWire *onnx_reshape (OnnxCtx *c, const OnnxWire *x, const LoomShape *shape);
const OnnxWire *onnx_permute (OnnxCtx *c, const OnnxWire *x, const gint64 *order);
const OnnxWire *onnx_slice (OnnxCtx *c, const OnnxWire *x, int dim, gint64 start, gint64 end, gint64 step);
/* op is sum, mean, max, min or prod. n_axes 0: all. */
const OnnxWire *
onnx_reduce (OnnxCtx *c, const char *op, const OnnxWire *x, guint n_axes, const gint64 *axes, gboolean keep);

/* ---- onnx-value.c ----------------------------------------------------- */
/* By name, in this scope or around it; NULL where nothing made it yet. */
OnnxValue *onnx_value_of (OnnxImport *all, const char *name);
/* In this scope alone. */
OnnxValue *onnx_own_value (OnnxImport *all, const char *name);
/* A name that is made twice keeps its first maker. */
OnnxValue *onnx_declare (OnnxImport *all, const char *name);
void onnx_value_free (gpointer value);
/* ONNX's element type of an input or output of a graph; 0: unknown. */
int onnx_port_type (const Onnx__ValueInfoProto *port);
/* The same of output i of a node, whose inputs have theirs. */
int onnx_result_type (OnnxImport *all, const Onnx__NodeProto *node, guint i);
/* Sets the element types of a node's results. */
void onnx_tell_types (OnnxImport *all, const Onnx__NodeProto *node);

/* ---- onnx-value.c and onnx-attribute.c: accessors for mappings --------- */
guint onnx_n_inputs (OnnxCtx *c);
gboolean onnx_has (OnnxCtx *c, guint i);
gboolean onnx_has_output (OnnxCtx *c, guint i);
const OnnxWire *onnx_in (OnnxCtx *c, guint i);
/* ONNX's element type of an input, of which our wires carry several as i64; 0 where it is not known. */
int onnx_elem_type (OnnxCtx *c, guint i);
/* For a port that a weight may serve: a weight of the model becomes the node's own. */
const OnnxWire *onnx_weight (OnnxCtx *c, guint i);
/* A value known while importing; NULL (without a fault) where it is not, or missing. */
const LoomTensor *onnx_const_or_null (OnnxCtx *c, guint i);
const LoomTensor *onnx_const (OnnxCtx *c, guint i, const char *what);
/* Known in the model itself, not only to the caller. */
gboolean onnx_is_constant (OnnxCtx *c, guint i);
void onnx_out (OnnxCtx *c, guint i, const OnnxWire *wire);
void onnx_out_tensor (OnnxCtx *c, guint i, LoomTensor *t /* transfer full */);

const Onnx__AttributeProto *onnx_attribute (const Onnx__NodeProto *node, const char *name);
/* The attribute of c's node, which then counts as read; NULL where it is absent. */
const Onnx__AttributeProto *onnx_attr (OnnxCtx *c, const char *name);
gboolean onnx_has_attr (OnnxCtx *c, const char *name);
gint64 onnx_attr_int (OnnxCtx *c, const char *name, gint64 def);
double onnx_attr_float (OnnxCtx *c, const char *name, double def);
const char *onnx_attr_string (OnnxCtx *c, const char *name, const char *def);
/* One of the words, of which the first is the default; fails the node where the attribute is another one. */
#define onnx_attr_word(c, name, ...) onnx_attr_word_of (c, name, (const char *const[]){ __VA_ARGS__, NULL })
const char *onnx_attr_word_of (OnnxCtx *c, const char *name, const char *const *words);
/* Fails the node if it has an attribute that its mapping did not read and that may matter. */
void onnx_check_attributes (OnnxCtx *c);
/* How many there are; 0 where the attribute is absent. Fails the node where there are more than max. */
guint onnx_attr_ints (OnnxCtx *c, const char *name, gint64 *values, guint max);
/* The same from an attribute or, since some opset, an input of known value (input < 0: attribute only). present says
 * whether either was there. */
guint onnx_ints (OnnxCtx *c, const char *name, int input, gint64 *values, guint max, gboolean *present);
/* The same for sizes, where the numbers of dynamic sizes are allowed. */
guint onnx_sizes (OnnxCtx *c, const char *name, int input, gint64 *values, guint max, gboolean *present);
/* Such a number as a dimension. */
LoomDim onnx_size (OnnxCtx *c, gint64 number);
/* Axis within a rank, negative from the end; fails the node where it is out of range. */
int onnx_axis (OnnxCtx *c, gint64 axis, int rank);
gint64 onnx_opset (OnnxCtx *c);
/* The dimension as a number; fails the node where it has none. */
gint64 onnx_dim (OnnxCtx *c, const OnnxWire *x, int i);

/* ---- tables ----------------------------------------------------------- */
extern const OnnxMap *const onnx_map_tables[]; /* NULL-terminated */
const OnnxMap *onnx_map_find (const char *domain, const char *name);
extern const OnnxMap onnx_map_math[], onnx_map_logic[], onnx_map_activation[], onnx_map_layer[], onnx_map_norm[],
    onnx_map_pool[], onnx_map_reduce[], onnx_map_shape[], onnx_map_index[], onnx_map_loss[], onnx_map_image[],
    onnx_map_training[], onnx_map_signal[], onnx_map_random[], onnx_map_quant[], onnx_map_branch[], onnx_map_control[],
    onnx_map_sequence[], onnx_map_recurrent[], onnx_map_attention[];
void onnx_map_grid_sample (OnnxCtx *c);
/* Input 1, stretched to input 0 as operator sets before 7 do. */
const OnnxWire *onnx_second_operand (OnnxCtx *c, const OnnxWire *a);
/* Wraps integers that are stored in a larger type to the range of their ONNX type. */
const OnnxWire *onnx_wrap (OnnxCtx *c, const OnnxWire *x, int elem_type);
/* Add behind a linear that has no bias yet, of a weight that fits one: TRUE where it became that. */
gboolean onnx_map_bias (OnnxCtx *c);

/* ---- onnx-graph.c ----------------------------------------------------- */
char *onnx_free_id (OnnxImport *all, const char *wanted);
LoomGraph *onnx_write_graph (OnnxImport *all, const char *name, GPtrArray *weights);
/* Appends a module, and before it those that its nodes run. done: OnnxModule, a set of those that are there. */
void onnx_write_module (const OnnxModule *module, LoomGraph *graph, GHashTable *done);

G_END_DECLS
