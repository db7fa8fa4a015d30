/* require: a copy of its operand, and a test of its condition, which raises the stream's flag if an element is 0. */
#include "kernels/cuda/cuda-kernels.cuh"

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  struct CudaRequirement requirement;
  long long count; /* elements of the condition */
  size_t bytes;    /* of the operand */
} Require;

/* ok [count]; one thread for each element. If several threads find a 0, any one is reported. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) require_kernel (const unsigned char *ok, long long count, CudaRaise raise)
{
  const long long i = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (i >= count || ok[i] != 0)
    return;
  raise_fault (raise, CUDA_FAULT_REQUIREMENT, i, 0);
}

static LoomStatus
require_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Require *self = (Require *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  cuda_use (self->device);
  if (self->count > 0)
    require_kernel<<<blocks_for (self->count, CUDA_THREADS), CUDA_THREADS, 0, handle>>> (
        (const unsigned char *)buffers[1], self->count, cuda_raise (self->device, stream, base, &self->requirement));
  if (self->bytes > 0 && buffers[2] != buffers[0])
    {
      LoomStatus status = cuda_check (
          cudaMemcpyAsync (buffers[2], buffers[0], self->bytes, cudaMemcpyDeviceToDevice, handle), "copying", message);

      if (status != LOOM_STATUS_OK)
        return status;
    }
  return cuda_launched ("require", message);
}

LoomStatus
cuda_require_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Require *self;

  if (!cuda_all_plain (spec) || spec->in[1].dtype != LOOM_BOOL || spec->in[0].dtype != spec->out[0].dtype)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Require> (device, "own require", require_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->requirement.attrs = *(const LoomRequireAttrs *)spec->attrs;
  self->requirement.ok = spec->in[1];
  self->count = loom_desc_count (&spec->in[1]);
  self->bytes = loom_desc_bytes (&spec->in[0]);
  self->base.inplace[0] = 1;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
