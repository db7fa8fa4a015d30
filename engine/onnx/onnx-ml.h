/* The functions that the mappings of ai.onnx.ml share: lists of numbers, transformed scores, and labels of classes. */
#pragma once

#include "engine/onnx/onnx-private.h"

/* The floats of an attribute, or of the tensor NAME_as_tensor; [n], or NULL if both are absent. (transfer full) */
LoomTensor *onnx_ml_floats (OnnxCtx *c, const char *name);
/* The integers of an attribute; *n: their number. (transfer none) */
const gint64 *onnx_ml_ints (OnnxCtx *c, const char *name, guint *n);
/* Scores [N, classes] after the attribute post_transform. */
const OnnxWire *onnx_ml_transform (OnnxCtx *c, const OnnxWire *scores);
/* Output 0, the label of each class index. Labels that are text stay indices, and a note says their order. `prefix` is
 * that of the attributes _strings and _int64s. */
void onnx_ml_label (OnnxCtx *c, const OnnxWire *index, const char *prefix);
/* The number of labels; 0: none. */
guint onnx_ml_n_labels (OnnxCtx *c, const char *prefix);
/* The scores of both classes from the score of the second one, and the labels by it, as outputs 1 and 0. A probability
 * is above 0.5, another score above 0. */
void onnx_ml_binary (OnnxCtx *c, const OnnxWire *score, gboolean is_probability, const char *prefix);
