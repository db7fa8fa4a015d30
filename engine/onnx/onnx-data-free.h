/* Values of the imported graph that depend on no data, see onnx-data-free.c. */
#pragma once

#include "engine/onnx/onnx-private.h"

/* The value of a wire that reads no data, in f64, with 1 for each open size; NULL if it reads data, or if it is not the
 * same for all samples. (transfer none) */
const LoomTensor *onnx_data_free_value (OnnxImport *all, const OnnxWire *wire);
/* Replaces such values that needed nodes read by constants. Needs nodes to be marked. */
void onnx_fold_data_free (OnnxImport *all);
