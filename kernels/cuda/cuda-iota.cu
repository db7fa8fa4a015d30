/* iota: numbers at equal distances along an axis. */
/* clang-format would split the brackets of launches. */
/* clang-format off */
#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"

/* Converts a float directly, an integer through i64 (kernels/convert.h). */
template <typename T>
__device__ inline T
converted (double x)
{
  return (T)loom_int_from_double (x);
}

template <>
__device__ inline float
converted<float> (double x)
{
  return (float)x;
}

template <>
__device__ inline double
converted<double> (double x)
{
  return x;
}

/* to [outer,dim,inner] of count elements = start + step·i at index i of dim; one thread for each element. */
template <typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    iota_kernel (T *to, long long count, LongDivisor inner, LongDivisor dim, double start, double step)
{
  const long long i = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  long long above = i;

  if (i >= count)
    return;
  take_index (&above, inner);
  to[i] = converted<T> (start + (double)take_index (&above, dim) * step);
}

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  LoomDType dtype;
  long long count;
  LongDivisor by_inner, by_dim;
  double start, step;
} Iota;

template <typename T>
static void
launch_iota (const Iota *self, cudaStream_t stream, void *to)
{
  iota_kernel<T><<<blocks_for (self->count, CUDA_THREADS), CUDA_THREADS, 0, stream>>> (
      (T *)to, self->count, self->by_inner, self->by_dim, self->start, self->step);
}

static LoomStatus
iota_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Iota *self = (Iota *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->count == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->dtype == LOOM_F64)
    launch_iota<double> (self, handle, buffers[0]);
  else if (self->dtype == LOOM_F32)
    launch_iota<float> (self, handle, buffers[0]);
  else if (self->dtype == LOOM_I64)
    launch_iota<long long> (self, handle, buffers[0]);
  else if (self->dtype == LOOM_I32)
    launch_iota<int> (self, handle, buffers[0]);
  else
    launch_iota<unsigned char> (self, handle, buffers[0]);
  return cuda_launched ("iota", message);
}

LoomStatus
cuda_iota_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomIotaAttrs *attrs = (const LoomIotaAttrs *)spec->attrs;
  const LoomTensorDesc *y = &spec->out[0];
  Iota *self;

  if (!cuda_all_plain (spec)
      || (y->dtype != LOOM_F64 && y->dtype != LOOM_F32 && y->dtype != LOOM_I64 && y->dtype != LOOM_I32
          && y->dtype != LOOM_U8))
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Iota> (device, "own iota", iota_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->dtype = y->dtype;
  self->count = loom_desc_count (y);
  self->by_inner = long_divisor_of ((unsigned long long)cuda_extent (y, attrs->axis + 1, y->rank));
  self->by_dim = long_divisor_of ((unsigned long long)y->dim[attrs->axis]);
  self->start = attrs->start;
  self->step = attrs->step;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
