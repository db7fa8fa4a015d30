/* Tables of the nodes that read a wire: OnnxWire → GPtrArray of OnnxNode. */
#pragma once

#include "engine/onnx/onnx-private.h"

void onnx_readers_add (GHashTable *all, OnnxNode *reader, const OnnxWire *wire);
/* TRUE if a weight of a node has a port, by which the node can read a parameter instead. */
gboolean onnx_may_detach (const OnnxNode *node, const OnnxWeight *weight);
/* Makes a weight of a node, which is no longer in its list, a parameter of its own, the import's last node. Nodes that
 * are tied to the weight read the parameter. */
void onnx_detach_weight (OnnxImport *all, GHashTable *readers_of, OnnxNode *node, OnnxWeight *weight);
