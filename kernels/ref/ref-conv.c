/* conv2d and its two gradients, seven loops each. */
#include "kernels/ref/ref.h"

#define REF_LOOPS "kernels/ref/ref-conv.inc.c"
#include "kernels/ref/ref-floats.h"

const RefPrimitive ref_conv2d = { REF_FLOATS (conv2d), .attrs_size = sizeof (LoomConv2dAttrs) };
const RefPrimitive ref_conv2d_input_grad = { REF_FLOATS (conv2d_input_grad), .attrs_size = sizeof (LoomConv2dAttrs) };
const RefPrimitive ref_conv2d_weight_grad = { REF_FLOATS (conv2d_weight_grad), .attrs_size = sizeof (LoomConv2dAttrs) };
