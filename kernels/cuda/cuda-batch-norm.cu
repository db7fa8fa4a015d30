/* Batch normalisation and its gradient, spread over the whole GPU.
 *
 * The elements of a channel are cut into chunks, each of which a block sums in f64; a second kernel joins the chunks in
 * their order, and a third writes, a chunk a block. The cut depends on the shape alone, so the bits do not depend on the run or the
 * GPU. Images in NHWC are walked 16 to 64 channels at a time, plain ones along a channel; 16-bit images are read and written as
 * they are, statistics and parameters stay f32. */
#include <limits.h>
#include <math.h>

#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"

#define COLUMNS 16 /* threads side by side along the channels of NHWC, each with V of these */
#define LANES   (CUDA_THREADS / COLUMNS)

/* Element (n, c, s) of a batch lies at (n·channels + c)·space + s, in NHWC at (n·space + s)·channels + c. */
typedef struct
{
  unsigned int channels, space, elements; /* of a channel: N·space */
  int chunks;
  Divisor by_space;
} Batch;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  Batch batch;
  LoomDType dtype; /* of the images */
  bool nhwc, affine, relu;
  double eps;
} Norm;

/* Two sums over a chunk of a channel. */
typedef struct
{
  double a, b;
} Pair;

struct Both
{
  __device__ static Pair
  join (Pair x, Pair y)
  {
    return { x.a + y.a, x.b + y.b };
  }
};

/* NaN stays NaN. */
__device__ static float
activated (float y, bool relu)
{
  return relu && y <= 0 ? 0.0f : y;
}

/* The part of g that passes the activation behind the normalisation. */
__device__ static float
gate (float g, float y, bool relu)
{
  return !relu || y > 0 ? g : 0.0f;
}

__device__ static float
or_one (const float *weight, unsigned int c)
{
  return weight != NULL ? weight[c] : 1.0f;
}

__device__ static float
or_zero (const float *bias, unsigned int c)
{
  return bias != NULL ? bias[c] : 0.0f;
}

/* ---- who walks where -------------------------------------------------------------------- */

/* A block's share. Plain: channel blockIdx.x, all threads side by side along it, V is 1. NHWC: COLUMNS·V channels, LANES
 * threads for each V of them. Chunk blockIdx.y of both. */
template <bool NHWC, int V>
struct Walk
{
  unsigned int channel, at, end, step;
  bool inside;

  __device__
  Walk (const Batch &b)
  {
    const unsigned int begin = (unsigned int)((unsigned long long)b.elements * blockIdx.y / b.chunks);

    end = (unsigned int)((unsigned long long)b.elements * (blockIdx.y + 1) / b.chunks);
    channel = NHWC ? (blockIdx.x * COLUMNS + threadIdx.x % COLUMNS) * V : blockIdx.x;
    at = begin + (NHWC ? threadIdx.x / COLUMNS : threadIdx.x);
    step = NHWC ? LANES : CUDA_THREADS;
    inside = channel < b.channels;
  }

  /* Where element i of the channel lies, and behind it those of the next V - 1. */
  __device__ size_t
  place (const Batch &b, unsigned int i) const
  {
    if (NHWC)
      return (size_t)i * b.channels + channel;
    const unsigned int n = divide (i, b.by_space);

    return ((size_t)n * b.channels + channel) * b.space + (i - n * b.space);
  }
};

/* Joins what the threads of a channel have; all of them get it. */
template <bool NHWC, int V>
__device__ static void
join_channel (Pair mine[V])
{
  if (!NHWC)
    {
      mine[0] = { block_join<Sum, CUDA_THREADS> (mine[0].a), block_join<Sum, CUDA_THREADS> (mine[0].b) };
      return;
    }
  __shared__ double shares[2 * V][LANES][COLUMNS];
  const int column = threadIdx.x % COLUMNS, lane = threadIdx.x / COLUMNS;

  __syncthreads ();
  for (int v = 0; v < V; v++)
    {
      shares[2 * v][lane][column] = mine[v].a;
      shares[2 * v + 1][lane][column] = mine[v].b;
    }
  __syncthreads ();
  for (int v = 0; v < V; v++)
    {
      mine[v] = { shares[2 * v][0][column], shares[2 * v + 1][0][column] };
      for (int i = 1; i < LANES; i++)
        mine[v] = Both::join (mine[v], { shares[2 * v][i][column], shares[2 * v + 1][i][column] });
    }
}

/* The sums of all chunks of a block's channels; parts is (chunks + 1, channels). Plain: the block joins them. NHWC: they
 * stand behind the chunks, which are too many there for each block to read. */
template <bool NHWC, int V>
__device__ static void
take_sums (Pair sums[V], const Pair *parts, const Batch &b, const Walk<NHWC, V> &walk)
{
  if (NHWC)
    {
      for (int v = 0; v < V && walk.inside; v++)
        sums[v] = parts[(size_t)b.chunks * b.channels + walk.channel + v];
      return;
    }
  sums[0] = { 0, 0 };
  for (int k = threadIdx.x; k < b.chunks; k += CUDA_THREADS)
    sums[0] = Both::join (sums[0], parts[(size_t)k * b.channels + walk.channel]);
  join_channel<NHWC, V> (sums);
}

/* One thread of each channel. */
template <bool NHWC>
__device__ static bool
is_first (void)
{
  return threadIdx.x < (NHWC ? COLUMNS : 1);
}

template <bool NHWC, int V>
__device__ static void
put_part (Pair *parts, const Batch &b, const Walk<NHWC, V> &walk, Pair mine[V])
{
  join_channel<NHWC, V> (mine);
  if (!walk.inside || !is_first<NHWC> ())
    return;
  for (int v = 0; v < V; v++)
    parts[(size_t)blockIdx.y * b.channels + walk.channel + v] = mine[v];
}

/* Joins the chunks for NHWC. A block takes COLUMNS channels, whose chunks LANES threads share; each adds its own in order, and what
 * they have is joined in order. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) batch_norm_join_kernel (Pair *parts, Batch b)
{
  const unsigned int channel = blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
  Pair mine[1] = {};

#pragma unroll 4
  for (int k = threadIdx.x / COLUMNS; k < b.chunks && channel < b.channels; k += LANES)
    mine[0] = Both::join (mine[0], parts[(size_t)k * b.channels + channel]);
  join_channel<true, 1> (mine);
  if (channel < b.channels && threadIdx.x < COLUMNS)
    parts[(size_t)b.chunks * b.channels + channel] = mine[0];
}

/* What normalises V channels. */
template <int V>
struct Scales
{
  float centre[V], scale[V], weight[V], bias[V];

  __device__ void
  take_parameters (const float *of_weight, const float *of_bias, unsigned int channel)
  {
    for (int v = 0; v < V; v++)
      {
        weight[v] = or_one (of_weight, channel + v);
        bias[v] = or_zero (of_bias, channel + v);
      }
  }

  __device__
  Scales (const Pair sums[V], unsigned int elements, const float *of_weight, const float *of_bias, unsigned int channel,
          double eps, float spread[V])
  {
    for (int v = 0; v < V; v++)
      {
        const double middle = sums[v].a / elements, square = sums[v].b / elements - middle * middle;
        const double s = square < 0 ? 0 : square;

        centre[v] = (float)middle;
        scale[v] = (float)(1.0 / sqrt (s + eps));
        spread[v] = (float)s;
      }
    take_parameters (of_weight, of_bias, channel);
  }

  __device__
  Scales (const float *mean, const float *var, const float *of_weight, const float *of_bias, unsigned int channel, double eps)
  {
    for (int v = 0; v < V; v++)
      {
        centre[v] = mean[channel + v];
        scale[v] = (float)(1.0 / sqrt ((double)var[channel + v] + eps));
      }
    take_parameters (of_weight, of_bias, channel);
  }
};

/* ---- kernels ---------------------------------------------------------------------------- */

/* parts: Σ x and Σ x² of each chunk. In f64 their difference keeps the variance of f32 elements whose mean is up to 10⁴
 * times their deviation. */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS) batch_norm_parts_kernel (Pair *parts, const T *__restrict__ x, Batch b)
{
  const Walk<NHWC, V> walk (b);
  Pair mine[V] = {};

  if (walk.inside)
#pragma unroll 4
    for (unsigned int i = walk.at; i < walk.end; i += walk.step)
      {
        float part[V];

        load_pack<V> (part, x + walk.place (b, i));
        for (int v = 0; v < V; v++)
          {
            mine[v].a += part[v];
            mine[v].b += (double)part[v] * part[v];
          }
      }
  put_part<NHWC, V> (parts, b, walk, mine);
}

template <typename T, bool NHWC, int V>
__device__ static void
normalise (T *y, const T *x, const Batch &b, const Walk<NHWC, V> &walk, const Scales<V> &s, bool relu)
{
#pragma unroll 4
  for (unsigned int i = walk.at; i < walk.end; i += walk.step)
    {
      const size_t at = walk.place (b, i);
      float part[V];

      load_pack<V> (part, x + at);
      for (int v = 0; v < V; v++)
        part[v] = activated ((part[v] - s.centre[v]) * s.scale[v] * s.weight[v] + s.bias[v], relu);
      store_pack<V> (y + at, part);
    }
}

/* y as x; mean and var (C) from parts; weight and bias (C), NULL without an affine part. */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_kernel (T *y, float *mean, float *var, const Pair *parts, const T *x, const float *weight,
                       const float *bias, Batch b, double eps, bool relu)
{
  const Walk<NHWC, V> walk (b);
  Pair sums[V];
  float spread[V];

  take_sums<NHWC, V> (sums, parts, b, walk);
  if (!walk.inside)
    return;
  const Scales<V> s (sums, b.elements, weight, bias, walk.channel, eps, spread);
  if (blockIdx.y == 0 && is_first<NHWC> ())
    for (int v = 0; v < V; v++)
      {
        mean[walk.channel + v] = s.centre[v];
        var[walk.channel + v] = spread[v];
      }
  normalise<T, NHWC, V> (y, x, b, walk, s, relu);
}

/* parts: Σ g and Σ g·x̂ of each chunk, of the g that passes the activation. */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_grad_parts_kernel (Pair *parts, const T *__restrict__ g, const T *__restrict__ x, const float *mean,
                                  const float *var, const float *weight, const float *bias, Batch b, double eps, bool relu)
{
  const Walk<NHWC, V> walk (b);
  Pair mine[V] = {};

  if (walk.inside)
    {
      const Scales<V> s (mean, var, weight, bias, walk.channel, eps);

#pragma unroll 4
      for (unsigned int i = walk.at; i < walk.end; i += walk.step)
        {
          const size_t at = walk.place (b, i);
          float of_x[V], of_g[V];

          load_pack<V> (of_x, x + at);
          load_pack<V> (of_g, g + at);
          for (int v = 0; v < V; v++)
            {
              const float normal = (of_x[v] - s.centre[v]) * s.scale[v];
              const float from = gate (of_g[v], normal * s.weight[v] + s.bias[v], relu);

              mine[v].a += from;
              mine[v].b += (double)from * normal;
            }
        }
    }
  put_part<NHWC, V> (parts, b, walk, mine);
}

/* dx = w·rstd·(g - Σg/n - x̂·Σ(g·x̂)/n), dweight = Σ g·x̂, dbias = Σ g (Ioffe and Szegedy 2015); dx, g and x lie alike, all else
 * is (C). */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_grad_kernel (T *dx, float *dweight, float *dbias, const Pair *parts, const T *g, const T *x, const float *mean,
                            const float *var, const float *weight, const float *bias, Batch b, double eps, bool relu)
{
  const Walk<NHWC, V> walk (b);
  Pair sums[V];
  float share[V], product[V];

  take_sums<NHWC, V> (sums, parts, b, walk);
  if (!walk.inside)
    return;
  const Scales<V> s (mean, var, weight, bias, walk.channel, eps);
  for (int v = 0; v < V; v++)
    {
      if (blockIdx.y == 0 && is_first<NHWC> () && dweight != NULL)
        {
          dweight[walk.channel + v] = (float)sums[v].b;
          dbias[walk.channel + v] = (float)sums[v].a;
        }
      share[v] = (float)(sums[v].a / b.elements);
      product[v] = (float)(sums[v].b / b.elements);
    }
#pragma unroll 4
  for (unsigned int i = walk.at; i < walk.end; i += walk.step)
    {
      const size_t at = walk.place (b, i);
      float of_x[V], of_g[V];

      load_pack<V> (of_x, x + at);
      load_pack<V> (of_g, g + at);
      for (int v = 0; v < V; v++)
        {
          const float normal = (of_x[v] - s.centre[v]) * s.scale[v];
          const float from = gate (of_g[v], normal * s.weight[v] + s.bias[v], relu);

          of_g[v] = s.weight[v] * s.scale[v] * (from - share[v] - normal * product[v]);
        }
      store_pack<V> (dx + at, of_g);
    }
}

/* y from statistics that are known. */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_apply_kernel (T *y, const T *x, const float *mean, const float *var, const float *weight, const float *bias,
                             Batch b, double eps, bool relu)
{
  const Walk<NHWC, V> walk (b);

  if (walk.inside)
    normalise<T, NHWC, V> (y, x, b, walk, Scales<V> (mean, var, weight, bias, walk.channel, eps), relu);
}

/* ---- host ------------------------------------------------------------------------------- */

/* Of NHWC, by each thread. */
static int
channels_at_once (const Norm *self)
{
  return !self->nhwc || self->batch.channels % 32 != 0 ? 1 : self->batch.channels % 64 != 0 ? 2 : 4;
}

static dim3
grid_of (const Norm *self)
{
  const Batch &b = self->batch;

  return dim3 (self->nhwc ? blocks_for (b.channels, COLUMNS * channels_at_once (self)) : b.channels, b.chunks);
}

template <bool NHWC, int V>
struct Shape
{
  static constexpr bool nhwc = NHWC;
  static constexpr int at_once = V;
};

/* Calls f with an image's element and how it is walked. */
template <typename F>
static void
with_image (const Norm *self, F f)
{
  with_float (self->dtype, [&] (auto element) {
    if (!self->nhwc)
      f (element, Shape<false, 1> ());
    else if (channels_at_once (self) == 1)
      f (element, Shape<true, 1> ());
    else if (channels_at_once (self) == 2)
      f (element, Shape<true, 2> ());
    else
      f (element, Shape<true, 4> ());
  });
}

static void
join (const Norm *self, Pair *parts, cudaStream_t stream)
{
  if (self->nhwc)
    batch_norm_join_kernel<<<blocks_for (self->batch.channels, COLUMNS), CUDA_THREADS, 0, stream>>> (parts, self->batch);
}

static LoomStatus
batch_norm_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const int out = self->affine ? 3 : 1;
  const float *weight = self->affine ? (const float *)buffers[1] : NULL;
  const float *bias = self->affine ? (const float *)buffers[2] : NULL;
  Pair *parts = (Pair *)buffers[out + 3];

  if (self->batch.channels == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_image (self, [&] (auto element, auto shape) {
    using T = decltype (element);

    batch_norm_parts_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (parts, (const T *)buffers[0],
                                                                                      self->batch);
    join (self, parts, handle);
    batch_norm_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (
        (T *)buffers[out], (float *)buffers[out + 1], (float *)buffers[out + 2], parts, (const T *)buffers[0], weight, bias,
        self->batch, self->eps, self->relu);
  });
  return cuda_launched ("batch_norm", message);
}

static LoomStatus
batch_norm_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const int out = self->affine ? (self->relu ? 6 : 5) : 4;
  const float *mean = (const float *)buffers[2], *var = (const float *)buffers[3];
  const float *weight = self->affine ? (const float *)buffers[4] : NULL;
  const float *bias = self->affine && self->relu ? (const float *)buffers[5] : NULL;
  float *dweight = self->affine ? (float *)buffers[out + 1] : NULL, *dbias = self->affine ? (float *)buffers[out + 2] : NULL;
  Pair *parts = (Pair *)buffers[out + (self->affine ? 3 : 1)];

  if (self->batch.channels == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_image (self, [&] (auto element, auto shape) {
    using T = decltype (element);
    const T *g = (const T *)buffers[0], *x = (const T *)buffers[1];

    batch_norm_grad_parts_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (
        parts, g, x, mean, var, weight, bias, self->batch, self->eps, self->relu);
    join (self, parts, handle);
    batch_norm_grad_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (
        (T *)buffers[out], dweight, dbias, parts, g, x, mean, var, weight, bias, self->batch, self->eps, self->relu);
  });
  return cuda_launched ("batch_norm_grad", message);
}

static LoomStatus
batch_norm_apply_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const int out = self->affine ? 5 : 3;
  const float *weight = self->affine ? (const float *)buffers[3] : NULL;
  const float *bias = self->affine ? (const float *)buffers[4] : NULL;

  if (self->batch.channels == 0 || self->batch.elements == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_image (self, [&] (auto element, auto shape) {
    using T = decltype (element);

    batch_norm_apply_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (
        (T *)buffers[out], (const T *)buffers[0], (const float *)buffers[1], (const float *)buffers[2], weight, bias,
        self->batch, self->eps, self->relu);
  });
  return cuda_launched ("batch_norm_apply", message);
}

/* About eight blocks for each processor of a large GPU, in NHWC four, a constant so that every GPU gives the same bits; a
 * chunk has 2,048 elements or, in NHWC, 64 rows. */
static int
chunks_of (const Norm *self)
{
  const Batch &b = self->batch;
  const long long blocks = self->nhwc ? blocks_for (b.channels, COLUMNS * channels_at_once (self)) : b.channels;
  const long long most = self->nhwc ? 512 : 1024;
  long long chunks = blocks > 0 && blocks < most ? most / blocks : 1;

  if (chunks > b.elements / (self->nhwc ? 64 : 2048))
    chunks = b.elements / (self->nhwc ? 64 : 2048);
  return chunks > 1 ? (int)chunks : 1;
}

/* Images (x, and what has its shape) are of one type and in one layout, all else is f32. */
static bool
takes (const LoomKernelSpec *spec, const LoomTensorDesc *x)
{
  const int n = spec->n_in + spec->n_out;

  if (x->rank < 2 || (x->dtype != LOOM_F32 && x->dtype != LOOM_BF16 && x->dtype != LOOM_F16))
    return false;
  for (int i = 0; i < n; i++)
    {
      const LoomTensorDesc *d = i < spec->n_in ? &spec->in[i] : &spec->out[i - spec->n_in];

      if (d->rank == 1 ? d->dtype != LOOM_F32 : d->dtype != x->dtype || d->layout != x->layout || !cuda_same_shape (x, d))
        return false;
    }
  return true;
}

/* x: operand number `image`; n_in and n_out: what the call has. */
static LoomStatus
norm_new (LoomDevice *device, const LoomKernelSpec *spec, int image, int n_in, int n_out, const char *name,
          LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), LoomKernel **kernel,
          LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;
  const LoomTensorDesc *x = &spec->in[image];
  Norm *self;

  if (spec->n_in != n_in || spec->n_out != n_out)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s has %d operands and %d results where %d and %d belong",
                      spec->primitive, spec->n_in, spec->n_out, n_in, n_out);
  if (!takes (spec, x) || loom_desc_count (x) / (x->dim[1] > 0 ? x->dim[1] : 1) > INT_MAX)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Norm> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->dtype = x->dtype;
  self->nhwc = x->layout == LOOM_LAYOUT_NHWC && x->rank == 4;
  self->affine = attrs->affine;
  self->relu = attrs->act == LOOM_SCALAR_RELU;
  self->eps = attrs->eps;
  self->batch.channels = (unsigned int)x->dim[1];
  self->batch.space = (unsigned int)cuda_extent (x, 2, x->rank);
  self->batch.elements = (unsigned int)(x->dim[0] * self->batch.space);
  self->batch.by_space = divisor_of (self->batch.space);
  self->batch.chunks = chunks_of (self);
  self->base.scratch_bytes = n_out == 1 && strcmp (spec->primitive, "batch_norm_apply") == 0
                                 ? 0
                                 : (size_t)(self->batch.chunks + 1) * self->batch.channels * sizeof (Pair);
  self->base.inplace[0] = (1u << (image + 1)) - 1;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_batch_norm_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const bool affine = ((const LoomNormAttrs *)spec->attrs)->affine;

  return norm_new (device, spec, 0, affine ? 3 : 1, 3, "own batch_norm", batch_norm_run, kernel, message);
}

LoomStatus
cuda_batch_norm_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;

  return norm_new (device, spec, 1, attrs->affine ? (attrs->act == LOOM_SCALAR_RELU ? 6 : 5) : 4, attrs->affine ? 3 : 1,
                   "own batch_norm_grad", batch_norm_grad_run, kernel, message);
}

LoomStatus
cuda_batch_norm_apply_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const bool affine = ((const LoomNormAttrs *)spec->attrs)->affine;

  return norm_new (device, spec, 0, affine ? 5 : 3, 1, "own batch_norm_apply", batch_norm_apply_run, kernel, message);
}
