/* Kernels with and without defects, for the tests of the emulator. */
#include "tests/cuda/emulator/test-kernels.h"

#include "kernels/cuda/cuda-mma.cuh"

__global__ static void
add_kernel (float *x, long long n, float what)
{
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

  if (i < n)
    x[i] += what;
}

void
test_add (cudaStream_t stream, float *x, long long n, float what)
{
  add_kernel<<<(unsigned int)((n + 31) / 32), 32, 0, stream>>> (x, n, what);
}

void
test_shape (dim3 grid, dim3 block, size_t bytes, float *x)
{
  add_kernel<<<grid, block, bytes>>> (x, 0, 0);
}

__global__ static void
add_in_struct_kernel (TestStruct in)
{
  in.x[threadIdx.x] += in.what;
}

void
test_add_in_struct (cudaStream_t stream, TestStruct in)
{
  add_in_struct_kernel<<<1, 1, 0, stream>>> (in);
}

/* Threads of a warp sum n ones in dynamic shared memory; y [1]. */
__global__ static void
dynamic_kernel (float *y, int n)
{
  extern __shared__ float all[];
  float sum = 0;

  for (int i = threadIdx.x; i < n; i += 32)
    all[i] = 1;
  __syncthreads ();
  if (threadIdx.x == 0)
    {
      for (int i = 0; i < n; i++)
        sum += all[i];
      *y = sum;
    }
}

cudaError_t
test_opt_in (int bytes)
{
  return cudaFuncSetAttribute (dynamic_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

void
test_dynamic (float *y, int n)
{
  dynamic_kernel<<<1, 32, n * sizeof (float)>>> (y, n);
}

__global__ static void
large_kernel (float *y)
{
  __shared__ float all[(48 << 10) / 4 + 1];

  all[threadIdx.x] = 1;
  y[threadIdx.x] = all[threadIdx.x];
}

void
test_large (float *y)
{
  large_kernel<<<1, 1>>> (y);
}

/* Each lane has words [6]: four of a and two of b; y [8] gets its four sums of both products, one after the other. */
template <typename T>
__global__ static void
product_kernel (float *y, const unsigned *words)
{
  const unsigned *a = words + threadIdx.x * 6;
  float sums[4], shuffled[4];

  for (int i = 0; i < 4; i++)
    sums[i] = shuffled[i] = y[threadIdx.x * 8 + i];
  multiply (T (), sums, a, a + 4);
  multiply_by_shuffles<T> (shuffled, a, a + 4);
  for (int i = 0; i < 4; i++)
    {
      y[threadIdx.x * 8 + i] = sums[i];
      y[threadIdx.x * 8 + 4 + i] = shuffled[i];
    }
}

void
test_product (bool bf16, float *y, const unsigned *words)
{
  if (bf16)
    product_kernel<Bf16><<<1, 64>>> (y, words);
  else
    product_kernel<F16><<<1, 64>>> (y, words);
}

/* ---- defects found by checked loads and stores ----------------------------------------------- */

struct alignas (16) Four
{
  float v[4];
};

__global__ static void
four_kernel (float *y, const float *x)
{
  *(Four *)y = *(const Four *)x;
}

void
test_four (float *y, const float *x)
{
  four_kernel<<<1, 1>>> (y, x);
}

__global__ static void
copy_kernel (float *y, const float *x, int n)
{
  for (int i = threadIdx.x; i < n; i += 32)
    y[i] = x[i];
}

void
test_copy (float *y, const float *x, int n)
{
  copy_kernel<<<1, 32>>> (y, x, n);
}

/* Reads an address inside a struct, which no launch can check. */
__global__ static void
follow_kernel (float *y, TestStruct in)
{
  *y = in.x[0];
}

void
test_follow (float *y, TestStruct in)
{
  follow_kernel<<<1, 1>>> (y, in);
}

/* Each thread writes an element of shared memory and reads another's, with ORDER between; y [64]. */
template <int ORDER, int DISTANCE>
__global__ static void
neighbour_kernel (float *y)
{
  __shared__ float place[64];

  place[threadIdx.x] = threadIdx.x;
  if (ORDER == TEST_BARRIER)
    __syncthreads ();
  else if (ORDER == TEST_WARP)
    __syncwarp ();
  else if (ORDER == TEST_SHUFFLE)
    __shfl_xor_sync (0xffffffffu, 1.0f, 1);
  y[threadIdx.x] = place[threadIdx.x ^ DISTANCE];
}

/* The other way round: reads, then writes an element that another thread reads; y [64]. */
template <int ORDER>
__global__ static void
after_kernel (float *y)
{
  __shared__ float place[64];

  place[threadIdx.x] = 1;
  __syncthreads ();
  y[threadIdx.x] = place[threadIdx.x ^ 32];
  if (ORDER == TEST_BARRIER)
    __syncthreads ();
  place[threadIdx.x] = 2;
}

__global__ static void
both_kernel (float *y)
{
  __shared__ float place[2];

  place[0] = threadIdx.x;
  __syncthreads ();
  y[threadIdx.x] = place[0];
}

/* Writes to two bytes of one word are no race; writes to one byte are. y [64]. */
template <int SHIFT>
__global__ static void
byte_kernel (float *y)
{
  __shared__ unsigned char place[64];

  place[threadIdx.x >> SHIFT] = (unsigned char)threadIdx.x;
  y[threadIdx.x] = 0;
}

__global__ static void
array_kernel (float *y, int at)
{
  __shared__ float place[32];

  place[threadIdx.x] = 1;
  y[threadIdx.x] = place[at];
}

void
test_race (const char *name, float *y)
{
  if (strcmp (name, "barrier") == 0)
    neighbour_kernel<TEST_BARRIER, 32><<<1, 64>>> (y);
  else if (strcmp (name, "warp") == 0)
    neighbour_kernel<TEST_WARP, 1><<<1, 64>>> (y);
  else if (strcmp (name, "warp-too-far") == 0)
    neighbour_kernel<TEST_WARP, 32><<<1, 64>>> (y);
  else if (strcmp (name, "write-read") == 0)
    neighbour_kernel<TEST_NOTHING, 1><<<1, 64>>> (y);
  else if (strcmp (name, "shuffle") == 0)
    neighbour_kernel<TEST_SHUFFLE, 1><<<1, 64>>> (y);
  else if (strcmp (name, "read-barrier-write") == 0)
    after_kernel<TEST_BARRIER><<<1, 64>>> (y);
  else if (strcmp (name, "read-write") == 0)
    after_kernel<TEST_NOTHING><<<1, 64>>> (y);
  else if (strcmp (name, "write-write") == 0)
    both_kernel<<<1, 64>>> (y);
  else if (strcmp (name, "bytes") == 0)
    byte_kernel<0><<<1, 64>>> (y);
  else if (strcmp (name, "same-byte") == 0)
    byte_kernel<1><<<1, 64>>> (y);
  else
    array_kernel<<<1, 32>>> (y, 32);
}

/* ---- barriers that some threads do not reach -------------------------------------------------- */

__global__ static void
some_kernel (float *y)
{
  if (threadIdx.x < 16)
    __syncthreads ();
  y[threadIdx.x] = 0;
}

void
test_some (float *y)
{
  some_kernel<<<1, 32>>> (y);
}

/* Read by the host, in a file of kernels. */
float
test_host_read (const float *x)
{
  return *x;
}

__global__ static void
shift_kernel (int *y, int by)
{
  *y = 1 << by;
}

void
test_shift (int *y, int by)
{
  shift_kernel<<<1, 1>>> (y, by);
}

__global__ static void
sum_kernel (int *y, int a, int b)
{
  *y = a + b;
}

void
test_sum (int *y, int a, int b)
{
  sum_kernel<<<1, 1>>> (y, a, b);
}

/* 64 threads; of each, y [4]: the sum of x by shuffles and at once, and both of sums of the middle steps alone. */
__global__ static void
join_kernel (float *y, const float *x)
{
  const float all = shuffle_join<Sum, 16, 1> (x[threadIdx.x]), upper = shuffle_join<Sum, 8, 2> (x[threadIdx.x]);
  float sum = x[threadIdx.x];

  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync (0xffffffffu, sum, offset);
  y[threadIdx.x * 4] = sum;
  y[threadIdx.x * 4 + 1] = all;
  sum = x[threadIdx.x];
  for (int offset = 8; offset > 1; offset /= 2)
    sum += __shfl_xor_sync (0xffffffffu, sum, offset);
  y[threadIdx.x * 4 + 2] = sum;
  y[threadIdx.x * 4 + 3] = upper;
}

void
test_join (float *y, const float *x)
{
  join_kernel<<<1, 64>>> (y, x);
}
