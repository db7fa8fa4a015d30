/* Adapters: factors of LoRA, and magnitudes of DoRA, in PEFT's files, attached to a graph's linear layers, and added to
 * their weights.
 *
 * A file has base_model.model.PATH.lora_A.weight and lora_B.weight for each layer, and in addition whole weights that
 * were trained with them; adapter_config.json next to it has the factor lora_alpha, without which it is 1. */
#pragma once

#include "engine/interop/loom-tensor-file.h"
#include "engine/net/loom-net.h"
#include "engine/run/loom-state.h"

#define LOOM_ADAPTER_FOLDER  "adapter" /* of a run */
#define LOOM_ADAPTER_WEIGHTS "adapter_model.safetensors"
#define LOOM_ADAPTER_CONFIG  "adapter_config.json"
#define LOOM_ADAPTER_PREFIX  "base_model.model."
#define LOOM_ADAPTER_BIAS    "base_layer.bias" /* PEFT's name of the bias of a layer that has factors */

typedef struct _LoomAdapter LoomAdapter;

/* path: a file, or a folder with a file of the name above. Errors: IO, DATA. */
LoomAdapter *loom_adapter_open (const char *path, GError **error);
void loom_adapter_free (LoomAdapter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomAdapter, loom_adapter_free)

guint loom_adapter_count (const LoomAdapter *self);
/* The name of a tensor in the graph, "block.0.fc.lora_A.weight". (transfer none) */
const char *loom_adapter_name (const LoomAdapter *self, guint i);
LoomTensor *loom_adapter_tensor (LoomAdapter *self, guint i, GError **error);

/* Sets lora_rank, lora_alpha and use_dora of the layers that have factors in the file, and freezes those of copies of a
 * layer that have none. DATA: the graph lacks such a linear layer or another tensor of the file, or copies of a layer
 * have factors of different ranks. */
gboolean loom_adapter_attach (LoomAdapter *self, LoomGraph *graph, GError **error);

/* Sets lora_rank, lora_alpha and use_dora of all linear layers with weights of their own, or of those whose paths match
 * one of the patterns, separated by commas, also if they share their weight. Copies of such a layer that match none get
 * factors that are frozen. USAGE: none matches. */
gboolean loom_adapter_add (LoomGraph *graph, gint64 rank, double alpha, gboolean has_magnitudes, const char *patterns,
                           GError **error);
/* Sets the magnitudes of DoRA of a node, if it has them, to the norms of the rows of its weight with the product added,
 * as in PEFT. */
gboolean loom_adapter_begin_magnitudes (const LoomNet *net, guint node, LoomState *state, GError **error);

/* TRUE if layers of the graph have lora_rank. */
gboolean loom_adapter_is_in (const LoomGraph *graph);
/* Removes them from all layers. */
void loom_adapter_detach (LoomGraph *graph);
/* Reads a file of weights, adds the products of the factors, which are in that file or in the adapter (which may be
 * NULL), and removes lora_rank, lora_alpha and use_dora from the graph, and wires that tie a weight of which that changes one.
 * Returns all weights, LoomNamedTensor. */
GPtrArray *loom_adapter_merge (LoomAdapter *self, LoomGraph *graph, const char *weights, GError **error);

/* The text of adapter_config.json for a net; NULL if no layer has factors in `trained`, the set of the names of weights
 * that are trained. names: what was trained besides factors; NULL-terminated. has_biases: so were biases of layers that
 * have factors. */
char *loom_adapter_config (const LoomNet *net, GHashTable *trained, const char *const *names, gboolean has_biases);
