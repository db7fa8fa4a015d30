/* Products that sum an operand on the way, as the gradient of a bias is such a sum beside its weights' gradient: a, b →
 * y, s. s has m elements in any shape, of y's type: Σ over the inner axis of a, which is [m,k], or [k,m] where it is
 * transposed. y is a matrix, and neither a bias nor an activation is behind it. Plain C, all static inline. */
#ifndef LOOM_PRODUCT_H
#define LOOM_PRODUCT_H

#include "kernels/backend.h"

static inline bool
loom_product_has_sum (const LoomKernelSpec *spec)
{
  return spec->n_out == 2;
}

/* TRUE if a call with a sum is one of those. */
static inline bool
loom_product_sum_fits (const LoomKernelSpec *spec)
{
  const LoomMatmulAttrs *attrs = (const LoomMatmulAttrs *)spec->attrs;
  const LoomTensorDesc *y = &spec->out[0], *s = &spec->out[1];

  return y->rank == 2 && spec->in[0].rank == 2 && !attrs->has_bias && attrs->act == LOOM_SCALAR_ID
         && s->dtype == y->dtype && loom_desc_count (s) == y->dim[0];
}

#endif
