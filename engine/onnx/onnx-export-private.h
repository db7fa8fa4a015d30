/* The state of the ONNX writer (OnnxExport), and the functions that its files call.
 *
 * onnx-export.c walks the net and decides how each node is written: by an entry of onnx-export-op-*.c; by an entry of
 * the reader's tables that is one-to-one (onnx-export-same.c); or by its lowering (onnx-export-lowered.c), in
 * primitives (onnx-export-prim-*.c), for which the writer need not know the operator. onnx-export-size.c determines how
 * sizes depend on the dynamic ones, onnx-export-scalar.c has the formulas, onnx-export-model.c makes the protobuf
 * message, and onnx-export-save.c writes the files. */
#pragma once

#include "engine/onnx/onnx-private.h"
#include "engine/recipe/loom-train-spec.h"

#define ONNX_EXPORT_OPSET      17
#define ONNX_EXPORT_IR_VERSION 8

typedef struct _OnnxOutNode OnnxOutNode;

/* A value of the exported model: a graph input, an initialiser or an output of a node. Nodes have pointers to values,
 * so a value can be renamed until the model is packed. */
typedef struct
{
  char *name;
  gboolean is_named; /* it has the name of a port, an input or a weight, which must not change */
  OnnxOutNode *producer;
  LoomTensor *tensor; /* of an initialiser */
  LoomType type;      /* for an input or output of a graph, and if has_type */
  gboolean has_type;  /* a node's result whose type is written to the model, so that viewers show it */
  gboolean is_open;   /* an input of a body of unknown type, which a runtime infers */
  char *doc;          /* its description, or NULL */
  gboolean needed;
  gboolean counts;      /* it has the indices 0, 1, 2 … of all rows, so a Gather by it changes nothing */
  gboolean is_external; /* its numbers are in the external data file, at offset */
  guint64 offset;
} OnnxVar;

/* A graph that a node runs. It reads outer values by name. */
typedef struct
{
  Onnx__AttributeProto *attribute;
  GPtrArray *nodes;            /* OnnxOutNode in order; owned */
  GPtrArray *inputs, *outputs; /* OnnxVar */
} OnnxBody;

/* A node of the exported model. */
struct _OnnxOutNode
{
  const char *op; /* name of ONNX's operator */
  const char *path;
  GPtrArray *in, *out;   /* OnnxVar; NULL for an omitted input */
  GPtrArray *attributes; /* Onnx__AttributeProto */
  GPtrArray *bodies;     /* OnnxBody; owned */
};

/* A size: add + coef · symbols or, if `of` is set, a dimension of a value that the model looks up when it runs. */
typedef struct
{
  gboolean known; /* FALSE: it depends on the dynamic sizes in an unknown way */
  gint64 add, coef;
  char symbol[4];
  OnnxVar *of;
  int axis;
} OnnxSize;

/* The number of bindings of the dynamic symbols. Formulas of sizes are found by lowering a node for each of them. */
#define ONNX_BINDINGS 3

typedef struct _OnnxExport OnnxExport;
struct _OnnxExport
{
  const LoomNet *net; /* symbols are dynamic */
  guint n_bound;      /* 1 if nothing is dynamic, else ONNX_BINDINGS */
  const LoomNet *bound[ONNX_BINDINGS];
  LoomBinding binding[ONNX_BINDINGS];
  char symbols[27];            /* the dynamic symbols */
  OnnxVar *symbol_var[26];     /* i64 [1] */
  OnnxVar ***value;            /* by node and output; NULL: not written yet */
  gboolean **wanted;           /* by node and output: an exported node reads it */
  GHashTable *weights;         /* name → LoomTensor, borrowed */
  GHashTable *weight_var;      /* name → OnnxVar */
  GHashTable *constants;       /* key → OnnxVar */
  GHashTable *names;           /* names of values, to keep them unique */
  GPtrArray *vars;             /* owned */
  GPtrArray *out_nodes;        /* owned, in order; during the writing of a body, its nodes */
  GPtrArray *inputs, *outputs; /* OnnxVar */
  GPtrArray *memory;           /* owned parts of the message */
  guint64 outside;             /* size of the external data file */
  const char *path;            /* path of the node that is being written */
  LoomFaults *faults;
};

/* The node of the graph that is being written. */
typedef struct
{
  OnnxExport *all;
  guint index;
  const LoomNetNode *node;
  const LoomInfer *infer;
  gboolean failed;
} OnnxWrite;

/* How an operator of Gradloom is exported. write() returns FALSE if it cannot express these parameters; then the
 * lowering is exported. */
typedef struct
{
  const char *op; /* name of Gradloom's operator */
  gboolean (*write) (OnnxWrite *w);
  const char *refusal; /* the reason why it cannot be exported: the end of a sentence */
} OnnxWriter;

extern const OnnxWriter onnx_write_recurrent[], onnx_write_layer[], onnx_write_pool[], onnx_write_image[],
    onnx_write_reduce[], onnx_write_shape[], onnx_write_other[];
/* Writes the node by the one-to-one entry of the reader's tables; FALSE if there is none. */
gboolean onnx_write_same (OnnxWrite *w);
/* Writes the node by its lowering. */
void onnx_write_lowered (OnnxWrite *w);

/* ---- accessors for writers ---------------------------------------------- */
/* The value of an input; NULL if it is not wired. */
OnnxVar *onnx_write_in (OnnxWrite *w, guint i);
const LoomType *onnx_write_type (OnnxWrite *w, guint i);
/* A weight or buffer of the node, wired or its own; NULL if it has none of that name. */
OnnxVar *onnx_write_weight (OnnxWrite *w, const char *name);
void onnx_write_out (OnnxWrite *w, guint i, OnnxVar *v);
/* Adds a fault at this node: "cannot be written as ONNX: ", the sentence, and a remedy if there is one. */
void onnx_refuse (OnnxWrite *w, const char *format, ...) G_GNUC_PRINTF (2, 3);
gint64 onnx_write_int (OnnxWrite *w, const char *param);
double onnx_write_float (OnnxWrite *w, const char *param);

/* ---- onnx-export-model.c: making nodes ---------------------------------- */
#define ONNX_VARS(...)                                                                                                 \
  G_N_ELEMENTS (((OnnxVar *[]){ __VA_ARGS__ })), (OnnxVar *[])                                                         \
  {                                                                                                                    \
    __VA_ARGS__                                                                                                        \
  }
OnnxOutNode *onnx_add_node (OnnxExport *all, const char *op, guint n_in, OnnxVar **in);
void onnx_node_set_int (OnnxExport *all, OnnxOutNode *node, const char *name, gint64 value);
void onnx_node_set_ints (OnnxExport *all, OnnxOutNode *node, const char *name, guint n, const gint64 *values);
void onnx_node_set_float (OnnxExport *all, OnnxOutNode *node, const char *name, double value);
void onnx_node_set_string (OnnxExport *all, OnnxOutNode *node, const char *name, const char *value);
void onnx_node_set_strings (OnnxExport *all, OnnxOutNode *node, const char *name, guint n, const char *const *values);
/* Gives the node an empty body, as its attribute of this name. */
OnnxBody *onnx_node_add_body (OnnxExport *all, OnnxOutNode *node, const char *name);
void onnx_out_node_free (gpointer node);
/* Output i of a node; earlier outputs are created too. */
OnnxVar *onnx_node_result (OnnxExport *all, OnnxOutNode *node, guint i);
/* Adds a node without attributes, and returns its output. */
OnnxVar *onnx_call (OnnxExport *all, const char *op, guint n_in, OnnxVar **in);

OnnxVar *onnx_var_new (OnnxExport *all, const char *wanted_name);
/* Sets a value's type; only the first call has an effect. */
void onnx_var_set_type (OnnxVar *v, const LoomType *type);
/* FALSE if the type is not known. */
gboolean onnx_var_get_type (const OnnxVar *v, LoomType *type);
/* Makes v a node's i64 result of n numbers (n < 0: a scalar). Returns v. */
OnnxVar *onnx_var_is_ints (OnnxVar *v, gint64 n);
/* Names the result of a node, if it has no fixed name and the name is free. */
void onnx_var_take_name (OnnxExport *all, OnnxVar *v, const char *name);
/* An initialiser. Equal small ones are shared. */
OnnxVar *onnx_tensor_var (OnnxExport *all, LoomTensor *t, const char *wanted_name);
OnnxVar *onnx_number_var (OnnxExport *all, LoomDType dtype, double value); /* rank 0 */
OnnxVar *onnx_ints_var (OnnxExport *all, guint n, const gint64 *values);   /* rank 1 */
OnnxVar *onnx_weight_var (OnnxExport *all, const char *name);              /* NULL after a fault */

/* Common small nodes. */
OnnxVar *onnx_to_type (OnnxExport *all, OnnxVar *x, LoomDType from, LoomDType to);
OnnxVar *onnx_to_shape (OnnxExport *all, OnnxVar *x, guint n, const OnnxSize *sizes);
OnnxVar *onnx_transpose (OnnxExport *all, OnnxVar *x, guint n, const gint64 *order);
OnnxVar *onnx_with_axes (OnnxExport *all, const char *op, OnnxVar *x, guint n, const gint64 *axes); /* Unsqueeze … */

/* Marks the nodes that outputs depend on; others are left out. */
void onnx_export_mark (OnnxExport *all);
gboolean onnx_node_is_needed (const OnnxOutNode *node);
/* Packs the message. metadata: key, value, key, value … external: the name of the external data file, for the numbers
 * of values that are is_external. */
GBytes *
onnx_export_pack (OnnxExport *all, const char *name, const char *doc, const GPtrArray *metadata, const char *external,
                  GError **error);

/* ---- onnx-export-types.c ------------------------------------------------ */
/* Infers missing types of results from their operands, in simple cases. */
void onnx_export_infer (GPtrArray *nodes);

/* ---- onnx-export-size.c ------------------------------------------------- */
/* The formula of a number, as a function of the dynamic sizes, from its values in all bindings. */
OnnxSize onnx_size_of (OnnxExport *all, const gint64 number[ONNX_BINDINGS]);
OnnxSize onnx_size_dim (LoomDim dim);
gboolean onnx_size_is (const OnnxSize *size, gint64 number);
/* Sizes as an i64 tensor [n], or NULL if a size is not known. */
OnnxVar *onnx_sizes_var (OnnxExport *all, guint n, const OnnxSize *sizes);
/* Looks for dynamic symbols in the dimensions of a new value. */
void onnx_find_symbols (OnnxExport *all, OnnxVar *v, const LoomShape *shape);

/* ---- onnx-export-scalar.c ----------------------------------------------- */
/* Writes a formula on operands of one type, f32, f64 or i64 (bool for comparisons of bools); comparisons return bool.
 * NULL if ONNX cannot express it. */
OnnxVar *onnx_formula (OnnxExport *all, LoomScalarOp op, LoomDType dtype, OnnxVar **in, LoomDType *result);

/* The exported model: onnx-export.c fills it, onnx-export-save.c writes it. */
struct _LoomOnnxWriter
{
  OnnxExport all;
  LoomNet *net, *bound[ONNX_BINDINGS]; /* bound[0] is net if nothing is dynamic */
  char *name, *doc;
  GPtrArray *mapped;   /* char */
  GPtrArray *datasets; /* LoomDataset; owned */
  GPtrArray *metadata; /* char: key, value, key, value … */
};

/* ---- onnx-export-run.c -------------------------------------------------- */
/* Computes the node's x in the model, from a sample as a file has it, in the way of the data set. Names of columns and
 * tokens become metadata. dataset: (transfer full) */
void onnx_export_take_dataset (LoomOnnxWriter *self, guint node, LoomDataset *dataset);
/* Writes the names of classes as metadata, and adds the probabilities of an only output, source; NULL: no
 * probabilities. */
void onnx_export_add_answers (LoomOnnxWriter *self, const LoomTrainSpec *spec, const LoomNetSource *source);
void onnx_export_describe_ports (LoomOnnxWriter *self);
