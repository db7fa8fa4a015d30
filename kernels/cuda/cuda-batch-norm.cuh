/* Batch normalisation and its gradient on the whole GPU, fused with a ReLU, or with a residual block's sum and its
 * ReLU.
 *
 * The elements of a channel are cut into chunks, each of which a block sums in f64; a second kernel adds the chunks in
 * order, and a third writes the result, one block for each chunk. The cut depends on the shape alone, so the bits do
 * not depend on the run or the GPU. NHWC images are read 16 to 64 channels at a time, plain ones along a channel, four
 * elements at a time if the plane's size is a multiple of 4. 16-bit images are read and written as they are; statistics
 * and parameters stay f32. */
#ifndef LOOM_CUDA_BATCH_NORM_CUH
#define LOOM_CUDA_BATCH_NORM_CUH

#include <math.h>

#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"

#define COLUMNS 16 /* threads next to each other along the channels of NHWC, each with V of these */
#define LANES   (CUDA_THREADS / COLUMNS)

/* Element (n, c, s) of a batch has the index (n·channels + c)·space + s, in NHWC (n·space + s)·channels + c. */
typedef struct
{
  unsigned int channels, space, elements; /* elements: of a channel, N·space */
  int chunks;
  Divisor by_space;
  LongDivisor by_chunks;
} Batch;

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

/* The part of g that passes the activation after the normalisation. */
__device__ static float
gate (float g, float y, bool relu)
{
  return !relu || y > 0 ? g : 0.0f;
}

/* x as memory of type T keeps it. */
template <typename T>
__device__ static float
rounded (float x)
{
  T kept;

  store (&kept, x);
  return load (kept);
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

/* ---- iteration ------------------------------------------------------------------------- */

/* The elements of a block. Plain: channel blockIdx.x, all threads next to each other along it, each with V elements at
 * a time. NHWC: COLUMNS·V channels, LANES threads for each V of them. Both: chunk blockIdx.y. */
template <bool NHWC, int V> struct Walk
{
  static constexpr int CHANNELS = NHWC ? V : 1; /* of a thread; its element v is of channel v % CHANNELS */
  unsigned int channel, at, end, step;
  bool inside;

  __device__
  Walk (const Batch &b)
  {
    const unsigned int many = NHWC ? 1 : V; /* elements of a channel at a time; their count is a multiple */
    const unsigned long long all = b.elements / many;
    const unsigned int begin = (unsigned int)divide (all * blockIdx.y, b.by_chunks);

    end = (unsigned int)divide (all * (blockIdx.y + 1), b.by_chunks) * many;
    channel = NHWC ? (blockIdx.x * COLUMNS + threadIdx.x % COLUMNS) * V : blockIdx.x;
    at = (begin + (NHWC ? threadIdx.x / COLUMNS : threadIdx.x)) * many;
    step = (NHWC ? LANES : CUDA_THREADS) * many;
    inside = channel < b.channels;
  }

  /* The index of element i of the channel, the first of V that are taken together. */
  __device__ size_t
  place (const Batch &b, unsigned int i) const
  {
    if (NHWC)
      return (size_t)i * b.channels + channel;
    const unsigned int n = divide (i, b.by_space);

    return ((size_t)n * b.channels + channel) * b.space + (i - n * b.space);
  }
};

/* Adds the sums of the threads of a channel; all of them get the result. */
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

/* The sums over all chunks of a block's channels; parts is [chunks + 1,channels]. Plain: the block adds the chunks.
 * NHWC: batch_norm_join_kernel() has stored the sums in the last row, since each block would read too many chunks. */
template <bool NHWC, int V>
__device__ static void
take_sums (Pair sums[], const Pair *parts, const Batch &b, const Walk<NHWC, V> &walk)
{
  if (NHWC)
    {
      for (int v = 0; v < walk.CHANNELS && walk.inside; v++)
        sums[v] = parts[(size_t)b.chunks * b.channels + walk.channel + v];
      return;
    }
  sums[0] = { 0, 0 };
  for (int k = threadIdx.x; k < b.chunks; k += CUDA_THREADS)
    sums[0] = Both::join (sums[0], parts[(size_t)k * b.channels + walk.channel]);
  join_channel<NHWC, 1> (sums);
}

/* One thread of each channel. */
template <bool NHWC>
__device__ static bool
is_first (void)
{
  return threadIdx.x < (NHWC ? COLUMNS : 1);
}

/* Stores the sums of a block's chunk in parts [chunks,channels]. */
template <bool NHWC, int V>
__device__ static void
put_part (Pair *parts, const Batch &b, const Walk<NHWC, V> &walk, Pair mine[])
{
  join_channel<NHWC, Walk<NHWC, V>::CHANNELS> (mine);
  if (!walk.inside || !is_first<NHWC> ())
    return;
  for (int v = 0; v < walk.CHANNELS; v++)
    parts[(size_t)blockIdx.y * b.channels + walk.channel + v] = mine[v];
}

/* Adds the chunks of NHWC: the last row of parts [chunks + 1,channels] = Σ of the others. A block takes COLUMNS
 * channels, whose chunks LANES threads divide; each adds its own in order, and their sums are added in order. */
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

/* Mean, scale, weight and bias of V channels. */
template <int V> struct Scales
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
  Scales (const float *mean, const float *var, const float *of_weight, const float *of_bias, unsigned int channel,
          double eps)
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

/* parts [chunks,channels]: Σ x and Σ x² of each chunk of x [N,C,H,W]. In f64 their difference keeps the variance of f32
 * elements whose mean is up to 10⁴ times their deviation. */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS) batch_norm_parts_kernel (Pair *parts, const T *__restrict__ x, Batch b)
{
  const Walk<NHWC, V> walk (b);
  Pair mine[walk.CHANNELS] = {};

  if (walk.inside)
#pragma unroll 4
    for (unsigned int i = walk.at; i < walk.end; i += walk.step)
      {
        float part[V];

        load_pack<V> (part, x + walk.place (b, i));
        for (int v = 0; v < V; v++)
          {
            mine[v % walk.CHANNELS].a += part[v];
            mine[v % walk.CHANNELS].b += (double)part[v] * part[v];
          }
      }
  put_part<NHWC, V> (parts, b, walk, mine);
}

template <bool RESIDUAL, typename T, bool NHWC, int V>
__device__ static void
normalise_part (T *y, const T *x, const T *r, const Batch &b, const Walk<NHWC, V> &walk, const Scales<Walk<NHWC, V>::CHANNELS> &s, bool relu)
{
#pragma unroll 4
  for (unsigned int i = walk.at; i < walk.end; i += walk.step)
    {
      const size_t at = walk.place (b, i);
      float part[V], added[V];

      load_pack<V> (part, x + at);
      if (RESIDUAL)
        load_pack<V> (added, r + at);
      for (int v = 0; v < V; v++)
        {
          const int c = v % walk.CHANNELS;
          float normal = (part[v] - s.centre[c]) * s.scale[c] * s.weight[c] + s.bias[c];

          if (RESIDUAL)
            normal = rounded<T> (normal) + added[v];
          part[v] = activated (normal, relu);
        }
      store_pack<V> (y + at, part);
    }
}

/* r: added before the ReLU, or NULL. y may have the address of x or of r. */
template <typename T, bool NHWC, int V>
__device__ static void
normalise (T *y, const T *x, const T *r, const Batch &b, const Walk<NHWC, V> &walk, const Scales<Walk<NHWC, V>::CHANNELS> &s, bool relu)
{
  if (r != NULL)
    normalise_part<true> (y, x, r, b, walk, s, relu);
  else
    normalise_part<false> (y, x, r, b, walk, s, relu);
}

/* y, x and r [N,C,H,W] in one layout, r NULL without a residual; mean and var [C] from parts [chunks + 1,C]; weight and
 * bias [C], NULL without an affine part. */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_kernel (T *y, float *mean, float *var, const Pair *parts, const T *x, const float *weight,
                       const float *bias, const T *r, Batch b, double eps, bool relu)
{
  const Walk<NHWC, V> walk (b);
  Pair sums[walk.CHANNELS];
  float spread[walk.CHANNELS];

  take_sums<NHWC, V> (sums, parts, b, walk);
  if (!walk.inside)
    return;
  const Scales<walk.CHANNELS> s (sums, b.elements, weight, bias, walk.channel, eps, spread);
  if (blockIdx.y == 0 && is_first<NHWC> ())
    for (int c = 0; c < walk.CHANNELS; c++)
      {
        mean[walk.channel + c] = s.centre[c];
        var[walk.channel + c] = spread[c];
      }
  normalise (y, x, r, b, walk, s, relu);
}

/* parts [chunks,C]: Σ g and Σ g·x̂ of each chunk, for the part of g that passes the activation; g and x [N,C,H,W] in
 * one layout, all else [C]. */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_grad_parts_kernel (Pair *parts, const T *__restrict__ g, const T *__restrict__ x, const float *mean,
                                  const float *var, const float *weight, const float *bias, Batch b, double eps,
                                  bool relu)
{
  const Walk<NHWC, V> walk (b);
  Pair mine[walk.CHANNELS] = {};

  if (walk.inside)
    {
      const Scales<walk.CHANNELS> s (mean, var, weight, bias, walk.channel, eps);

#pragma unroll 4
      for (unsigned int i = walk.at; i < walk.end; i += walk.step)
        {
          const size_t at = walk.place (b, i);
          float of_x[V], of_g[V];

          load_pack<V> (of_x, x + at);
          load_pack<V> (of_g, g + at);
          for (int v = 0; v < V; v++)
            {
              const int c = v % walk.CHANNELS;
              const float normal = (of_x[v] - s.centre[c]) * s.scale[c];
              const float from = gate (of_g[v], normal * s.weight[c] + s.bias[c], relu);

              mine[c].a += from;
              mine[c].b += (double)from * normal;
            }
        }
    }
  put_part<NHWC, V> (parts, b, walk, mine);
}

/* With a residual: dr is the part of g, or of g + h, that passes the ReLU with result y, and parts [chunks,C] are the
 * sums of dr. g, h, y, x and dr [N,C,H,W] in one layout; dr may have the address of g, h or y. mean and var [C]. */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_residual_parts_kernel (Pair *parts, T *dr, const T *g, const T *h, const T *y, const T *__restrict__ x,
                                      const float *mean, const float *var, Batch b, double eps)
{
  const Walk<NHWC, V> walk (b);
  Pair mine[walk.CHANNELS] = {};

  if (walk.inside)
    {
      const Scales<walk.CHANNELS> s (mean, var, NULL, NULL, walk.channel, eps);

#pragma unroll 4
      for (unsigned int i = walk.at; i < walk.end; i += walk.step)
        {
          const size_t at = walk.place (b, i);
          float of_x[V], of_g[V], of_h[V] = {}, of_y[V];

          load_pack<V> (of_x, x + at);
          load_pack<V> (of_g, g + at);
          if (h != NULL)
            load_pack<V> (of_h, h + at);
          load_pack<V> (of_y, y + at);
          for (int v = 0; v < V; v++)
            {
              const int c = v % walk.CHANNELS;
              const float normal = (of_x[v] - s.centre[c]) * s.scale[c];

              of_g[v] = gate (h != NULL ? rounded<T> (of_g[v] + of_h[v]) : of_g[v], of_y[v], true);
              mine[c].a += of_g[v];
              mine[c].b += (double)of_g[v] * normal;
            }
          store_pack<V> (dr + at, of_g);
        }
    }
  put_part<NHWC, V> (parts, b, walk, mine);
}

/* dx = w·rstd·(g - Σg/n - x̂·Σ(g·x̂)/n), dweight = Σ g·x̂, dbias = Σ g (Ioffe and Szegedy 2015); dx, g and x [N,C,H,W]
 * in one layout, parts [chunks + 1,C], all else [C]. */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_grad_kernel (T *dx, float *dweight, float *dbias, const Pair *parts, const T *g, const T *x,
                            const float *mean, const float *var, const float *weight, const float *bias, Batch b,
                            double eps, bool relu)
{
  const Walk<NHWC, V> walk (b);
  Pair sums[walk.CHANNELS];
  float share[walk.CHANNELS], product[walk.CHANNELS];

  take_sums<NHWC, V> (sums, parts, b, walk);
  if (!walk.inside)
    return;
  const Scales<walk.CHANNELS> s (mean, var, weight, bias, walk.channel, eps);
  for (int c = 0; c < walk.CHANNELS; c++)
    {
      if (blockIdx.y == 0 && is_first<NHWC> () && dweight != NULL)
        {
          dweight[walk.channel + c] = (float)sums[c].b;
          dbias[walk.channel + c] = (float)sums[c].a;
        }
      share[c] = (float)(sums[c].a / b.elements);
      product[c] = (float)(sums[c].b / b.elements);
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
          const int c = v % walk.CHANNELS;
          const float normal = (of_x[v] - s.centre[c]) * s.scale[c];
          const float from = gate (of_g[v], normal * s.weight[c] + s.bias[c], relu);

          of_g[v] = s.weight[c] * s.scale[c] * (from - share[c] - normal * product[c]);
        }
      store_pack<V> (dx + at, of_g);
    }
}

/* y [N,C,H,W] from known statistics mean and var [C]; x and r [N,C,H,W] in y's layout. */
template <typename T, bool NHWC, int V>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    batch_norm_apply_kernel (T *y, const T *x, const float *mean, const float *var, const float *weight,
                             const float *bias, const T *r, Batch b, double eps, bool relu)
{
  const Walk<NHWC, V> walk (b);

  if (walk.inside)
    normalise (y, x, r, b, walk, Scales<walk.CHANNELS> (mean, var, weight, bias, walk.channel, eps), relu);
}

#endif
