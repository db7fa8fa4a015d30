/* Random numbers by Philox (kernels/philox.h, kernels/draw.h), in f32 with the bits of every other back end. */
#include <math.h>

#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"
#include "kernels/draw.h"

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  LoomDType dtype;
  long long count, row; /* row: elements of y for each element of row_index; 0 without row_index */
  unsigned long long stream;
  LoomRandomKind kind;
  bool has_rows;
  int n_in;
} Random;

/* The four numbers of a block of Philox. */
__device__ static inline void
four (float y[4], const uint32_t word[4], LoomRandomKind kind, const float *)
{
  for (int i = 0; i < 4; i += 2)
    if (kind == LOOM_RANDOM_NORMAL)
      loom_draw_normals (word[i], word[i + 1], &y[i], &y[i + 1]);
    else
      for (int j = i; j < i + 2; j++)
        y[j] = kind == LOOM_RANDOM_EXPONENTIAL ? loom_draw_exponential (word[j]) : loom_philox_uniform (word[j]);
}

/* In f64 by the device's own functions, within their accuracy of the reference. */
__device__ static inline void
four (double y[4], const uint32_t word[4], LoomRandomKind kind, const float *)
{
  for (int i = 0; i < 4; i++)
    {
      const double u = loom_philox_uniform (word[i & 2]), v = loom_philox_uniform (word[(i & 2) + 1]);

      if (kind == LOOM_RANDOM_NORMAL)
        y[i] = sqrt (-2 * log (1 - u)) * (i % 2 == 0 ? cospi (2 * v) : sinpi (2 * v));
      else
        y[i] = kind == LOOM_RANDOM_EXPONENTIAL ? -log (loom_philox_open (word[i])) : loom_philox_uniform (word[i]);
    }
}

__device__ static inline void
four (unsigned char y[4], const uint32_t word[4], LoomRandomKind, const float *least)
{
  for (int i = 0; i < 4; i++)
    y[i] = loom_philox_uniform (word[i]) >= *least;
}

/* y [count], seed, step and least (or NULL) are scalars; one thread for the four numbers of a block of Philox. */
template <typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS) random_kernel (T *y, const long long *seed, const long long *step, long long count,
                                                unsigned long long stream, LoomRandomKind kind, const float *least)
{
  const long long block = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  uint32_t word[4];
  T value[4];

  if (block * 4 >= count)
    return;
  loom_philox ((uint64_t)*seed, stream, (uint64_t)*step, (uint64_t)block, word);
  four (value, word, kind, least);
  if (block * 4 + 4 <= count)
    {
      Pack<T, 4> pack;

      for (int i = 0; i < 4; i++)
        pack.at[i] = value[i];
      pack.write (y + block * 4);
      return;
    }
  for (int i = 0; i < 4 && block * 4 + i < count; i++)
    y[block * 4 + i] = value[i];
}

/* y [count], row_index [count / row], seed, step and least (or NULL) are scalars; one thread for each number, since rows
 * may begin within a block of Philox. */
template <typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS) rows_kernel (T *y, const long long *seed, const long long *step,
                                                const long long *row_index, long long count, long long row, LongDivisor by_row,
                                                unsigned long long stream, LoomRandomKind kind, const float *least)
{
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  uint32_t word[4];
  T value[4];

  if (at >= count)
    return;
  const long long of = (long long)divide ((unsigned long long)at, by_row);
  const long long i = row_index[of] * row + (at - of * row);
  loom_philox ((uint64_t)*seed, stream, (uint64_t)*step, (uint64_t)i >> 2, word);
  four (value, word, kind, least);
  y[at] = (i & 2) != 0 ? ((i & 1) != 0 ? value[3] : value[2]) : ((i & 1) != 0 ? value[1] : value[0]);
}

/* y [count], seed and step are scalars; one thread for the two integers of a block of Philox. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) integers_kernel (long long *y, const long long *seed, const long long *step,
                                               long long count, unsigned long long stream)
{
  const long long block = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  uint32_t word[4];

  if (block * 2 >= count)
    return;
  loom_philox ((uint64_t)*seed, stream, (uint64_t)*step, (uint64_t)block, word);
  y[block * 2] = loom_philox_int (word[0], word[1]);
  if (block * 2 + 1 < count)
    y[block * 2 + 1] = loom_philox_int (word[2], word[3]);
}

template <typename T>
static void
launch (const Random *self, cudaStream_t stream, T *y, const long long *seed, const long long *step, const long long *row_index,
        const float *least)
{
  const unsigned int blocks = blocks_for (self->count, row_index != NULL ? CUDA_THREADS : CUDA_THREADS * 4);
  const LongDivisor by_row = long_divisor_of ((unsigned long long)self->row);

  if (row_index != NULL)
    rows_kernel<T><<<blocks, CUDA_THREADS, 0, stream>>> (y, seed, step, row_index, self->count, self->row, by_row,
                                                           self->stream, self->kind, least);
  else
    random_kernel<T><<<blocks, CUDA_THREADS, 0, stream>>> (y, seed, step, self->count, self->stream, self->kind,
                                                           least);
}

static LoomStatus
random_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Random *self = (Random *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const long long *seed = (const long long *)buffers[0], *step = (const long long *)buffers[1];
  const long long *row_index = self->has_rows ? (const long long *)buffers[2] : NULL;
  const float *least = self->kind == LOOM_RANDOM_MASK ? (const float *)buffers[3] : NULL;
  void *const y = buffers[self->n_in];

  if (self->count == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->dtype == LOOM_I64)
    integers_kernel<<<blocks_for (self->count, CUDA_THREADS * 2), CUDA_THREADS, 0, handle>>> (
        (long long *)y, seed, step, self->count, self->stream);
  else if (self->dtype == LOOM_F32)
    launch (self, handle, (float *)y, seed, step, row_index, least);
  else if (self->dtype == LOOM_BOOL)
    launch (self, handle, (unsigned char *)y, seed, step, row_index, least);
  else
    launch (self, handle, (double *)y, seed, step, row_index, least);
  return cuda_launched ("random", message);
}

LoomStatus
cuda_random_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomRandomAttrs *attrs = (const LoomRandomAttrs *)spec->attrs;
  const LoomDType type = spec->out[0].dtype;
  const bool has_rows = loom_random_has_rows (spec->in, spec->n_in);
  const bool has_type = attrs->kind == LOOM_RANDOM_MASK ? type == LOOM_BOOL : type == LOOM_F32 || type == LOOM_F64 || type == LOOM_I64;
  Random *self;

  if (!cuda_all_plain (spec) || !all_of_dtype (spec->in, has_rows ? 3 : 2, LOOM_I64) || (has_rows && type == LOOM_I64)
      || (attrs->kind == LOOM_RANDOM_MASK && (spec->n_in != 4 || spec->in[3].dtype != LOOM_F32)) || !has_type)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Random> (device, "own philox", random_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->dtype = type;
  self->count = loom_desc_count (&spec->out[0]);
  self->n_in = spec->n_in;
  self->has_rows = has_rows;
  self->row = has_rows ? cuda_extent (&spec->out[0], spec->in[2].rank, spec->out[0].rank) : 0;
  self->stream = attrs->stream;
  self->kind = attrs->kind;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
