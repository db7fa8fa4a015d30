/* Values of wires that depend on no data, computed for trial choices of the open sizes. */
#pragma once

#include "engine/onnx/onnx-private.h"

/* TRUE if the wire reads only sizes and constants, by operators that can be computed here. known: OnnxNode → whether it
 * does. */
gboolean onnx_reads_no_data (const OnnxWire *wire, GHashTable *known);
/* The value, in f64, with 1 for each open size; NULL if it is not the same for all rows along open sizes. (transfer
 * full) */
LoomTensor *onnx_trial_value (const OnnxWire *wire);
/* TRUE for an operator of the table whose operands are broadcast. */
gboolean onnx_trial_broadcasts (const OnnxNode *node);
