/* Packs the signs of a matrix into bits, 1 for elements above 0: the derivative of ReLU in the form that cuBLASLt
 * reads. */
#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"
#include "kernels/cuda/cuda-mask.h"

#define RUN   128 /* columns of a warp; each row begins a new run */
#define WORDS (RUN / 32)

/* mask [runs,WORDS], z [runs / per_row.by,columns]; one warp for each run. Lane l has column l of 32, which is bit l of
 * a word. */
template <typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS) mask_kernel (unsigned int *mask, const T *z, long long runs, long long columns,
                                              LongDivisor per_row)
{
  const long long run = ((long long)blockIdx.x * CUDA_THREADS + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  unsigned int mine = 0;

  if (run >= runs)
    return;
  const long long row = (long long)divide ((unsigned long long)run, per_row);
  const long long column = (run - row * (long long)per_row.by) * RUN + lane;
#pragma unroll
  for (int w = 0; w < WORDS; w++)
    {
      const long long c = column + w * 32;
      const unsigned int word = __ballot_sync (0xffffffffu, c < columns && load (z[row * columns + c]) > 0);

      if (lane == w)
        mine = word;
    }
  if (lane < WORDS)
    mask[run * WORDS + lane] = mine;
}

LoomStatus
cuda_mask (LoomDevice *device, LoomStream *stream, void *mask, const void *z, LoomDType dtype, int64_t rows,
           int64_t columns, LoomMessage *message)
{
  const long long per_row = cuda_mask_bits (columns) / RUN, runs = rows * per_row;

  with_float (dtype, [&] (auto element) {
    typedef decltype (element) T;

    mask_kernel<T><<<blocks_for (runs, CUDA_THREADS / 32), CUDA_THREADS, 0, cuda_stream (device, stream)>>> (
        (unsigned int *)mask, (const T *)z, runs, columns, long_divisor_of ((unsigned long long)per_row));
  });
  return cuda_launched ("mask", message);
}
