/* Convolutions that the planner fuses with the max pooling after them (`pooled` of LoomConv2dAttrs); a back end may
 * lack them. Plain C, all static inline.
 *
 * conv2d: x, w, [bias] → y, indices; y [N,K,P/2,Q/2] holds the maxima of windows of 2×2 that meet, of the convolution
 * [N,K,P,Q] with its bias, and indices (u8) says which of the four each is, as in max_pool2d. The activation follows.
 * conv2d_weight_grad: g, x, indices → dw, [dbias], and conv2d_input_grad: g, w, indices → dx; g and indices have y's
 * shape, and the rest of the convolution's gradient is 0. P and Q are even. So the convolution's result, four times the
 * size of y, and its gradient need no memory. */
#ifndef LOOM_CONV_POOLED_H
#define LOOM_CONV_POOLED_H

#include <string.h>

#include "kernels/backend.h"

static inline bool
loom_conv_is_pooled (const LoomKernelSpec *spec)
{
  return ((const LoomConv2dAttrs *)spec->attrs)->pooled;
}

/* The convolution [N,K,P,Q] of a call whose y or g is d. */
static inline LoomTensorDesc
loom_conv_before_pooling (const LoomConv2dAttrs *a, const LoomTensorDesc *d)
{
  LoomTensorDesc full = *d;

  full.dim[2] *= a->pooled ? 2 : 1;
  full.dim[3] *= a->pooled ? 2 : 1;
  return full;
}

/* The indices of a call with a pooling: a result of conv2d, an operand of its gradients. */
static inline const LoomTensorDesc *
loom_conv_indices (const LoomKernelSpec *spec)
{
  return strcmp (spec->primitive, "conv2d") == 0 ? &spec->out[1] : &spec->in[2];
}

/* TRUE if the indices are as described above, or if the call has none. */
static inline bool
loom_conv_pooled_fits (const LoomKernelSpec *spec)
{
  const LoomConv2dAttrs *a = (const LoomConv2dAttrs *)spec->attrs;
  const bool is_forward = strcmp (spec->primitive, "conv2d") == 0;
  const bool is_input_grad = strcmp (spec->primitive, "conv2d_input_grad") == 0;
  const LoomTensorDesc *y = is_forward ? &spec->out[0] : &spec->in[0];
  const LoomTensorDesc *x = is_input_grad ? &spec->out[0] : &spec->in[is_forward ? 0 : 1];
  const LoomTensorDesc *w = is_forward || is_input_grad ? &spec->in[1] : &spec->out[0];
  const LoomTensorDesc *indices = loom_conv_indices (spec);

  if (!a->pooled)
    return is_forward ? spec->n_out == 1 : spec->n_in == 2;
  if ((is_forward ? spec->n_out != 2 : spec->n_in != 3) || indices->dtype != LOOM_U8 || indices->rank != 4)
    return false;
  for (int i = 0; i < 4; i++)
    if (indices->dim[i] != y->dim[i])
      return false;
  for (int i = 0; i < 2; i++)
    if ((x->dim[2 + i] + a->pad[2 * i] + a->pad[2 * i + 1] - a->dilation[i] * (w->dim[2 + i] - 1) - 1) / a->stride[i]
            + 1
        != 2 * y->dim[2 + i])
      return false;
  return true;
}

#endif
