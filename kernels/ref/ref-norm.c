/* Batch and layer normalisation with their gradients (Ioffe and Szegedy 2015; Ba,
 * Kiros and Hinton 2016), variance by the two-pass formula. */
#include "kernels/norm.h"
#include "kernels/ref/ref.h"

#include <math.h>

#define T        float
#define FN(name) name##_f32
#include "kernels/ref/ref-norm.inc.c"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "kernels/ref/ref-norm.inc.c"

static RefWork
choose_batch (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, batch_norm);
}

static RefWork
choose_batch_grad (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, batch_norm_grad);
}

static RefWork
choose_batch_apply (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, batch_norm_apply);
}

static RefWork
choose_layer (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, layer_norm);
}

static RefWork
choose_layer_grad (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, layer_norm_grad);
}

const RefPrimitive ref_batch_norm = {
  .name = "batch_norm",
  .attrs_size = sizeof (LoomNormAttrs),
  .choose = choose_batch,
};

const RefPrimitive ref_batch_norm_grad = {
  .name = "batch_norm_grad",
  .attrs_size = sizeof (LoomNormAttrs),
  .choose = choose_batch_grad,
};

const RefPrimitive ref_batch_norm_apply = {
  .name = "batch_norm_apply",
  .attrs_size = sizeof (LoomNormAttrs),
  .choose = choose_batch_apply,
};

const RefPrimitive ref_layer_norm = {
  .name = "layer_norm",
  .attrs_size = sizeof (LoomNormAttrs),
  .choose = choose_layer,
};

const RefPrimitive ref_layer_norm_grad = {
  .name = "layer_norm_grad",
  .attrs_size = sizeof (LoomNormAttrs),
  .choose = choose_layer_grad,
};
