/* The batches of a product: its batch axes, and the part that one call of cuBLASLt takes. */
#include "kernels/cuda/cuda-matmul.h"

/* Batch strides of an operand along the result's batch axes. False if they do not broadcast. */
static bool
batch_strides (const LoomTensorDesc *x, const LoomTensorDesc *y, int64_t strides[LOOM_MAX_RANK])
{
  int64_t own[LOOM_MAX_RANK];
  int missing = y->rank - x->rank;

  if (missing < 0)
    return false;
  cuda_strides (x, own);
  for (int i = 0; i < y->rank - 2; i++)
    {
      int64_t dim = i < missing ? 1 : x->dim[i - missing];

      if (dim != 1 && dim != y->dim[i])
        return false;
      strides[i] = dim == 1 ? 0 : own[i - missing];
    }
  return true;
}

bool
cuda_matmul_set_batches (Matmul *self, const LoomKernelSpec *spec)
{
  Batches *to = &self->batches;
  const LoomTensorDesc *y = &spec->out[0];
  int64_t a[LOOM_MAX_RANK] = { 0 }, b[LOOM_MAX_RANK] = { 0 }, own[LOOM_MAX_RANK];

  if (!batch_strides (&spec->in[0], y, a) || !batch_strides (&spec->in[1], y, b))
    return false;
  cuda_strides (y, own);
  for (int i = 0; i < y->rank - 2; i++)
    {
      int last = to->rank - 1;

      if (y->dim[i] == 1)
        continue;
      if (to->rank > 0 && to->a[last] == a[i] * y->dim[i] && to->b[last] == b[i] * y->dim[i]
          && to->y[last] == own[i] * y->dim[i])
        to->dim[last] *= y->dim[i];
      else
        to->dim[++last] = y->dim[i];
      to->a[last] = a[i];
      to->b[last] = b[i];
      to->y[last] = own[i];
      to->rank = last + 1;
    }
  return true;
}

void
cuda_matmul_fold_batch (Matmul *self, const LoomMatmulAttrs *attrs)
{
  Batches *batches = &self->batches;

  if (batches->rank == 1 && batches->b[0] == 0 && batches->a[0] == self->m * self->k && !attrs->trans_a)
    {
      self->m *= batches->dim[0];
      batches->rank = 0;
    }
}
