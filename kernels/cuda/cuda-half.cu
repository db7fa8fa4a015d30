/* bf16 and f16 from and to f32: what kernels/widen.h converts with where a primitive has no kernel for 16-bit floats. */
#include "kernels/cuda/cuda-kernels.cuh"

/* from and to are (n); a thread an element. */
template <typename S>
__global__ void
__launch_bounds__ (CUDA_THREADS) widen_kernel (float *to, const S *from, long long n)
{
  const long long i = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (i < n)
    to[i] = load (from[i]);
}

/* from and to are (n); a thread an element. */
template <typename S>
__global__ void
__launch_bounds__ (CUDA_THREADS) narrow_kernel (S *to, const float *from, long long n)
{
  const long long i = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (i < n)
    store (&to[i], from[i]);
}

LoomStatus
cuda_widen (LoomDevice *device, LoomStream *stream, float *to, const void *from, LoomDType type, int64_t n,
            LoomMessage *message)
{
  cudaStream_t handle = cuda_stream (device, stream);

  if (n == 0)
    return LOOM_STATUS_OK;
  cuda_use (device);
  if (type == LOOM_BF16)
    widen_kernel<Bf16><<<blocks_for (n, CUDA_THREADS), CUDA_THREADS, 0, handle>>> (to, (const Bf16 *)from, n);
  else
    widen_kernel<F16><<<blocks_for (n, CUDA_THREADS), CUDA_THREADS, 0, handle>>> (to, (const F16 *)from, n);
  return cuda_launched ("widening 16-bit floats", message);
}

LoomStatus
cuda_narrow (LoomDevice *device, LoomStream *stream, void *to, LoomDType type, const float *from, int64_t n,
             LoomMessage *message)
{
  cudaStream_t handle = cuda_stream (device, stream);

  if (n == 0)
    return LOOM_STATUS_OK;
  cuda_use (device);
  if (type == LOOM_BF16)
    narrow_kernel<Bf16><<<blocks_for (n, CUDA_THREADS), CUDA_THREADS, 0, handle>>> ((Bf16 *)to, from, n);
  else
    narrow_kernel<F16><<<blocks_for (n, CUDA_THREADS), CUDA_THREADS, 0, handle>>> ((F16 *)to, from, n);
  return cuda_launched ("rounding to 16-bit floats", message);
}
