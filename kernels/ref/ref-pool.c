/* Max and average pooling and their gradients, one window at a time. */
#include "kernels/ref/ref.h"

#define REF_LOOPS "kernels/ref/ref-pool.inc.c"
#include "kernels/ref/ref-floats.h"

/* The type of `indices`, which backend.h ties to the size of the window. */
static bool
where_fits (const LoomKernelSpec *spec, const LoomTensorDesc *where)
{
  const LoomPool2dAttrs *a = spec->attrs;

  return where->dtype == (a->kernel[0] * a->kernel[1] <= 256 ? LOOM_U8 : LOOM_I32);
}

static RefWork
choose_max (const LoomKernelSpec *spec)
{
  return where_fits (spec, &spec->out[1]) ? REF_PICK (spec->in[0].dtype, max_pool2d) : NULL;
}

static RefWork
choose_max_grad (const LoomKernelSpec *spec)
{
  return where_fits (spec, &spec->in[1]) ? REF_PICK (spec->in[0].dtype, max_pool2d_grad) : NULL;
}

const RefPrimitive ref_max_pool2d
    = { .name = "max_pool2d", .attrs_size = sizeof (LoomPool2dAttrs), .choose = choose_max };
const RefPrimitive ref_max_pool2d_grad
    = { .name = "max_pool2d_grad", .attrs_size = sizeof (LoomPool2dAttrs), .choose = choose_max_grad };
const RefPrimitive ref_avg_pool2d = { REF_FLOATS (avg_pool2d), .attrs_size = sizeof (LoomPool2dAttrs) };
const RefPrimitive ref_avg_pool2d_grad = { REF_FLOATS (avg_pool2d_grad), .attrs_size = sizeof (LoomPool2dAttrs) };
