/* Matrix products as in an introduction to GPU programming, for `gradloom bench devices` to compare with cuBLAS's. No
 * plan uses them: options() does not list them unless the call names one.
 *
 * With one thread for each element, 2·k numbers are read from memory for 2·k operations. With tiles a block of TILE ×
 * TILE threads loads each number once for TILE of them (Kirk and Hwu, Programming Massively Parallel Processors,
 * chapter 5). */
#include "kernels/cuda/cuda-kernels.cuh"
#include "kernels/cuda/cuda-tiled.h"

#define TILE    16
#define THREADS (TILE * TILE)

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  long long m, n, k;
  bool tiled;
} Lesson;

/* y [m,n] = a [m,k]·b [k,n]; one thread for each element of y. */
__global__ static void
__launch_bounds__ (THREADS)
    naive_matmul_kernel (float *y, const float *a, const float *b, long long m, long long n, long long k)
{
  const long long column = (long long)blockIdx.x * TILE + threadIdx.x % TILE;
  const long long row = (long long)blockIdx.y * TILE + threadIdx.x / TILE;
  float sum = 0;

  if (row >= m || column >= n)
    return;
  for (long long i = 0; i < k; i++)
    sum += a[row * k + i] * b[i * n + column];
  y[row * n + column] = sum;
}

/* y [m,n] = a [m,k]·b [k,n] by tiles [TILE,TILE] of a and b in shared memory; elements outside are 0. */
__global__ static void
__launch_bounds__ (THREADS)
    tiled_matmul_kernel (float *y, const float *a, const float *b, long long m, long long n, long long k)
{
  __shared__ float a_tile[THREADS];
  __shared__ float b_tile[THREADS];
  const int x = threadIdx.x % TILE, y_at = threadIdx.x / TILE, at = threadIdx.x;
  const long long column = (long long)blockIdx.x * TILE + x;
  const long long row = (long long)blockIdx.y * TILE + y_at;
  float sum = 0;

  for (long long first = 0; first < k; first += TILE)
    {
      a_tile[at] = row < m && first + x < k ? a[row * k + first + x] : 0;
      b_tile[at] = first + y_at < k && column < n ? b[(first + y_at) * n + column] : 0;
      __syncthreads ();
      for (int i = 0; i < TILE; i++)
        sum += a_tile[y_at * TILE + i] * b_tile[i * TILE + x];
      __syncthreads ();
    }
  if (row < m && column < n)
    y[row * n + column] = sum;
}

static dim3
grid_of (const Lesson *self)
{
  return dim3 (blocks_for (self->n, TILE), blocks_for (self->m, TILE));
}

static LoomStatus
lesson_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Lesson *self = (Lesson *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const float *a = (const float *)buffers[0], *b = (const float *)buffers[1];
  float *y = (float *)buffers[2];

  if (self->m == 0 || self->n == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  /* clang-format off */
  if (self->tiled)
    tiled_matmul_kernel<<<grid_of (self), THREADS, 0, handle>>> (y, a, b, self->m, self->n, self->k);
  else
    naive_matmul_kernel<<<grid_of (self), THREADS, 0, handle>>> (y, a, b, self->m, self->n, self->k);
  /* clang-format on */
  return cuda_launched ("a product", message);
}

bool
cuda_is_lesson (const char *algorithm)
{
  return algorithm != NULL && (strcmp (algorithm, CUDA_NAIVE) == 0 || strcmp (algorithm, CUDA_TILED) == 0);
}

LoomStatus
cuda_lesson_matmul_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomMatmulAttrs *attrs = (const LoomMatmulAttrs *)spec->attrs;
  const LoomTensorDesc *a = &spec->in[0], *b = &spec->in[1];
  Lesson *self;

  if (attrs->trans_a || attrs->trans_b || attrs->has_bias || attrs->act != LOOM_SCALAR_ID || !cuda_all_plain (spec)
      || !all_of_dtype (spec->in, 2, LOOM_F32) || !all_of_dtype (spec->out, 1, LOOM_F32) || a->rank != 2 || b->rank != 2
      || a->dim[1] != b->dim[0] || a->dim[0] > 65535LL * TILE)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Lesson> (device, strcmp (spec->algorithm, CUDA_TILED) == 0 ? CUDA_TILED : CUDA_NAIVE, lesson_run,
                                message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->m = a->dim[0];
  self->k = a->dim[1];
  self->n = b->dim[1];
  self->tiled = strcmp (spec->algorithm, CUDA_TILED) == 0;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
