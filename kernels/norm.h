/* Norms fused with a residual sum by the planner. Plain C, all static inline.
 *
 * y = act(norm(x) + r), the sum at the end of a residual block; r has x's shape and type:
 *
 *  batch_norm         x, [weight, bias], r → y, mean, var
 *  batch_norm_apply   x, mean, var, [weight, bias], r → y
 *  batch_norm_grad    g, x, mean, var, [weight], y, [h] → dx, [dweight, dbias], dr
 *
 * In 16 bits norm(x) is rounded before r is added, and the sum is rounded before act, except in kernels made by
 * upcast.h, which round results only. The gradient is that of act RELU: its last result dr, the gradient of r and of
 * norm(x), is g, or g + h (rounded in 16 bits), where y is above 0. The sum is present if the call has one operand (the
 * gradient: one result) more than the plain norm.
 *
 * layer_norm_grad with a residual r around the norm, of dx's shape and type: dx is the norm's gradient plus r. A back
 * end may take it in f32 only:
 *
 *  layer_norm_grad  g, x, mean, rstd, [weight], r → dx, [dweight, dbias] */
#ifndef LOOM_NORM_H
#define LOOM_NORM_H

#include <string.h>

#include "kernels/backend.h"

/* Number of operands of a norm without a residual. */
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

/* FALSE for other primitives. */
static inline bool
loom_norm_has_residual (const char *primitive, bool affine, int n_in, int n_out)
{
  if (strncmp (primitive, "batch_norm", strlen ("batch_norm")) != 0)
    return false;
  if (strcmp (primitive, "batch_norm_grad") == 0)
    return n_out > loom_norm_results (primitive, affine);
  return n_in > loom_norm_operands (primitive, affine);
}

/* The operand number of r in layer_norm_grad; 0 if there is none. */
static inline int
loom_layer_norm_residual (bool affine, int n_in)
{
  const int own = loom_norm_operands ("layer_norm_grad", affine);

  return n_in > own ? own : 0;
}

#endif
