/* Small helpers of the CUDA back end: error sentences, strides, tables.
 *
 * They are separate from the vtable so that constructors do not depend on it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-internal.h"

LoomStatus
cuda_fail (LoomMessage *message, LoomStatus status, const char *format, ...)
{
  if (message != NULL)
    {
      va_list args;

      va_start (args, format);
      vsnprintf (message->text, sizeof message->text, format, args);
      va_end (args);
    }
  return status;
}

LoomStatus
cuda_launched (const char *what, LoomMessage *message)
{
  return cuda_check (cudaGetLastError (), what, message);
}

LoomStatus
cuda_table_new (LoomDevice *device, size_t bytes, void **table, LoomMessage *message)
{
  *table = NULL;
  cuda_use (device);
  return cuda_check (cudaMalloc (table, bytes != 0 ? bytes : 1), "allocating device memory for a kernel's table",
                     message);
}

void
cuda_strides (const LoomTensorDesc *desc, int64_t strides[LOOM_MAX_RANK])
{
  static const int nhwc[4] = { 0, 2, 3, 1 };
  int64_t stride = 1;

  for (int i = desc->rank - 1; i >= 0; i--)
    {
      int axis = desc->layout == LOOM_LAYOUT_NHWC && desc->rank == 4 ? nhwc[i] : i;

      strides[axis] = stride;
      stride *= desc->dim[axis];
    }
}

bool
cuda_all_plain (const LoomKernelSpec *spec)
{
  for (int i = 0; i < spec->n_in; i++)
    if (spec->in[i].layout != LOOM_LAYOUT_PLAIN)
      return false;
  for (int i = 0; i < spec->n_out; i++)
    if (spec->out[i].layout != LOOM_LAYOUT_PLAIN)
      return false;
  return true;
}

bool
cuda_same_shape (const LoomTensorDesc *a, const LoomTensorDesc *b)
{
  if (a->rank != b->rank)
    return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dim[i] != b->dim[i])
      return false;
  return true;
}

int64_t
cuda_extent (const LoomTensorDesc *desc, int from, int to)
{
  int64_t n = 1;

  for (int i = from; i < to; i++)
    n *= desc->dim[i];
  return n;
}
