/* Converts bf16 and f16 from and to f32, for kernels/upcast.h, if a primitive has no kernel for 16-bit floats. */
#include "kernels/cuda/cuda-kernels.cuh"

#define MANY 8 /* elements of a thread: 16 bytes of 16-bit floats */

/* from and to are [n], at multiples of 64 bytes; one thread for MANY elements. */
template <typename To, typename From>
__global__ void
__launch_bounds__ (CUDA_THREADS) convert_kernel (To *to, const From *from, long long n)
{
  const long long i = MANY * ((long long)blockIdx.x * CUDA_THREADS + threadIdx.x);
  float part[MANY];

  if (i + MANY <= n)
    {
      load_pack<MANY> (part, from + i);
      store_pack<MANY> (to + i, part);
      return;
    }
  for (long long k = i; k < n; k++)
    store (to + k, load (from[k]));
}

template <typename To, typename From>
static void
convert (LoomDevice *device, LoomStream *stream, To *to, const From *from, int64_t n)
{
  cuda_use (device);
  convert_kernel<To, From><<<blocks_for (n, CUDA_THREADS * MANY), CUDA_THREADS, 0, cuda_stream (device, stream)>>> (to, from, n);
}

LoomStatus
cuda_upcast (LoomDevice *device, LoomStream *stream, float *to, const void *from, LoomDType type, int64_t n,
            LoomMessage *message)
{
  if (n == 0)
    return LOOM_STATUS_OK;
  if (type == LOOM_BF16)
    convert (device, stream, to, (const Bf16 *)from, n);
  else
    convert (device, stream, to, (const F16 *)from, n);
  return cuda_launched ("converting 16-bit floats", message);
}

LoomStatus
cuda_downcast (LoomDevice *device, LoomStream *stream, void *to, LoomDType type, const float *from, int64_t n,
             LoomMessage *message)
{
  if (n == 0)
    return LOOM_STATUS_OK;
  if (type == LOOM_BF16)
    convert (device, stream, (Bf16 *)to, from, n);
  else
    convert (device, stream, (F16 *)to, from, n);
  return cuda_launched ("rounding to 16-bit floats", message);
}
