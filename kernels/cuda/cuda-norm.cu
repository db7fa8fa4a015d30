/* Batch and layer normalisation with their gradients.
 *
 * Batch norm gives one block to a channel, layer norm one block to a row. Sums that
 * run over a whole batch are held in f64. The gradients of layer norm's weight and bias
 * are sums down the columns: chunks of the rows first, joined in order by a second
 * kernel, so the bits do not depend on the run. */
#include <math.h>

#include "kernels/cuda/cuda-kernels.cuh"

#define COLUMNS 32
#define LANES   8

/* Element (n, c, s) of a batch lies at n·batch + c·channel + s·space, whichever the layout. */
typedef struct
{
  long long n, channels, space;
  long long batch_stride, channel_stride, space_stride;
} Batch;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  Batch batch;
  long long rows, columns; /* layer norm */
  int chunks;
  bool affine, relu;
  double eps;
} Norm;

/* ---- batch norm ------------------------------------------------------------------------- */

__device__ static long long
batch_place (const Batch &batch, long long i)
{
  return i / batch.space * batch.batch_stride + blockIdx.x * batch.channel_stride
         + i % batch.space * batch.space_stride;
}

/* NaN stays NaN. */
__device__ static float
activated (float y, bool relu)
{
  return relu && y <= 0 ? 0.0f : y;
}

/* x and y are (N, C, space) by batch's strides; mean, var, weight and bias are (C), the last two NULL without an affine
 * part. A block a channel, whose threads share its N·space elements. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) batch_norm_kernel (float *y, float *mean, float *var, const float *x,
                                                    const float *weight, const float *bias, Batch batch, double eps, bool relu)
{
  const long long n = batch.n * batch.space;
  double sum = 0, squares = 0;

  for (long long i = threadIdx.x; i < n; i += CUDA_THREADS)
    sum += x[batch_place (batch, i)];
  const double middle = block_join<Sum, CUDA_THREADS> (sum) / n;
  for (long long i = threadIdx.x; i < n; i += CUDA_THREADS)
    {
      const double d = x[batch_place (batch, i)] - middle;

      squares += d * d;
    }
  const double spread = block_join<Sum, CUDA_THREADS> (squares) / n;
  const float centre = (float)middle, scale = (float)(1.0 / sqrt (spread + eps));
  const float w = weight != NULL ? weight[blockIdx.x] : 1.0f, b = bias != NULL ? bias[blockIdx.x] : 0.0f;

  if (threadIdx.x == 0)
    {
      mean[blockIdx.x] = centre;
      var[blockIdx.x] = (float)spread;
    }
  for (long long i = threadIdx.x; i < n; i += CUDA_THREADS)
    {
      const long long at = batch_place (batch, i);

      y[at] = activated ((x[at] - centre) * scale * w + b, relu);
    }
}

/* The part of g that passes the activation behind the normalisation. */
__device__ static float
gate (float g, float y, bool relu)
{
  return !relu || y > 0 ? g : 0.0f;
}

/* g, x and dx are (N, C, space) by batch's strides; all else is (C), weight and bias NULL without an affine part (bias is
 * read for the activation alone). A block a channel. dx = w·rstd·(g - Σg/n - x̂·Σ(g·x̂)/n), dweight = Σ g·x̂, dbias = Σ g (Ioffe and Szegedy 2015). */
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_grad_kernel (float *dx, float *dweight, float *dbias, const float *g, const float *x, const float *mean,
                            const float *var, const float *weight, const float *bias, Batch batch, double eps, bool relu)
{
  const long long n = batch.n * batch.space;
  const float centre = mean[blockIdx.x], scale = (float)(1.0 / sqrt ((double)var[blockIdx.x] + eps));
  const float w = weight != NULL ? weight[blockIdx.x] : 1.0f, b = bias != NULL ? bias[blockIdx.x] : 0.0f;
  double sum = 0, product = 0;

  for (long long i = threadIdx.x; i < n; i += CUDA_THREADS)
    {
      const long long at = batch_place (batch, i);
      const float normal = (x[at] - centre) * scale, from = gate (g[at], normal * w + b, relu);

      sum += from;
      product += (double)from * normal;
    }
  sum = block_join<Sum, CUDA_THREADS> (sum);
  product = block_join<Sum, CUDA_THREADS> (product);
  if (threadIdx.x == 0 && dweight != NULL)
    {
      dweight[blockIdx.x] = (float)product;
      dbias[blockIdx.x] = (float)sum;
    }
  const float share = (float)(sum / n), product_share = (float)(product / n);
  for (long long i = threadIdx.x; i < n; i += CUDA_THREADS)
    {
      const long long at = batch_place (batch, i);

      const float normal = (x[at] - centre) * scale;

      dx[at] = w * scale * (gate (g[at], normal * w + b, relu) - share - normal * product_share);
    }
}

/* x and y are count elements in either layout: the channel of element i is i / channel_stride mod channels. mean, var,
 * weight and bias are (C), the last two NULL without an affine part. A thread an element. */
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_apply_kernel (float *y, const float *x, const float *mean, const float *var, const float *weight,
                             const float *bias, long long count, long long channel_stride, long long channels, double eps,
                             bool relu)
{
  const long long i = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (i >= count)
    return;
  const long long c = i / channel_stride % channels;
  const float scale = (float)(1.0 / sqrt ((double)var[c] + eps));
  const float w = weight != NULL ? weight[c] : 1.0f, b = bias != NULL ? bias[c] : 0.0f;

  y[i] = activated ((x[i] - mean[c]) * scale * w + b, relu);
}

/* ---- layer norm --------------------------------------------------------------------------- */

/* x and y are (rows, columns), mean and rstd (rows), weight and bias (columns) or NULL. A block a row. */
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    layer_norm_kernel (float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                       long long columns, double eps)
{
  const float *row = x + blockIdx.x * columns;
  float sum = 0, squares = 0;

  for (long long i = threadIdx.x; i < columns; i += CUDA_THREADS)
    sum += row[i];
  const float centre = block_join<Sum, CUDA_THREADS> (sum) / columns;
  for (long long i = threadIdx.x; i < columns; i += CUDA_THREADS)
    squares += (row[i] - centre) * (row[i] - centre);
  const float scale = (float)(1.0 / sqrt ((double)block_join<Sum, CUDA_THREADS> (squares) / columns + eps));

  if (threadIdx.x == 0)
    {
      mean[blockIdx.x] = centre;
      rstd[blockIdx.x] = scale;
    }
  for (long long i = threadIdx.x; i < columns; i += CUDA_THREADS)
    y[blockIdx.x * columns + i]
        = (row[i] - centre) * scale * (weight != NULL ? weight[i] : 1.0f) + (bias != NULL ? bias[i] : 0.0f);
}

/* g, x and dx are (rows, columns), mean and rstd (rows), weight (columns) or NULL. A block a row.
 * dx = rstd·(h - Σh/n - x̂·Σ(h·x̂)/n) with h = g·weight (Ba, Kiros and Hinton 2016). */
__global__ static void
__launch_bounds__ (CUDA_THREADS) layer_norm_grad_kernel (float *dx, const float *g, const float *x, const float *mean,
                                                         const float *rstd, const float *weight, long long columns)
{
  const long long base = blockIdx.x * columns;
  const float centre = mean[blockIdx.x], scale = rstd[blockIdx.x];
  float sum = 0, product = 0;

  for (long long i = threadIdx.x; i < columns; i += CUDA_THREADS)
    {
      const float h = g[base + i] * (weight != NULL ? weight[i] : 1.0f);

      sum += h;
      product += h * (x[base + i] - centre) * scale;
    }
  sum = block_join<Sum, CUDA_THREADS> (sum) / columns;
  product = block_join<Sum, CUDA_THREADS> (product) / columns;
  for (long long i = threadIdx.x; i < columns; i += CUDA_THREADS)
    {
      const float h = g[base + i] * (weight != NULL ? weight[i] : 1.0f);

      dx[base + i] = scale * (h - sum - (x[base + i] - centre) * scale * product);
    }
}

/* parts is (chunks, 2, columns): Σ g·x̂ and Σ g over a chunk of the rows; g and x are (rows, columns), mean and rstd
 * (rows). A block takes COLUMNS columns of one chunk; LANES threads share each column. */
__global__ static void
__launch_bounds__ (COLUMNS *LANES)
    layer_norm_parts_kernel (double *parts, const float *g, const float *x, const float *mean, const float *rstd,
                             long long rows, long long columns, int chunks)
{
  __shared__ double shares[2][LANES][COLUMNS];
  const int place = threadIdx.x % COLUMNS, lane = threadIdx.x / COLUMNS;
  const long long column = (long long)blockIdx.x * COLUMNS + place, end = rows * (blockIdx.y + 1) / chunks;
  double weight = 0, bias = 0;

  for (long long r = rows * blockIdx.y / chunks + lane; r < end && column < columns; r += LANES)
    {
      const double gradient = g[r * columns + column];

      weight += gradient * ((x[r * columns + column] - mean[r]) * rstd[r]);
      bias += gradient;
    }
  shares[0][lane][place] = weight;
  shares[1][lane][place] = bias;
  __syncthreads ();
  if (lane != 0 || column >= columns)
    return;
  for (int i = 1; i < LANES; i++)
    {
      weight += shares[0][i][place];
      bias += shares[1][i][place];
    }
  parts[blockIdx.y * 2 * columns + column] = weight;
  parts[(blockIdx.y * 2 + 1) * columns + column] = bias;
}

/* dweight and dbias (columns) from parts (chunks, 2, columns), in the chunks' order; a thread a column. */
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    layer_norm_join_kernel (float *dweight, float *dbias, const double *parts, long long columns, int chunks)
{
  const long long column = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  double weight = 0, bias = 0;

  if (column >= columns)
    return;
  for (int k = 0; k < chunks; k++)
    {
      weight += parts[2LL * k * columns + column];
      bias += parts[(2LL * k + 1) * columns + column];
    }
  dweight[column] = (float)weight;
  dbias[column] = (float)bias;
}

/* ---- host ---------------------------------------------------------------------------------- */

static LoomStatus
batch_norm_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  const int out = self->affine ? 3 : 1;

  if (self->batch.channels == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  batch_norm_kernel<<<(unsigned int)self->batch.channels, CUDA_THREADS, 0, cuda_stream (self->device, stream)>>> (
      (float *)buffers[out], (float *)buffers[out + 1], (float *)buffers[out + 2], (const float *)buffers[0],
      self->affine ? (const float *)buffers[1] : NULL, self->affine ? (const float *)buffers[2] : NULL, self->batch,
      self->eps, self->relu);
  return cuda_launched ("batch_norm", message);
}

static LoomStatus
batch_norm_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  const int out = self->affine ? (self->relu ? 6 : 5) : 4;

  if (self->batch.channels == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  batch_norm_grad_kernel<<<(unsigned int)self->batch.channels, CUDA_THREADS, 0,
                           cuda_stream (self->device, stream)>>> (
      (float *)buffers[out], self->affine ? (float *)buffers[out + 1] : NULL,
      self->affine ? (float *)buffers[out + 2] : NULL, (const float *)buffers[0], (const float *)buffers[1],
      (const float *)buffers[2], (const float *)buffers[3], self->affine ? (const float *)buffers[4] : NULL,
      self->affine && self->relu ? (const float *)buffers[5] : NULL, self->batch, self->eps, self->relu);
  return cuda_launched ("batch_norm_grad", message);
}

static LoomStatus
batch_norm_apply_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  const int out = self->affine ? 5 : 3;
  const long long count = self->batch.n * self->batch.channels * self->batch.space;

  if (count == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  batch_norm_apply_kernel<<<blocks_for (count, CUDA_THREADS), CUDA_THREADS, 0, cuda_stream (self->device, stream)>>> (
      (float *)buffers[out], (const float *)buffers[0], (const float *)buffers[1], (const float *)buffers[2],
      self->affine ? (const float *)buffers[3] : NULL, self->affine ? (const float *)buffers[4] : NULL, count,
      self->batch.channel_stride, self->batch.channels, self->eps, self->relu);
  return cuda_launched ("batch_norm_apply", message);
}

static LoomStatus
layer_norm_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  const int out = self->affine ? 3 : 1;

  if (self->rows == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  layer_norm_kernel<<<(unsigned int)self->rows, CUDA_THREADS, 0, cuda_stream (self->device, stream)>>> (
      (float *)buffers[out], (float *)buffers[out + 1], (float *)buffers[out + 2], (const float *)buffers[0],
      self->affine ? (const float *)buffers[1] : NULL, self->affine ? (const float *)buffers[2] : NULL, self->columns,
      self->eps);
  return cuda_launched ("layer_norm", message);
}

static LoomStatus
layer_norm_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const int out = self->affine ? 5 : 4;
  const float *g = (const float *)buffers[0], *x = (const float *)buffers[1];
  const float *mean = (const float *)buffers[2], *rstd = (const float *)buffers[3];

  if (self->columns == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->affine)
    {
      double *parts = (double *)buffers[out + 3];

      layer_norm_parts_kernel<<<dim3 (blocks_for (self->columns, COLUMNS), self->chunks), COLUMNS * LANES, 0,
                                handle>>> (parts, g, x, mean, rstd, self->rows, self->columns, self->chunks);
      layer_norm_join_kernel<<<blocks_for (self->columns, CUDA_THREADS), CUDA_THREADS, 0, handle>>> (
          (float *)buffers[out + 1], (float *)buffers[out + 2], parts, self->columns, self->chunks);
    }
  if (self->rows != 0)
    layer_norm_grad_kernel<<<(unsigned int)self->rows, CUDA_THREADS, 0, handle>>> (
        (float *)buffers[out], g, x, mean, rstd, self->affine ? (const float *)buffers[4] : NULL, self->columns);
  return cuda_launched ("layer_norm_grad", message);
}

/* x is the operand that is normalised; n_in and n_out count what an affine call has. */
static LoomStatus
norm_new (LoomDevice *device, const LoomKernelSpec *spec, int n_in, int n_out, const char *name,
          LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), Norm **out,
          LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;
  Norm *self;

  if (!all_of_dtype (spec->in, spec->n_in, LOOM_F32) || !all_of_dtype (spec->out, spec->n_out, LOOM_F32))
    return LOOM_STATUS_UNSUPPORTED;
  if (spec->n_in != n_in || spec->n_out != n_out)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s has %d operands and %d results where %d and %d belong",
                      spec->primitive, spec->n_in, spec->n_out, n_in, n_out);
  self = kernel_struct<Norm> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->affine = attrs->affine;
  self->relu = attrs->act == LOOM_SCALAR_RELU;
  self->eps = attrs->eps;
  *out = self;
  return LOOM_STATUS_OK;
}

/* Every operand of x's shape has x's layout, since one set of strides serves them all. */
static LoomStatus
set_batch (Norm *self, const LoomKernelSpec *spec, const LoomTensorDesc *x, const LoomTensorDesc *other,
           LoomKernel **kernel, LoomMessage *message)
{
  int64_t strides[LOOM_MAX_RANK];

  if (x->rank < 2 || !cuda_same_shape (x, other) || x->layout != other->layout || spec->out[0].layout != x->layout)
    {
      free (self);
      return LOOM_STATUS_UNSUPPORTED;
    }
  cuda_strides (x, strides);
  self->batch.n = x->dim[0];
  self->batch.channels = x->dim[1];
  self->batch.space = cuda_extent (x, 2, x->rank);
  self->batch.batch_stride = strides[0];
  self->batch.channel_stride = strides[1];
  self->batch.space_stride = x->rank > 2 ? strides[x->rank - 1] : 1;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_batch_norm_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;
  Norm *self = NULL;
  LoomStatus status
      = norm_new (device, spec, attrs->affine ? 3 : 1, 3, "own batch_norm", batch_norm_run, &self, message);

  if (status != LOOM_STATUS_OK)
    return status;
  self->base.inplace[0] = 1;
  return set_batch (self, spec, &spec->in[0], &spec->in[0], kernel, message);
}

LoomStatus
cuda_batch_norm_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;
  Norm *self = NULL;
  LoomStatus status = norm_new (device, spec, attrs->affine ? (attrs->act == LOOM_SCALAR_RELU ? 6 : 5) : 4,
                                attrs->affine ? 3 : 1, "own batch_norm_grad", batch_norm_grad_run, &self, message);

  if (status != LOOM_STATUS_OK)
    return status;
  self->base.inplace[0] = 3;
  return set_batch (self, spec, &spec->in[1], &spec->in[0], kernel, message);
}

LoomStatus
cuda_batch_norm_apply_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;
  Norm *self = NULL;
  LoomStatus status
      = norm_new (device, spec, attrs->affine ? 5 : 3, 1, "own batch_norm_apply", batch_norm_apply_run, &self, message);

  if (status != LOOM_STATUS_OK)
    return status;
  self->base.inplace[0] = 1;
  return set_batch (self, spec, &spec->in[0], &spec->in[0], kernel, message);
}

static LoomStatus
set_rows (Norm *self, const LoomKernelSpec *spec, const LoomTensorDesc *x, LoomKernel **kernel)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;

  if (!cuda_all_plain (spec) || attrs->axes < 1 || attrs->axes > x->rank)
    {
      free (self);
      return LOOM_STATUS_UNSUPPORTED;
    }
  self->rows = cuda_extent (x, 0, x->rank - attrs->axes);
  self->columns = cuda_extent (x, x->rank - attrs->axes, x->rank);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_layer_norm_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;
  Norm *self = NULL;
  LoomStatus status
      = norm_new (device, spec, attrs->affine ? 3 : 1, 3, "own layer_norm", layer_norm_run, &self, message);

  if (status != LOOM_STATUS_OK)
    return status;
  self->base.inplace[0] = 1;
  return set_rows (self, spec, &spec->in[0], kernel);
}

LoomStatus
cuda_layer_norm_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;
  Norm *self = NULL;
  LoomStatus status = norm_new (device, spec, attrs->affine ? 5 : 4, attrs->affine ? 3 : 1, "own layer_norm_grad",
                                layer_norm_grad_run, &self, message);
  int64_t chunks;

  if (status != LOOM_STATUS_OK)
    return status;
  self->base.inplace[0] = 3;
  status = set_rows (self, spec, &spec->in[1], kernel);
  if (status != LOOM_STATUS_OK)
    return status;
  chunks = self->rows / 64;
  if (chunks > 64)
    chunks = 64;
  self->chunks = chunks > 1 ? (int)chunks : 1;
  if (self->affine)
    self->base.scratch_bytes = (size_t)self->chunks * 2 * self->columns * sizeof (double);
  return LOOM_STATUS_OK;
}
