/* Layer normalisation and its gradient, one warp for each row, one block for a long row.
 *
 * Rows of 16-bit floats are read and written as they are; rows of f32 may have a 16-bit result. Statistics and
 * parameters are f32.
 *
 * The gradients of weight and bias are column sums in f64: chunks of the rows first, which a second kernel adds in
 * order, so the bits do not depend on the run. */
/* clang-format would split the brackets of launches. */
/* clang-format off */
#include <limits.h>

#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-rows.cuh"
#include "kernels/norm.h"

#define COLUMNS 32
#define LANES   8
#define WIDE    4096 /* columns of a row that a warp computes; a longer row is computed by a block */

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  long long rows, columns;
  int chunks;
  LongDivisor by_chunks;
  LoomDType from, to; /* of x, of y */
  bool affine;
  int residual; /* the operand number of the residual; 0: none */
  double eps;
} Norm;

/* ---- kernels ---------------------------------------------------------------------------------- */

/* A row has THREADS threads, a warp or the whole block; each takes V neighbouring elements at a time. */

/* x and y [rows,columns], mean and rstd [rows], weight and bias [columns] or NULL. */
template <typename X, typename Y, int THREADS, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    layer_norm_kernel (Y *y, float *mean, float *rstd, const X *x, const float *weight, const float *bias, long long rows,
                       int columns, double eps)
{
  const long long at = row_of<THREADS> ();
  const int lane = first_of<THREADS> ();
  float sum = 0, squares = 0, part[V], w[V], b[V];

  if (at >= rows)
    return;
  const X *row = x + at * columns;
  for (int i = lane * V; i < columns; i += THREADS * V)
    {
      load_pack<V> (part, row + i);
      for (int k = 0; k < V; k++)
        sum += part[k];
    }
  const float centre = block_join<Sum, THREADS> (sum) / columns;
  for (int i = lane * V; i < columns; i += THREADS * V)
    {
      load_pack<V> (part, row + i);
      for (int k = 0; k < V; k++)
        squares += (part[k] - centre) * (part[k] - centre);
    }
  const float scale = (float)(1.0 / sqrt ((double)block_join<Sum, THREADS> (squares) / columns + eps));

  if (lane == 0)
    {
      mean[at] = centre;
      rstd[at] = scale;
    }
  for (int i = lane * V; i < columns; i += THREADS * V)
    {
      load_pack<V> (part, row + i);
      if (weight != NULL)
        {
          load_pack<V> (w, weight + i);
          load_pack<V> (b, bias + i);
        }
      for (int k = 0; k < V; k++)
        part[k] = weight != NULL ? (part[k] - centre) * scale * w[k] + b[k] : (part[k] - centre) * scale;
      store_pack<V> (y + at * columns + i, part);
    }
}

/* g, x, dx and residual, or NULL, are [rows,columns], mean and rstd [rows], weight [columns] or NULL. dx = rstd·(h - Σh/n
 * - x̂·Σ(h·x̂)/n) + residual with h = g·weight (Ba, Kiros and Hinton 2016). */
template <typename T, int THREADS, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    layer_norm_grad_kernel (T *dx, const T *g, const T *x, const float *mean, const float *rstd, const float *weight,
                            const T *residual, long long rows, int columns)
{
  const long long at = row_of<THREADS> ();
  const int lane = first_of<THREADS> ();
  float sum = 0, product = 0, of_g[V], of_x[V], w[V];

  if (at >= rows)
    return;
  const long long base = at * columns;
  const float centre = mean[at], scale = rstd[at];
  for (int i = lane * V; i < columns; i += THREADS * V)
    {
      load_pack<V> (of_g, g + base + i);
      load_pack<V> (of_x, x + base + i);
      if (weight != NULL)
        load_pack<V> (w, weight + i);
      for (int k = 0; k < V; k++)
        {
          const float h = weight != NULL ? of_g[k] * w[k] : of_g[k];

          sum += h;
          product += h * (of_x[k] - centre) * scale;
        }
    }
  sum = block_join<Sum, THREADS> (sum) / columns;
  product = block_join<Sum, THREADS> (product) / columns;
  for (int i = lane * V; i < columns; i += THREADS * V)
    {
      load_pack<V> (of_g, g + base + i);
      load_pack<V> (of_x, x + base + i);
      if (weight != NULL)
        load_pack<V> (w, weight + i);
      for (int k = 0; k < V; k++)
        {
          const float h = weight != NULL ? of_g[k] * w[k] : of_g[k];

          of_g[k] = scale * (h - sum - (of_x[k] - centre) * scale * product);
        }
      if (residual != NULL)
        {
          load_pack<V> (of_x, residual + base + i);
          for (int k = 0; k < V; k++)
            of_g[k] += of_x[k];
        }
      store_pack<V> (dx + base + i, of_g);
    }
}

/* Adds the sums of the LANES threads of V columns; those of lane 0 get the result. */
template <int V>
__device__ static void
join_lanes (double weight[V], double bias[V])
{
  __shared__ double shares[2 * V][LANES][COLUMNS];
  const int place = threadIdx.x % COLUMNS, lane = threadIdx.x / COLUMNS;

  for (int v = 0; v < V; v++)
    {
      shares[2 * v][lane][place] = weight[v];
      shares[2 * v + 1][lane][place] = bias[v];
    }
  __syncthreads ();
  for (int i = 1; i < LANES && lane == 0; i++)
    for (int v = 0; v < V; v++)
      {
        weight[v] += shares[2 * v][i][place];
        bias[v] += shares[2 * v + 1][i][place];
      }
}

/* parts [chunks,2,columns]: Σ g·x̂ and Σ g over a chunk of the rows; g and x [rows,columns], mean and rstd [rows]. One
 * block for COLUMNS·V columns of one chunk; LANES threads divide the rows of each V columns. */
template <typename T, int V>
__global__ static void
__launch_bounds__ (COLUMNS *LANES)
    layer_norm_parts_kernel (double *parts, const T *__restrict__ g, const T *__restrict__ x,
                             const float *__restrict__ mean, const float *__restrict__ rstd, long long rows,
                             int columns, LongDivisor chunks)
{
  const int column = (blockIdx.x * COLUMNS + threadIdx.x % COLUMNS) * V;
  const long long begin = (long long)divide ((unsigned long long)rows * blockIdx.y, chunks);
  const long long end = (long long)divide ((unsigned long long)rows * (blockIdx.y + 1), chunks);
  double weight[V] = { 0 }, bias[V] = { 0 };

#pragma unroll 4
  for (long long r = begin + threadIdx.x / COLUMNS; r < end && column < columns; r += LANES)
    {
      const float centre = mean[r], scale = rstd[r];
      float of_g[V], of_x[V];

      load_pack<V> (of_g, g + r * columns + column);
      load_pack<V> (of_x, x + r * columns + column);
      for (int v = 0; v < V; v++)
        {
          weight[v] += (double)of_g[v] * ((of_x[v] - centre) * scale);
          bias[v] += of_g[v];
        }
    }
  join_lanes<V> (weight, bias);
  if (threadIdx.x >= COLUMNS || column >= columns)
    return;
  for (int v = 0; v < V; v++)
    {
      parts[blockIdx.y * 2LL * columns + column + v] = weight[v];
      parts[(blockIdx.y * 2LL + 1) * columns + column + v] = bias[v];
    }
}

/* dweight and dbias [columns] from parts [chunks,2,columns]; threads as above with V = 1. */
__global__ static void
__launch_bounds__ (COLUMNS *LANES)
    layer_norm_join_kernel (float *dweight, float *dbias, const double *__restrict__ parts, int columns, int chunks)
{
  const int column = blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
  double weight = 0, bias = 0;

#pragma unroll 4
  for (int k = threadIdx.x / COLUMNS; k < chunks && column < columns; k += LANES)
    {
      weight += parts[2LL * k * columns + column];
      bias += parts[(2LL * k + 1) * columns + column];
    }
  join_lanes<1> (&weight, &bias);
  if (threadIdx.x >= COLUMNS || column >= columns)
    return;
  dweight[column] = (float)weight;
  dbias[column] = (float)bias;
}

/* ---- host ---------------------------------------------------------------------------------- */

/* Calls f with the number of threads of a row and of elements that each takes at a time: MOST or four, if it divides
 * the row's length, else 1. */
template <int MOST, typename F>
static void
with_row (const Norm *self, F f)
{
  using Single = std::integral_constant<int, 1>;
  using Most = std::integral_constant<int, MOST>;
  using Warp = std::integral_constant<int, 32>;
  using Block = std::integral_constant<int, CUDA_THREADS>;

  if (self->columns % MOST == 0)
    self->columns <= WIDE ? f (Warp (), Most ()) : f (Block (), Most ());
  else if constexpr (MOST > 4)
    with_row<MOST / 2> (self, f);
  else
    self->columns <= WIDE ? f (Warp (), Single ()) : f (Block (), Single ());
}

/* Columns that a thread sums for the parameters' gradients. */
static int
columns_at_once (const Norm *self)
{
  const int many = self->from == LOOM_F32 ? PACK<float> : PACK<Bf16>;

  return self->columns % many == 0 && self->columns >= COLUMNS * many ? many : 1;
}

template <typename X, typename Y>
static void
launch_layer_norm (const Norm *self, cudaStream_t stream, void *const *buffers)
{
  const int out = self->affine ? 3 : 1;
  const float *weight = self->affine ? (const float *)buffers[1] : NULL, *bias = self->affine ? (const float *)buffers[2] : NULL;

  with_row<(PACK<X> > PACK<Y> ? PACK<X> : PACK<Y>)> (self, [&] (auto threads, auto pack) {
    constexpr int THREADS = decltype (threads)::value;

    layer_norm_kernel<X, Y, THREADS, decltype (pack)::value><<<blocks_for (self->rows, CUDA_THREADS / THREADS), CUDA_THREADS, 0, stream>>> (
        (Y *)buffers[out], (float *)buffers[out + 1], (float *)buffers[out + 2], (const X *)buffers[0], weight, bias,
        self->rows, (int)self->columns, self->eps);
  });
}

static LoomStatus
layer_norm_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->rows == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_float (self->from, [&] (auto x) {
    if (self->to == self->from)
      launch_layer_norm<decltype (x), decltype (x)> (self, handle, buffers);
    else if (self->to == LOOM_BF16)
      launch_layer_norm<decltype (x), Bf16> (self, handle, buffers);
    else
      launch_layer_norm<decltype (x), F16> (self, handle, buffers);
  });
  return cuda_launched ("layer_norm", message);
}

template <typename T, int MANY = PACK<T>>
static void
launch_layer_norm_grad (const Norm *self, cudaStream_t stream, void *const *buffers)
{
  const int out = (self->affine ? 5 : 4) + (self->residual > 0);
  const T *residual = self->residual > 0 ? (const T *)buffers[self->residual] : NULL;
  const T *g = (const T *)buffers[0], *x = (const T *)buffers[1];
  const float *mean = (const float *)buffers[2], *rstd = (const float *)buffers[3];
  const float *weight = self->affine ? (const float *)buffers[4] : NULL;

  if (self->affine)
    {
      double *parts = (double *)buffers[out + 3];

      const dim3 grid (blocks_for (self->columns, COLUMNS * columns_at_once (self)), self->chunks);

      if (columns_at_once (self) == 1)
        layer_norm_parts_kernel<T, 1><<<grid, COLUMNS * LANES, 0, stream>>> (parts, g, x, mean, rstd, self->rows, (int)self->columns,
                                                                             self->by_chunks);
      else
        layer_norm_parts_kernel<T, MANY><<<grid, COLUMNS * LANES, 0, stream>>> (parts, g, x, mean, rstd, self->rows,
                                                                                (int)self->columns, self->by_chunks);
      layer_norm_join_kernel<<<blocks_for (self->columns, COLUMNS), COLUMNS * LANES, 0, stream>>> (
          (float *)buffers[out + 1], (float *)buffers[out + 2], parts, (int)self->columns, self->chunks);
    }
  if (self->rows != 0)
    with_row<MANY> (self, [&] (auto threads, auto pack) {
      constexpr int THREADS = decltype (threads)::value;

      layer_norm_grad_kernel<T, THREADS, decltype (pack)::value><<<blocks_for (self->rows, CUDA_THREADS / THREADS), CUDA_THREADS, 0, stream>>> (
          (T *)buffers[out], g, x, mean, rstd, weight, residual, self->rows, (int)self->columns);
    });
}

static LoomStatus
layer_norm_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->columns == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_float (self->from, [&] (auto x) { launch_layer_norm_grad<decltype (x)> (self, handle, buffers); });
  return cuda_launched ("layer_norm_grad", message);
}

/* Statistics are f32, as are the parameters of an affine call; g, x and dx have one type, and y has x's or, for f32, a
 * 16-bit type. */
static bool
takes_types (const LoomKernelSpec *spec, int image)
{
  const LoomDType from = spec->in[image].dtype, to = spec->out[0].dtype;

  if (from != LOOM_F32 && from != LOOM_BF16 && from != LOOM_F16)
    return false;
  if (to != from && !(image == 0 && from == LOOM_F32 && (to == LOOM_BF16 || to == LOOM_F16)))
    return false;
  return (image == 0 || spec->in[0].dtype == from)
         && all_of_dtype (spec->in + image + 1, spec->n_in - image - 1, LOOM_F32)
         && all_of_dtype (spec->out + 1, spec->n_out - 1, LOOM_F32);
}

/* image: the operand that is normalised; n_in and n_out: the call's numbers of operands and results. */
static LoomStatus
norm_new (LoomDevice *device, const LoomKernelSpec *spec, int image, int n_in, int n_out, const char *name,
          LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), Norm **out,
          LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;
  const LoomTensorDesc *x = &spec->in[image];
  Norm *self;

  if (spec->n_in != n_in || spec->n_out != n_out)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s has %d operands and %d results instead of %d and %d",
                      spec->primitive, spec->n_in, spec->n_out, n_in, n_out);
  if (!takes_types (spec, image) || !cuda_all_plain (spec) || attrs->axes < 1 || attrs->axes > x->rank
      || cuda_extent (x, x->rank - attrs->axes, x->rank) > INT_MAX)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Norm> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->rows = cuda_extent (x, 0, x->rank - attrs->axes);
  self->columns = cuda_extent (x, x->rank - attrs->axes, x->rank);
  self->from = x->dtype;
  self->to = spec->out[0].dtype;
  self->affine = attrs->affine;
  self->eps = attrs->eps;
  self->base.inplace[0] = self->from == self->to ? (1u << (image + 1)) - 1 : 0;
  *out = self;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_layer_norm_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const bool affine = ((const LoomNormAttrs *)spec->attrs)->affine;
  Norm *self = NULL;
  LoomStatus status
      = norm_new (device, spec, 0, affine ? 3 : 1, 3, "own layer_norm", layer_norm_run, &self, message);

  if (status == LOOM_STATUS_OK)
    *kernel = &self->base;
  return status;
}

LoomStatus
cuda_layer_norm_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const bool affine = ((const LoomNormAttrs *)spec->attrs)->affine;
  const int residual = loom_layer_norm_residual (affine, spec->n_in);
  Norm *self = NULL;
  LoomStatus status;
  int64_t chunks, most;

  /* In 16 bits the gradient would have to be rounded before the sum, which element-wise kernels do. */
  if (residual > 0 && spec->in[1].dtype != LOOM_F32)
    return LOOM_STATUS_UNSUPPORTED;
  status = norm_new (device, spec, 1, (affine ? 5 : 4) + (residual > 0), affine ? 3 : 1, "own layer_norm_grad",
                     layer_norm_grad_run, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->residual = residual;
  if (residual > 0)
    self->base.inplace[0] |= 1u << residual;
  /* Enough blocks to fill a large GPU, and no more, because one block adds the chunks of a column. */
  most = self->columns > 0 ? 1024 / blocks_for (self->columns, COLUMNS * columns_at_once (self)) : 1;
  chunks = self->rows / 64;
  if (chunks > most)
    chunks = most;
  if (chunks > 128)
    chunks = 128;
  self->chunks = chunks > 1 ? (int)chunks : 1;
  self->by_chunks = long_divisor_of ((unsigned long long)self->chunks);
  if (self->affine)
    self->base.scratch_bytes = (size_t)self->chunks * 2 * self->columns * sizeof (double);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
