/* Reads ONNX models into graphs and writes graphs as ONNX models.
 *
 * An operator of ONNX becomes one or a few of Gradloom's. Constants that configure an operator (axes, shapes,
 * paddings) become attributes, and weights become those of layers, or op="parameter" nodes. A file may be hostile:
 * its structure is checked before anything is allocated for it, and external data are read only from plain files in
 * its own folder. */
#pragma once

#include "engine/core/loom-fault.h"
#include "engine/core/loom-tensor.h"
#include "engine/graph/loom-graph.h"
#include "engine/interop/loom-safetensors.h"
#include "engine/net/loom-net.h"

/* An input or output of the model. */
typedef struct
{
  char *name;    /* its name in the model */
  char *node;    /* its node in the graph; NULL for an unused input, or one that became attributes */
  LoomType type; /* dimensions that the model names are symbols */
} LoomOnnxPort;

typedef struct
{
  LoomGraph *graph;
  GPtrArray *weights; /* LoomNamedTensor, for loom_safetensors_save() */
  GPtrArray *inputs;  /* LoomOnnxPort */
  GPtrArray *outputs; /* LoomOnnxPort */
  GPtrArray *mapped;  /* "Conv → conv2d", each pair once with its count, in the order of first use */
  /* hints about facts that the model does not contain, for example that its batch norm may be folded */
  GPtrArray *notes;
  gint64 opset; /* of ONNX's own operators */
  gint64 batch; /* the model's fixed batch, which the graph leaves open; 0: it has none, or the graph keeps it */
} LoomOnnx;

/* The batch of a model that fixes it. */
typedef enum
{
  LOOM_ONNX_BATCH_FIXED,
  LOOM_ONNX_BATCH_AUTO, /* any, if the model allows that, which a note then says */
  LOOM_ONNX_BATCH_OPEN  /* any; if the model does not allow that, it is not read */
} LoomOnnxBatch;

/* What the caller knows of the model's inputs; members may be NULL. */
typedef struct
{
  /* Values by name or index ("#0", "#1" …), as LoomTensor; they are used for inputs that have to become attributes, and
   * inputs that carry data remain inputs. */
  GHashTable *values;
  /* "height=224": the value of an open size; NULL-terminated. */
  const char *const *sizes;
  /* "x=1,3,48,320": the shape of an input, which fixes its open sizes; a letter leaves one open. NULL-terminated. */
  const char *const *shapes;
  LoomOnnxBatch batch;
} LoomOnnxInputs;

/* Reads a model. NULL with error if the file is no model (IO or DATA), or inputs do not fit it (USAGE). NULL without
 * error if faults were added: one for each operator or value that cannot be translated, with the name of its node; the
 * last one lists the open sizes, if there are any. inputs may be NULL. In a build without protobuf-c this and all
 * functions below fail with an error. */
LoomOnnx *loom_onnx_read_file (const char *path, const LoomOnnxInputs *inputs, LoomFaults *faults, GError **error);
/* The names of the open sizes of a model's inputs, NULL-terminated. (transfer full) */
char **loom_onnx_open_sizes (const char *path, GError **error);
/* Reads a model from memory; all numbers must be in these bytes. */
LoomOnnx *loom_onnx_read_data (const void *data, gsize length, const char *name_for_errors,
                               const LoomOnnxInputs *inputs, LoomFaults *faults, GError **error);
/* Writes the graph to a file, and its weights to a file next to it (the path with .safetensors for .xml). *weights (may
 * be NULL): the path of that file, or NULL if there are no weights. */
gboolean loom_onnx_save (const LoomOnnx *self, const char *path, char **weights, GError **error);
/* The path of the weights file for a path of a graph; NULL if it has no weights. (transfer full) */
char *loom_onnx_weights_path (const LoomOnnx *self, const char *graph);
void loom_onnx_free (LoomOnnx *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomOnnx, loom_onnx_free)

/* Reads a tensor from its own file (.pb), as ONNX stores examples. Types that Gradloom lacks are converted: i8, i16,
 * u16, u32 and u64 become i64. *name (may be NULL): the tensor's name. */
LoomTensor *loom_onnx_read_tensor (const char *path, char **name, GError **error);

/* ---- writing ------------------------------------------------------------ */

typedef struct
{
  /* Ports (PATH.PORT) that become inputs, in addition to the data sets and input nodes that the model needs, and ports
   * that become outputs; NULL-terminated. Without outputs these are the graph's output nodes, otherwise the prediction
   * that its loss compares, otherwise all outputs without a reader. */
  const char *const *inputs, *const *outputs;
  LoomBinding sizes; /* symbols without a value remain dynamic dimensions of the same name */
  /* Opens the data set that a node of the model reads, as its run knows it; NULL with error. (transfer full) The model
   * then takes samples as files have them and prepares them itself; names of columns, tokens and classes become
   * metadata; and if logits are its only output, and not named by outputs, their probabilities become a second one.
   * dataset NULL: the model takes x, and has its own outputs only. */
  LoomDataset *(*open) (const LoomNet *net, guint node, gpointer data, GError **error);
  gpointer data;
} LoomOnnxWriteOptions;

typedef struct _LoomOnnxWriter LoomOnnxWriter;

/* Exports what prediction needs, in evaluation mode, with operators of set 17. weights: name → LoomTensor, for all
 * weights and buffers of the graph. NULL with error for an unknown port; NULL without error if faults were added: one
 * for each node that cannot be exported, with the reason. */
LoomOnnxWriter *loom_onnx_writer_new (const LoomGraph *graph, const LoomOnnxWriteOptions *options, GHashTable *weights,
                                      LoomFaults *faults, GError **error);
void loom_onnx_writer_free (LoomOnnxWriter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomOnnxWriter, loom_onnx_writer_free)
guint loom_onnx_writer_n_ports (const LoomOnnxWriter *self, gboolean outputs);
/* The name, node and type of input or output i. */
void
loom_onnx_writer_port (const LoomOnnxWriter *self, gboolean outputs, guint i, const char **name, const LoomType **type);
/* The description of an input or output, or NULL. */
const char *loom_onnx_writer_port_doc (const LoomOnnxWriter *self, gboolean outputs, guint i);
/* "conv2d → Conv (3)", each pair once with its count, in the order of first use. */
const GPtrArray *loom_onnx_writer_mapped (const LoomOnnxWriter *self);
/* The whole model as one message; NULL (DATA) if it would reach 2 GiB. */
GBytes *loom_onnx_writer_bytes (LoomOnnxWriter *self, GError **error);
/* Writes the model to a file. Numbers go to a second file, PATH.data, if the message would reach 2 GiB or if external
 * is TRUE. *data_path (may be NULL): the path of that file, or NULL. */
gboolean
loom_onnx_writer_save (LoomOnnxWriter *self, const char *path, gboolean external, char **data_path, GError **error);
