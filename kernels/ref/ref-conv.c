/* conv2d and its two gradients, seven loops each. */
#include "kernels/ref/ref.h"

#define T        float
#define FN(name) name##_f32
#include "kernels/ref/ref-conv.inc.c"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "kernels/ref/ref-conv.inc.c"

static RefWork
choose_forward (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, conv2d);
}

static RefWork
choose_input (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, conv2d_input_grad);
}

static RefWork
choose_weight (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, conv2d_weight_grad);
}

const RefPrimitive ref_conv2d = {
  .name = "conv2d",
  .attrs_size = sizeof (LoomConv2dAttrs),
  .choose = choose_forward,
};

const RefPrimitive ref_conv2d_input_grad = {
  .name = "conv2d_input_grad",
  .attrs_size = sizeof (LoomConv2dAttrs),
  .choose = choose_input,
};

const RefPrimitive ref_conv2d_weight_grad = {
  .name = "conv2d_weight_grad",
  .attrs_size = sizeof (LoomConv2dAttrs),
  .choose = choose_weight,
};
