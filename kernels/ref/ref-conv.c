/* conv2d and its two gradients, seven loops each, and those with a pooling. */
#include "kernels/conv-pooled.h"
#include "kernels/ref/ref.h"

#include <stdlib.h>

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

static RefWork
choose_input_grad (const LoomKernelSpec *spec)
{
  if (!loom_conv_pooled_fits (spec))
    return NULL;
  return loom_conv_is_pooled (spec) ? REF_PICK (spec->in[0].dtype, conv2d_input_grad_pooled)
                                    : REF_PICK (spec->in[0].dtype, conv2d_input_grad);
}

const RefPrimitive ref_conv2d = { .name = "conv2d", .attrs_size = sizeof (LoomConv2dAttrs), .choose = choose_forward };
const RefPrimitive ref_conv2d_input_grad
    = { .name = "conv2d_input_grad", .attrs_size = sizeof (LoomConv2dAttrs), .choose = choose_input_grad };
const RefPrimitive ref_conv2d_weight_grad
    = { .name = "conv2d_weight_grad", .attrs_size = sizeof (LoomConv2dAttrs), .choose = choose_weight_grad };
