/* Reads ONNX models into graphs and writes graphs as ONNX models.
 *
 * An operator of ONNX becomes one of ours or a few of them; constants that configure an operator (axes, shapes,
 * paddings) become attributes, and weights become the layers' own or op="parameter" nodes. A file may be hostile: its
 * structure is checked before anything is allocated for it, and external data are read only from plain files in its own
 * folder. */
#pragma once

#include "engine/core/loom-fault.h"
#include "engine/core/loom-tensor.h"
#include "engine/graph/loom-graph.h"
#include "engine/interop/loom-safetensors.h"
#include "engine/net/loom-net.h"

G_BEGIN_DECLS

/* An input or output of the model. */
typedef struct
{
  char *name;    /* in the model */
  char *node;    /* of the graph; NULL for an unused input, or one that became attributes */
  LoomType type; /* dimensions that the model names are symbols */
} LoomOnnxPort;

typedef struct
{
  LoomGraph *graph;
  GPtrArray *weights; /* LoomNamedTensor, for loom_safetensors_save() */
  GPtrArray *inputs;  /* LoomOnnxPort */
  GPtrArray *outputs; /* LoomOnnxPort */
  GPtrArray *mapped;  /* "Conv → conv2d", each pair once with its count, in order of appearance */
  GPtrArray *notes;   /* hints that the model itself does not contain, for example that its batch norm may be folded */
  gint64 opset;       /* of ONNX's own operators */
} LoomOnnx;

/* Reads a model. In a build without protobuf-c this and all below fail with a sentence. NULL with error if the file is
 * no model (IO or DATA), and NULL without one if faults were added: every operator or value that cannot be translated,
 * with the name of its node. given (name, or "#0", "#1" … by place, → LoomTensor; may be NULL) holds values of inputs
 * that become attributes where that is needed; inputs that carry data remain inputs. */
LoomOnnx *loom_onnx_read_file (const char *path, GHashTable *given, LoomFaults *faults, GError **error);
/* The same for bytes, which have no folder: all numbers must be among them. */
LoomOnnx *loom_onnx_read_data (const void *data, gsize length, const char *name_for_errors, GHashTable *given,
                               LoomFaults *faults, GError **error);
/* Writes the graph to a file, and its weights next to it: PATH without .xml, with .safetensors, whose path *weights
 * (may be NULL) receives, or NULL where there are none. */
gboolean loom_onnx_save (const LoomOnnx *self, const char *path, char **weights, GError **error);
/* The path of the weights that are saved with that graph; NULL if it has none. (transfer full) */
char *loom_onnx_weights_path (const LoomOnnx *self, const char *graph);
void loom_onnx_free (LoomOnnx *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomOnnx, loom_onnx_free)

/* A tensor in a file of its own (.pb), as ONNX keeps examples. Types that we lack are widened: i8, i16, u16, u32 and
 * u64 become i64. name (may be NULL) receives the tensor's name. */
LoomTensor *loom_onnx_read_tensor (const char *path, char **name, GError **error);

/* ---- writing ------------------------------------------------------------ */

typedef struct
{
  /* Ports (PATH.PORT) that become inputs, besides the data sets and input nodes that it needs, and those that become
   * outputs; NULL-terminated. Without outputs: the graph's output nodes, else the prediction that its loss compares,
   * else all outputs without a reader. */
  const char *const *inputs, *const *outputs;
  LoomBinding sizes; /* symbols that are not bound stay dynamic, under their names */
  /* Opens a data set that the model reads x of, as its run knows it (transfer full; NULL with error). The model then
   * takes samples as their files have them and prepares them itself; names of columns, tokens and classes are
   * metadata; and logits that are its only output, and not named by outputs, have their probabilities after them.
   * NULL: the model takes x, and gives its outputs alone. */
  LoomDataset *(*open) (const LoomNet *net, guint node, gpointer data, GError **error);
  gpointer data;
} LoomOnnxWriteOptions;

typedef struct _LoomOnnxWriter LoomOnnxWriter;

/* Writes what prediction needs, in evaluation mode, with operators of set 17. weights: name → LoomTensor, of every
 * weight and buffer of the graph. NULL with error for an unknown port, and NULL without one if faults were added: every
 * node that cannot be written, with the reason. */
LoomOnnxWriter *loom_onnx_writer_new (const LoomGraph *graph, const LoomOnnxWriteOptions *options, GHashTable *weights,
                                      LoomFaults *faults, GError **error);
void loom_onnx_writer_free (LoomOnnxWriter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomOnnxWriter, loom_onnx_writer_free)
guint loom_onnx_writer_n_ports (const LoomOnnxWriter *self, gboolean outputs);
/* Of input or output i. */
void
loom_onnx_writer_port (const LoomOnnxWriter *self, gboolean outputs, guint i, const char **name, const LoomType **type);
/* The description of an input or output, or NULL. */
const char *loom_onnx_writer_port_doc (const LoomOnnxWriter *self, gboolean outputs, guint i);
/* "conv2d → Conv (3)", each pair once with its count, in order of appearance. */
const GPtrArray *loom_onnx_writer_mapped (const LoomOnnxWriter *self);
/* The whole model as one message; NULL (DATA) where it would reach 2 GiB. */
GBytes *loom_onnx_writer_bytes (LoomOnnxWriter *self, GError **error);
/* The model as a file. Numbers go to a second file, PATH.data, where the message would reach 2 GiB or external asks
 * for it; *data_path (may be NULL) receives its path, else NULL. */
gboolean
loom_onnx_writer_save (LoomOnnxWriter *self, const char *path, gboolean external, char **data_path, GError **error);

G_END_DECLS
