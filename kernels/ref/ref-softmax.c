/* softmax, log_softmax, cross-entropy and their gradients. */
#include "kernels/ref/ref.h"

#include <math.h>

#define T        float
#define FN(name) name##_f32
#include "kernels/ref/ref-softmax.inc.c"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "kernels/ref/ref-softmax.inc.c"

static RefWork
choose_softmax (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, softmax);
}

static RefWork
choose_softmax_grad (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, softmax_grad);
}

static RefWork
choose_entropy (const LoomKernelSpec *spec)
{
  return spec->in[1].dtype == LOOM_I64 ? REF_PICK (spec->in[0].dtype, cross_entropy) : NULL;
}

static RefWork
choose_entropy_grad (const LoomKernelSpec *spec)
{
  return spec->in[1].dtype == LOOM_I64 ? REF_PICK (spec->in[0].dtype, cross_entropy_grad) : NULL;
}

const RefPrimitive ref_softmax = {
  .name = "softmax",
  .attrs_size = sizeof (LoomSoftmaxAttrs),
  .choose = choose_softmax,
  .n_inplace = 1,
};

const RefPrimitive ref_softmax_grad = {
  .name = "softmax_grad",
  .attrs_size = sizeof (LoomSoftmaxAttrs),
  .choose = choose_softmax_grad,
  .n_inplace = 1,
};

const RefPrimitive ref_cross_entropy = {
  .name = "cross_entropy",
  .attrs_size = sizeof (LoomCrossEntropyAttrs),
  .choose = choose_entropy,
};

const RefPrimitive ref_cross_entropy_grad = {
  .name = "cross_entropy_grad",
  .attrs_size = sizeof (LoomCrossEntropyAttrs),
  .choose = choose_entropy_grad,
  .n_inplace = 1,
};
