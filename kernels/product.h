/* Products that a planner makes of several calls, which a back end may lack. Plain C, all static inline.
 *
 * With a sum: they sum an operand on the way, as the gradient of a bias is such a sum beside its weights' gradient: a,
 * b → y, s. s has m elements in any shape, of y's type: Σ over the inner axis of a, which is [m,k], or [k,m] where it
 * is transposed; with the attribute `sum_b` n elements, Σ over the inner axis of b, which is [k,n], or [n,k]. y is a
 * matrix, and neither a bias nor an activation is behind it.
 *
 * With a slope: the cotangent of an activation's result becomes that of its argument on the way: a, b, z → y = d (a·b,
 * z), element by element, where d is the `slope` of LoomMatmulAttrs: relu_grad, of which z may be the activation's
 * argument or its result, or gelu_tanh_grad, of which it is the argument. z has y's shape and type, and neither a bias
 * nor an activation nor a sum is there. */
#ifndef LOOM_PRODUCT_H
#define LOOM_PRODUCT_H

#include "kernels/backend.h"

static inline bool
loom_product_has_sum (const LoomKernelSpec *spec)
{
  return spec->n_out == 2;
}

static inline bool
loom_product_has_slope (const LoomKernelSpec *spec)
{
  return ((const LoomMatmulAttrs *)spec->attrs)->slope != LOOM_SCALAR_ID;
}

/* TRUE if it has either. */
static inline bool
loom_product_is_joined (const LoomKernelSpec *spec)
{
  return loom_product_has_sum (spec) || loom_product_has_slope (spec);
}

/* TRUE if a call with a sum or a slope is as above. */
static inline bool
loom_product_joined_fits (const LoomKernelSpec *spec)
{
  const LoomMatmulAttrs *attrs = (const LoomMatmulAttrs *)spec->attrs;
  const LoomTensorDesc *y = &spec->out[0];

  if (attrs->has_bias || attrs->act != LOOM_SCALAR_ID)
    return false;
  if (loom_product_has_sum (spec))
    return !loom_product_has_slope (spec) && spec->n_in == 2 && y->rank == 2 && spec->in[attrs->sum_b].rank == 2
           && spec->out[1].dtype == y->dtype && loom_desc_count (&spec->out[1]) == y->dim[attrs->sum_b];
  if ((attrs->slope != LOOM_SCALAR_RELU_GRAD && attrs->slope != LOOM_SCALAR_GELU_TANH_GRAD) || spec->n_in != 3
      || spec->in[2].dtype != y->dtype || spec->in[2].rank != y->rank)
    return false;
  for (int i = 0; i < y->rank; i++)
    if (spec->in[2].dim[i] != y->dim[i])
      return false;
  return true;
}

#endif
