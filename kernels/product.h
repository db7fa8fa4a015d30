/* Products that the planner fuses with other calls; a back end may lack them. Plain C, all static inline.
 *
 * With a sum over an operand, such as the gradient of a bias next to that of the weights: a, b → y, s. s has m elements
 * in any shape, of y's type: Σ over the inner axis of a, which is [m,k], or [k,m] if it is transposed; with the
 * attribute `sum_b` n elements, Σ over the inner axis of b, which is [k,n], or [n,k]. y is a matrix, without bias and
 * activation.
 *
 * With a derivative, which turns the cotangent of an activation's result into that of its argument: a, b, z → y = d
 * (a·b, z), element by element, where d is the `derivative` of LoomMatmulAttrs: relu_grad, whose z may be the
 * activation's argument or its result, or gelu_tanh_grad, whose z is the argument. z has y's shape and type; there is
 * no bias, activation or sum. */
#ifndef LOOM_PRODUCT_H
#define LOOM_PRODUCT_H

#include "kernels/backend.h"

static inline bool
loom_product_has_sum (const LoomKernelSpec *spec)
{
  return spec->n_out == 2;
}

static inline bool
loom_product_has_derivative (const LoomKernelSpec *spec)
{
  return ((const LoomMatmulAttrs *)spec->attrs)->derivative != LOOM_SCALAR_ID;
}

/* TRUE if it has either. */
static inline bool
loom_product_is_fused (const LoomKernelSpec *spec)
{
  return loom_product_has_sum (spec) || loom_product_has_derivative (spec);
}

/* TRUE if a call with a sum or a derivative has the operands described above. */
static inline bool
loom_product_fused_fits (const LoomKernelSpec *spec)
{
  const LoomMatmulAttrs *attrs = (const LoomMatmulAttrs *)spec->attrs;
  const LoomTensorDesc *y = &spec->out[0];

  if (attrs->has_bias || attrs->act != LOOM_SCALAR_ID)
    return false;
  if (loom_product_has_sum (spec))
    return !loom_product_has_derivative (spec) && spec->n_in == 2 && y->rank == 2 && spec->in[attrs->sum_b].rank == 2
           && spec->out[1].dtype == y->dtype && loom_desc_count (&spec->out[1]) == y->dim[attrs->sum_b];
  if ((attrs->derivative != LOOM_SCALAR_RELU_GRAD && attrs->derivative != LOOM_SCALAR_GELU_TANH_GRAD) || spec->n_in != 3
      || spec->in[2].dtype != y->dtype || spec->in[2].rank != y->rank)
    return false;
  for (int i = 0; i < y->rank; i++)
    if (spec->in[2].dim[i] != y->dim[i])
      return false;
  return true;
}

#endif
