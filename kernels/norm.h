/* Batch norms with the sum at the end of a residual block, y = act(norm(x) + r), which the planner makes of both; r is
 * of x's shape and type. Plain C, all static inline.
 *
 *  batch_norm         x, [weight, bias], r → y, mean, var
 *  batch_norm_apply   x, mean, var, [weight, bias], r → y
 *  batch_norm_grad    g, x, mean, var, [weight], y, [h] → dx, [dweight, dbias], dr
 *
 * In 16 bits norm(x) is rounded before r is added, and the sum before act; but for kernels that widen.h makes, which
 * round results alone. The gradient is that of act RELU: what of g,
 * or of g + h (in 16 bits rounded), passes where y is above 0 is its last result dr, the gradient of r and of what the
 * normalisation made. An operand, or of the gradient a result, more than the call has without a sum says that there is
 * one.
 *
 *  layer_norm_grad  g, x, mean, rstd, [weight], r → dx, [dweight, dbias]
 *
 * is the gradient where r, of dx's shape and type, goes around the norm: dx is the norm's gradient and r. A back end
 * may take that in f32 alone. */
#ifndef LOOM_NORM_H
#define LOOM_NORM_H

#include <string.h>

#include "kernels/backend.h"

/* Operands of a norm with nothing joined to it. */
static inline int
loom_norm_operands (const char *primitive, bool affine)
{
  if (strcmp (primitive, "batch_norm_grad") == 0 || strcmp (primitive, "layer_norm_grad") == 0)
    return affine ? 5 : 4;
  return (strcmp (primitive, "batch_norm_apply") == 0 ? 3 : 1) + (affine ? 2 : 0);
}

static inline int
loom_norm_results (const char *primitive, bool affine)
{
  return strcmp (primitive, "batch_norm") == 0 ? 3 : strcmp (primitive, "batch_norm_grad") == 0 && affine ? 3 : 1;
}

/* FALSE of other primitives. */
static inline bool
loom_norm_has_residual (const char *primitive, bool affine, int n_in, int n_out)
{
  if (strncmp (primitive, "batch_norm", strlen ("batch_norm")) != 0)
    return false;
  if (strcmp (primitive, "batch_norm_grad") == 0)
    return n_out > loom_norm_results (primitive, affine);
  return n_in > loom_norm_operands (primitive, affine);
}

/* Of layer_norm_grad: where r is among n_in operands; 0: there is none. */
static inline int
loom_layer_norm_around (bool affine, int n_in)
{
  const int own = loom_norm_operands ("layer_norm_grad", affine);

  return n_in > own ? own : 0;
}

#endif
