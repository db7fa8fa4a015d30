/* softmax, log_softmax, cross-entropy and their gradients. */
#include "kernels/ref/ref.h"

#include <math.h>

#define REF_LOOPS "kernels/ref/ref-softmax.inc.c"
#include "kernels/ref/ref-floats.h"

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

const RefPrimitive ref_softmax = { REF_FLOATS (softmax), .attrs_size = sizeof (LoomSoftmaxAttrs), .n_inplace = 1 };
const RefPrimitive ref_softmax_grad
    = { REF_FLOATS (softmax_grad), .attrs_size = sizeof (LoomSoftmaxAttrs), .n_inplace = 1 };
const RefPrimitive ref_cross_entropy
    = { .name = "cross_entropy", .attrs_size = sizeof (LoomCrossEntropyAttrs), .choose = choose_entropy };
const RefPrimitive ref_cross_entropy_grad = { .name = "cross_entropy_grad",
                                              .attrs_size = sizeof (LoomCrossEntropyAttrs),
                                              .choose = choose_entropy_grad,
                                              .n_inplace = 1 };
