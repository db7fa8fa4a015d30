/* Tensors that are known during the import, and their nodes. */
#pragma once

#include "engine/onnx/onnx-private.h"

/* A tensor of zeros, which the mapping fills; NULL, with a fault, if there is no memory. (transfer full) */
LoomTensor *onnx_tensor_new (OnnxCtx *c, LoomDType dtype, int rank, const gint64 *dims);
/* A node for a tensor: a constant if it is small, else a parameter. After a failure t may be NULL. */
const OnnxWire *onnx_tensor_wire (OnnxCtx *c, LoomTensor *t, const char *name, gboolean is_weight);
/* All elements are equal. */
gboolean onnx_tensor_is_uniform (const LoomTensor *t);
/* All elements are this number. NULL: FALSE. */
gboolean onnx_tensor_is_filled (const LoomTensor *t, double number);
/* The distances between neighbours along each dimension, in elements. */
void onnx_row_major (const LoomTensor *x, gint64 stride[LOOM_SHAPE_MAX_RANK]);
