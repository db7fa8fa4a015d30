/* conv2d and its two gradients, seven loops each, and those with a pooling. */
#include "kernels/conv-pooled.h"
#include "kernels/ref/ref.h"

#include <stdlib.h>

/* The convolution whose windows of 2×2 are pooled to d. */
static LoomTensorDesc
pooled_from (const LoomTensorDesc *d)
{
  LoomTensorDesc full = *d;

  full.dim[2] *= 2;
  full.dim[3] *= 2;
  return full;
}

#define REF_LOOPS "kernels/ref/ref-conv.inc.c"
#include "kernels/ref/ref-floats.h"

static RefWork
choose_forward (const LoomKernelSpec *spec)
{
  if (!loom_conv_pooled_fits (spec))
    return NULL;
  return loom_conv_is_pooled (spec) ? REF_PICK (spec->in[0].dtype, conv2d_pooled)
                                    : REF_PICK (spec->in[0].dtype, conv2d);
}

static RefWork
choose_weight_grad (const LoomKernelSpec *spec)
{
  if (!loom_conv_pooled_fits (spec))
    return NULL;
  return loom_conv_is_pooled (spec) ? REF_PICK (spec->in[0].dtype, conv2d_weight_grad_pooled)
                                    : REF_PICK (spec->in[0].dtype, conv2d_weight_grad);
}

const RefPrimitive ref_conv2d = { .name = "conv2d", .attrs_size = sizeof (LoomConv2dAttrs), .choose = choose_forward };
const RefPrimitive ref_conv2d_input_grad = { REF_FLOATS (conv2d_input_grad), .attrs_size = sizeof (LoomConv2dAttrs) };
const RefPrimitive ref_conv2d_weight_grad
    = { .name = "conv2d_weight_grad", .attrs_size = sizeof (LoomConv2dAttrs), .choose = choose_weight_grad };
