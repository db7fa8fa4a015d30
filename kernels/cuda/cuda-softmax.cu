/* Softmax, log-softmax and their gradients.
 *
 * All see their tensors as (outer, C, inner) and give one row, C elements at a stride
 * of `inner`, to a warp when C is at most 1,024 and to a block otherwise. The largest
 * element is subtracted before any exponential, which would overflow otherwise. */
/* clang-format takes the brackets of launches apart. */
/* clang-format off */
#include <math.h>

#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"

#define WARP_LIMIT 1024

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  long long rows, dim;
  LongDivisor by_inner;
  bool log;
} Rows;

/* THREADS threads, 32 or a whole block, share a row. Only whole groups leave early, so
 * the joins below always find all their threads. */
template <int THREADS>
__device__ static long long
row_of ()
{
  return THREADS == 32 ? (long long)blockIdx.x * (CUDA_THREADS / 32) + threadIdx.x / 32 : blockIdx.x;
}

template <int THREADS>
__device__ static int
first_of ()
{
  return threadIdx.x % THREADS;
}

/* log Σ exp (x - largest) over the dim elements of a row, `inner` apart. */
template <int THREADS>
__device__ static float
row_log_sum (const float *x, long long dim, long long inner, float *largest)
{
  float most = -INFINITY, sum = 0;

  for (long long i = first_of<THREADS> (); i < dim; i += THREADS)
    most = Largest::join (most, x[i * inner]);
  most = block_join<Largest, THREADS> (most);
  /* A row of -inf alone has no softmax; subtracting 0 leaves NaN in the end, as PyTorch does. */
  for (long long i = first_of<THREADS> (); i < dim; i += THREADS)
    sum += expf (x[i * inner] - most);
  sum = block_join<Sum, THREADS> (sum);
  *largest = most;
  return logf (sum);
}

/* x and y are (outer, C, inner), rows = outer·inner rows of dim = C elements. */
template <int THREADS>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    softmax_kernel (float *y, const float *x, long long rows, long long dim, LongDivisor by_inner, bool log)
{
  const long long row = row_of<THREADS> ();
  float most, log_sum;

  if (row >= rows)
    return;
  long long outer = row;
  const long long inner = (long long)by_inner.by, place = take_index (&outer, by_inner);
  const long long base = outer * dim * inner + place;
  log_sum = row_log_sum<THREADS> (x + base, dim, inner, &most);
  const float scale = expf (-log_sum);
  for (long long i = first_of<THREADS> (); i < dim; i += THREADS)
    {
      const float shifted = x[base + i * inner] - most;

      y[base + i * inner] = log ? shifted - log_sum : expf (shifted) * scale;
    }
}

/* g, y and dx are (outer, C, inner). softmax: dx = (g - Σ g·y)·y; log-softmax: dx = g - exp(y)·Σ g. */
template <int THREADS>
__global__ void
__launch_bounds__ (CUDA_THREADS) softmax_grad_kernel (float *dx, const float *g, const float *y, long long rows,
                                                      long long dim, LongDivisor by_inner, bool log)
{
  const long long row = row_of<THREADS> ();
  float sum = 0;

  if (row >= rows)
    return;
  long long outer = row;
  const long long inner = (long long)by_inner.by, place = take_index (&outer, by_inner);
  const long long base = outer * dim * inner + place;
  for (long long i = first_of<THREADS> (); i < dim; i += THREADS)
    sum += log ? g[base + i * inner] : g[base + i * inner] * y[base + i * inner];
  sum = block_join<Sum, THREADS> (sum);
  for (long long i = first_of<THREADS> (); i < dim; i += THREADS)
    {
      const long long at = base + i * inner;

      dx[at] = log ? g[at] - expf (y[at]) * sum : (g[at] - sum) * y[at];
    }
}

/* ---- host --------------------------------------------------------------------------- */

static unsigned int
row_blocks (const Rows *self)
{
  return self->dim <= WARP_LIMIT ? blocks_for (self->rows, CUDA_THREADS / 32) : (unsigned int)self->rows;
}

static LoomStatus
softmax_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Rows *self = (Rows *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const float *x = (const float *)buffers[0];
  float *y = (float *)buffers[1];

  if (self->rows == 0 || self->dim == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->dim <= WARP_LIMIT)
    softmax_kernel<32>
        <<<row_blocks (self), CUDA_THREADS, 0, handle>>> (y, x, self->rows, self->dim, self->by_inner, self->log);
  else
    softmax_kernel<CUDA_THREADS>
        <<<row_blocks (self), CUDA_THREADS, 0, handle>>> (y, x, self->rows, self->dim, self->by_inner, self->log);
  return cuda_launched ("softmax", message);
}

static LoomStatus
softmax_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Rows *self = (Rows *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const float *g = (const float *)buffers[0], *y = (const float *)buffers[1];
  float *dx = (float *)buffers[2];

  if (self->rows == 0 || self->dim == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->dim <= WARP_LIMIT)
    softmax_grad_kernel<32>
        <<<row_blocks (self), CUDA_THREADS, 0, handle>>> (dx, g, y, self->rows, self->dim, self->by_inner, self->log);
  else
    softmax_grad_kernel<CUDA_THREADS>
        <<<row_blocks (self), CUDA_THREADS, 0, handle>>> (dx, g, y, self->rows, self->dim, self->by_inner, self->log);
  return cuda_launched ("softmax_grad", message);
}

/* A kernel over (outer, C, inner) of the first operand, C being its axis `axis`. */
static LoomStatus
rows_new (LoomDevice *device, const LoomKernelSpec *spec, int axis, const char *name,
          LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), Rows **out,
          LoomMessage *message)
{
  const LoomTensorDesc *x = &spec->in[0];
  Rows *self;

  if (!cuda_all_plain (spec) || x->dtype != LOOM_F32 || !all_of_dtype (spec->out, spec->n_out, LOOM_F32))
    return LOOM_STATUS_UNSUPPORTED;
  if (axis < 0 || axis >= x->rank)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s names an axis that its operand lacks", spec->primitive);
  self = kernel_struct<Rows> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->dim = x->dim[axis];
  self->by_inner = long_divisor_of ((unsigned long long)cuda_extent (x, axis + 1, x->rank));
  self->rows = cuda_extent (x, 0, axis) * cuda_extent (x, axis + 1, x->rank);
  *out = self;
  return LOOM_STATUS_OK;
}

static LoomStatus
any_softmax_new (LoomDevice *device, const LoomKernelSpec *spec, const char *name,
                 LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), uint32_t inplace,
                 LoomKernel **kernel, LoomMessage *message)
{
  const LoomSoftmaxAttrs *attrs = (const LoomSoftmaxAttrs *)spec->attrs;
  Rows *self = NULL;
  LoomStatus status;

  /* A scalar's softmax is over its one element. */
  if (spec->in[0].rank == 0)
    return LOOM_STATUS_UNSUPPORTED;
  status = rows_new (device, spec, attrs->axis, name, run, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->log = attrs->log;
  self->base.inplace[0] = inplace;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

/* Each element is read by the thread that writes it before it is written, and by others
 * only ahead of a join; so both kernels may work in place. */
LoomStatus
cuda_softmax_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return any_softmax_new (device, spec, "own softmax", softmax_run, 1, kernel, message);
}

LoomStatus
cuda_softmax_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  if (spec->n_in != 2 || spec->in[1].dtype != LOOM_F32)
    return LOOM_STATUS_UNSUPPORTED;
  return any_softmax_new (device, spec, "own softmax_grad", softmax_grad_run, 3, kernel, message);
}
