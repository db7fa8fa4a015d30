/* Sliding windows: the attributes that convolutions and poolings share, and padding that PyTorch cannot express. */
#pragma once

#include "engine/onnx/onnx-private.h"

typedef struct
{
  int n;
  gint64 kernel[3], stride[3], dilation[3], begin[3], end[3];
} OnnxWindow;

/* auto_pad. */
const char *onnx_auto_pad (OnnxCtx *c);
/* Reads strides, dilations and padding. kernel is filled in before (or read from kernel_shape if weights do not
 * determine it). auto_pad needs x of known size; if x is NULL it is left to the caller. FALSE after a fault. */
gboolean onnx_window_read (OnnxCtx *c, OnnxWindow *w, const OnnxWire *x, int n);
/* Emits a pad before the window if begin and end differ, which PyTorch's padding cannot express; w then has no
 * padding. */
const OnnxWire *onnx_window_pad (OnnxCtx *c, OnnxWindow *w, const OnnxWire *x, const char *value);
/* The attribute `padding` of an operator: one number if all are equal. */
const char *onnx_window_padding (OnnxCtx *c, const OnnxWindow *w, gboolean as_text);
/* Emits the pad operator with PyTorch's order: last dimension first, begin and end. */
const OnnxWire *
onnx_pad (OnnxCtx *c, const OnnxWire *x, const gint64 *begin, const gint64 *end, const char *mode, const char *value);
