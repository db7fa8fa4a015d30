/* Shared by the files of the ONNX writer.
 *
 * onnx-export.c walks the net and decides how each node is written: by an entry of onnx-export-op-*.c, by an entry of
 * the reader's tables that is one-to-one (onnx-export-same.c), or else, by its lowering (onnx-export-lowered.c), in
 * primitives (onnx-export-prim-*.c), which need no knowledge of the operator at all. onnx-export-size.c finds out how
 * sizes depend on the dynamic ones, onnx-export-scalar.c has the formulas, onnx-export-model.c makes the protobuf
 * message, and onnx-export-save.c writes the files. */
#pragma once

#include "engine/onnx/onnx-private.h"
#include "engine/recipe/loom-train-spec.h"

G_BEGIN_DECLS

#define ONNX_EXPORT_OPSET      17
#define ONNX_EXPORT_IR_VERSION 8

typedef struct _OnnxOutNode OnnxOutNode;

/* A value of the exported model: a graph input, an initialiser or an output of a node. Nodes point at values, so
 * one can be renamed until the model is packed. */
typedef struct
{
  char *name;
  gboolean is_named; /* it has the name of a port, an input or a weight, and keeps it */
  OnnxOutNode *producer;
  LoomTensor *tensor; /* of an initialiser */
  LoomType type;      /* of an input or output of a graph, and of what has_type */
  gboolean has_type;  /* a node's result whose type the model says, so that viewers show it */
  gboolean is_open;   /* an input of a body whose type is not known here; a runtime finds it out */
  char *doc;          /* its description, or NULL */
  gboolean needed;
  gboolean counts;      /* 0, 1, 2 … of all rows: a Gather with it changes nothing */
  gboolean is_external; /* its numbers go to the external data file, at offset */
  guint64 offset;
} OnnxVar;

/* A graph that a node runs. It reads outer values by their names. */
typedef struct
{
  Onnx__AttributeProto *attribute;
  GPtrArray *nodes;            /* OnnxOutNode; owns, in order */
  GPtrArray *inputs, *outputs; /* OnnxVar */
} OnnxBody;

/* A node of the exported model. */
struct _OnnxOutNode
{
  const char *op; /* ONNX's */
  const char *path;
  GPtrArray *in, *out;   /* OnnxVar; NULL for an input that is left out */
  GPtrArray *attributes; /* Onnx__AttributeProto */
  GPtrArray *bodies;     /* OnnxBody; owns */
};

/* A size: add + coef · symbols, or, where `of` is set, a dimension that is looked up where the model runs. */
typedef struct
{
  gboolean known; /* FALSE: it depends on the dynamic sizes in an unknown way */
  gint64 add, coef;
  char symbol[4];
  OnnxVar *of;
  int axis;
} OnnxSize;

/* Sizes are found by lowering the same node for this many bindings of the dynamic symbols. */
#define ONNX_BINDINGS 3

typedef struct _OnnxExport OnnxExport;
struct _OnnxExport
{
  const LoomNet *net; /* symbols stay dynamic */
  guint n_bound;      /* 1 where nothing is dynamic, else ONNX_BINDINGS */
  const LoomNet *bound[ONNX_BINDINGS];
  LoomBinding binding[ONNX_BINDINGS];
  char symbols[27];            /* the dynamic ones */
  OnnxVar *symbol_var[26];     /* i64 [1] */
  OnnxVar ***value;            /* by node, by output: NULL until known */
  gboolean **wanted;           /* by node, by output: an exported node reads it */
  GHashTable *weights;         /* name → LoomTensor, the caller's */
  GHashTable *weight_var;      /* name → OnnxVar */
  GHashTable *constants;       /* key → OnnxVar */
  GHashTable *names;           /* of values, to keep them unique */
  GPtrArray *vars;             /* owns */
  GPtrArray *out_nodes;        /* owns, in order; those of the body that is being written */
  GPtrArray *inputs, *outputs; /* OnnxVar */
  GPtrArray *memory;           /* the parts of the message */
  guint64 outside;             /* bytes of the external data file */
  const char *path;            /* of the node that is being written */
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

/* How one of our operators is exported. FALSE from write(): it cannot express these parameters, so the lowering is
 * used. */
typedef struct
{
  const char *op; /* ours */
  gboolean (*write) (OnnxWrite *w);
  const char *refusal; /* why it cannot be exported: the end of a sentence */
} OnnxWriter;

extern const OnnxWriter onnx_write_recurrent[], onnx_write_layer[], onnx_write_pool[], onnx_write_image[],
    onnx_write_reduce[], onnx_write_shape[], onnx_write_other[];
/* The entry of the reader's tables that is one-to-one for this node; writes it. */
gboolean onnx_write_same (OnnxWrite *w);
/* By its lowering. */
void onnx_write_lowered (OnnxWrite *w);

/* ---- accessors for writers ---------------------------------------------- */
/* NULL where it is not wired. */
OnnxVar *onnx_write_in (OnnxWrite *w, guint i);
const LoomType *onnx_write_type (OnnxWrite *w, guint i);
/* A weight or buffer of the node, wired or its own; NULL where it has none of that name. */
OnnxVar *onnx_write_weight (OnnxWrite *w, const char *name);
void onnx_write_out (OnnxWrite *w, guint i, OnnxVar *v);
/* A fault at this node: "cannot be written as ONNX: " and the sentence, which has a remedy where there is one. */
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
/* Output i; earlier ones are created, too. */
OnnxVar *onnx_node_result (OnnxExport *all, OnnxOutNode *node, guint i);
/* A node without attributes and its output. */
OnnxVar *onnx_call (OnnxExport *all, const char *op, guint n_in, OnnxVar **in);

OnnxVar *onnx_var_new (OnnxExport *all, const char *wanted_name);
/* Only the first call for a value sets its type. */
void onnx_var_set_type (OnnxVar *v, const LoomType *type);
/* FALSE where it is not known. */
gboolean onnx_var_get_type (const OnnxVar *v, LoomType *type);
/* A node's i64 result of n numbers; n < 0: a single one. Returns v. */
OnnxVar *onnx_var_is_ints (OnnxVar *v, gint64 n);
/* Names the result of a node, if it is unnamed and the name is free. */
void onnx_var_take_name (OnnxExport *all, OnnxVar *v, const char *name);
/* An initialiser; equal small ones are one. */
OnnxVar *onnx_tensor_var (OnnxExport *all, LoomTensor *t, const char *wanted_name);
OnnxVar *onnx_number_var (OnnxExport *all, LoomDType dtype, double value); /* rank 0 */
OnnxVar *onnx_ints_var (OnnxExport *all, guint n, const gint64 *values);   /* rank 1 */
OnnxVar *onnx_weight_var (OnnxExport *all, const char *name);              /* NULL after a fault */

/* Common small nodes. */
OnnxVar *onnx_to_type (OnnxExport *all, OnnxVar *x, LoomDType from, LoomDType to);
OnnxVar *onnx_to_shape (OnnxExport *all, OnnxVar *x, guint n, const OnnxSize *sizes);
OnnxVar *onnx_transpose (OnnxExport *all, OnnxVar *x, guint n, const gint64 *order);
OnnxVar *onnx_with_axes (OnnxExport *all, const char *op, OnnxVar *x, guint n, const gint64 *axes); /* Unsqueeze … */

/* Marks what the outputs need: all else is left out. */
void onnx_export_mark (OnnxExport *all);
gboolean onnx_node_is_needed (const OnnxOutNode *node);
/* Packs the message. metadata: key, value, key, value … external: the numbers of values that then are is_external
 * belong into an external data file of that name. */
GBytes *
onnx_export_pack (OnnxExport *all, const char *name, const char *doc, const GPtrArray *metadata, const char *external);

/* ---- onnx-export-types.c ------------------------------------------------ */
/* Infers missing types of results from their operands, in simple cases. */
void onnx_export_infer (GPtrArray *nodes);

/* ---- onnx-export-size.c ------------------------------------------------- */
/* The formula of a number in the dynamic sizes, from its value in each of the bindings. */
OnnxSize onnx_size_of (OnnxExport *all, const gint64 number[ONNX_BINDINGS]);
OnnxSize onnx_size_dim (LoomDim dim);
gboolean onnx_size_is (const OnnxSize *size, gint64 number);
/* As an i64 tensor [n], or NULL where a size is not known. */
OnnxVar *onnx_sizes_var (OnnxExport *all, guint n, const OnnxSize *sizes);
/* Looks for dynamic symbols in the dimensions of a new value. */
void onnx_find_symbols (OnnxExport *all, OnnxVar *v, const LoomShape *shape);

/* ---- onnx-export-scalar.c ----------------------------------------------- */
/* A formula on operands of one type, f32, f64 or i64 (bool for what compares); comparisons return bool. NULL if ONNX
 * has no counterpart. */
OnnxVar *onnx_formula (OnnxExport *all, LoomScalarOp op, LoomDType dtype, OnnxVar **in, LoomDType *result);

/* The exported model: onnx-export.c fills it, onnx-export-save.c writes it. */
struct _LoomOnnxWriter
{
  OnnxExport all;
  LoomNet *net, *bound[ONNX_BINDINGS]; /* bound[0] is net where nothing is dynamic */
  char *name, *doc;
  GPtrArray *mapped;   /* char */
  GPtrArray *datasets; /* LoomDataset; owns */
  GPtrArray *metadata; /* char: key, value, key, value … */
};

/* ---- onnx-export-run.c -------------------------------------------------- */
/* Computes the node's x from the model's input, a sample as its file has it, as the data set does. Names of columns and
 * tokens become metadata. (dataset transfer full) */
void onnx_export_take_dataset (LoomOnnxWriter *self, guint node, LoomDataset *dataset);
/* Names of classes, and the probabilities of an only output, source; NULL: no probabilities. */
void onnx_export_add_answers (LoomOnnxWriter *self, const LoomTrainSpec *spec, const LoomNetSource *source);
void onnx_export_describe_ports (LoomOnnxWriter *self);

G_END_DECLS
