/* The gradients of a convolution's weights, as one product, and of its bias; images all plain or all NHWC, f32, or
 * 16-bit floats that are summed in f32.
 *
 * dw [filters,taps] = Σ over the positions (n,p,q) of g · the taps of x that the position reads. Blocks compute tiles
 * of dw and gather their operands directly from the images, so the columns of x are never stored. Few weights have long
 * sums: the positions are split among blocks, each writes its part to scratch, and a second kernel adds the parts in
 * order, in f64. So two runs on one model of a card agree to the bit. The gradient of a bias is the sum of g: it is
 * computed as one more tap that reads 1 everywhere, if a tile has space for it. */
#ifndef LOOM_CUDA_CONV_WEIGHT_CUH
#define LOOM_CUDA_CONV_WEIGHT_CUH

#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"

#define DEPTH   8 /* positions in a step of the loop */
#define ONES    INT16_MAX
#define OUTSIDE INT16_MIN

/* One group's product: filters × columns, where columns are channels·r·s taps and perhaps that of ones. Strides are in
 * elements of memory. */
typedef struct
{
  int groups, channels, filters, taps, columns;
  int h, w, r, s, q;
  int stride[2], top, left, dilation[2];
  int places, per_split, area; /* area is p·q */
  Divisor by_area, by_q;
  int at_x[4], at_g[4];
} Gather;

/* The offset of a column's element from a position: in memory, in rows and in columns. */
typedef struct
{
  int distance;
  short down, across;
} Tap;

/* A position's offsets in g and in x, and the row and column of x of its window's first tap, before padding. */
typedef struct
{
  int g, x, row, column;
} Place;

__device__ static Place
locate (const Gather &of, int place)
{
  const int n = (int)divide ((unsigned int)place, of.by_area), rest = place - n * of.area;
  const int p = (int)divide ((unsigned int)rest, of.by_q), q = rest - p * of.q;
  Place at;

  at.row = p * of.stride[0];
  at.column = q * of.stride[1];
  at.g = n * of.at_g[0] + p * of.at_g[2] + q * of.at_g[3];
  at.x = n * of.at_x[0] + at.row * of.at_x[2] + at.column * of.at_x[3];
  return at;
}

/* Columns are in the order of x's memory: (c,r,s) if images are plain, (r,s,c) in NHWC. */
template <bool NHWC>
__device__ static Tap
tap_of (const Gather &of, int column)
{
  const int c = NHWC ? column % of.channels : column / (of.r * of.s);
  const int within = NHWC ? column / of.channels : column % (of.r * of.s);
  const int down = within / of.s * of.dilation[0] - of.top, across = within % of.s * of.dilation[1] - of.left;
  Tap tap;

  tap.distance = c * of.at_x[1] + down * of.at_x[2] + across * of.at_x[3];
  tap.down = (short)down;
  tap.across = (short)across;
  if (column >= of.taps)
    tap.down = column == of.taps && of.columns > of.taps ? ONES : OUTSIDE;
  return tap;
}

template <typename S>
__device__ static float
value_of (const Gather &of, const S *x, const Place &at, const Tap &tap)
{
  const int row = at.row + tap.down, column = at.column + tap.across;

  if (row >= 0 && row < of.h && column >= 0 && column < of.w)
    return load (x[at.x + tap.distance]);
  return tap.down == ONES ? 1 : 0;
}

/* part [split,group,filters,columns], g [n,k,p,q], x [n,c,h,w]; one block for a tile of ROWS filters × COLUMNS columns
 * over the positions of its split, one thread for HIGH × WIDE of its sums, in pieces of 4 × 4. */
template <typename S, int ROWS, int COLUMNS, int HIGH, int WIDE, bool NHWC>
__global__ void __launch_bounds__ ((ROWS / HIGH) * (COLUMNS / WIDE), (ROWS / HIGH) * (COLUMNS / WIDE) == 256 ? 2 : 1)
    weight_kernel (float *part, const S *__restrict__ g, const S *__restrict__ x, Gather of)
{
  const int THREADS = (ROWS / HIGH) * (COLUMNS / WIDE), ACROSS = COLUMNS / WIDE;
  const int OF_G = ROWS * DEPTH / THREADS, OF_X = COLUMNS * DEPTH / THREADS;
  __shared__ float4 of_g[2][DEPTH][ROWS / 4 + 1];
  __shared__ float4 of_x[2][DEPTH][COLUMNS / 4 + 1];
  __shared__ Tap taps[COLUMNS];
  const int tid = threadIdx.x, row_tiles = (of.filters + ROWS - 1) / ROWS;
  const int row0 = (int)blockIdx.x % row_tiles * ROWS, column0 = (int)blockIdx.x / row_tiles * COLUMNS;
  const int group = blockIdx.z, first = (int)blockIdx.y * of.per_split;
  const int last = first + of.per_split < of.places ? first + of.per_split : of.places;
  const int down = tid / ACROSS * 4, across = tid % ACROSS * 4;
  float next_g[OF_G], next_x[OF_X], sum[HIGH][WIDE];
  int now = 0;

  g += (long long)group * of.filters * of.at_g[1];
  x += (long long)group * of.channels * of.at_x[1];
  for (int i = tid; i < COLUMNS; i += THREADS)
    taps[i] = tap_of<NHWC> (of, column0 + i);
  for (int i = 0; i < HIGH; i++)
    for (int j = 0; j < WIDE; j++)
      sum[i][j] = 0;
  __syncthreads ();

  /* Neighbouring threads read neighbours in memory: positions if images are plain, channels in NHWC. */
  auto fetch = [&] (int from) {
    Place at = { 0, 0, 0, 0 };
    bool inside = from + tid % DEPTH < last;

    if (!NHWC && inside)
      at = locate (of, from + tid % DEPTH);
    for (int i = 0; i < OF_G; i++)
      {
        const int row = row0 + (NHWC ? tid % ROWS : tid / DEPTH + i * (THREADS / DEPTH));

        if (NHWC)
          {
            const int place = from + tid / ROWS + i * (THREADS / ROWS);

            inside = place < last;
            if (inside)
              at = locate (of, place);
          }
        next_g[i] = inside && row < of.filters ? load (g[at.g + row * of.at_g[1]]) : 0;
      }
    for (int i = 0; i < OF_X; i++)
      {
        if (NHWC)
          {
            const int place = from + tid / COLUMNS + i * (THREADS / COLUMNS);

            inside = place < last;
            if (inside)
              at = locate (of, place);
          }
        next_x[i] = inside ? value_of (of, x, at, taps[NHWC ? tid % COLUMNS : tid / DEPTH + i * (THREADS / DEPTH)]) : 0;
      }
  };
  auto keep = [&] (int buffer) {
    for (int i = 0; i < OF_G; i++)
      ((float *)of_g[buffer][NHWC ? tid / ROWS + i * (THREADS / ROWS)
                                  : tid % DEPTH])[NHWC ? tid % ROWS : tid / DEPTH + i * (THREADS / DEPTH)]
          = next_g[i];
    for (int i = 0; i < OF_X; i++)
      ((float *)of_x[buffer][NHWC ? tid / COLUMNS + i * (THREADS / COLUMNS)
                                  : tid % DEPTH])[NHWC ? tid % COLUMNS : tid / DEPTH + i * (THREADS / DEPTH)]
          = next_x[i];
  };

  auto multiply = [&] (int d) {
    float a[HIGH], b[WIDE];

    for (int i = 0; i < HIGH; i += 4)
      {
        const float4 four = of_g[now][d][(i * (ROWS / HIGH) + down) / 4];

        a[i] = four.x;
        a[i + 1] = four.y;
        a[i + 2] = four.z;
        a[i + 3] = four.w;
      }
    for (int j = 0; j < WIDE; j += 4)
      {
        const float4 four = of_x[now][d][(j * (COLUMNS / WIDE) + across) / 4];

        b[j] = four.x;
        b[j + 1] = four.y;
        b[j + 2] = four.z;
        b[j + 3] = four.w;
      }
    for (int i = 0; i < HIGH; i++)
      for (int j = 0; j < WIDE; j++)
        sum[i][j] += a[i] * b[j];
  };

  fetch (first);
  keep (0);
  __syncthreads ();
  for (int from = first; from < last; from += DEPTH)
    {
      const bool more = from + DEPTH < last;

      if (more)
        fetch (from + DEPTH);
      /* Four without a branch between them: sums of one hide the loads of the next. */
      for (int d = 0; d < DEPTH; d += 4)
        {
          multiply (d);
          multiply (d + 1);
          multiply (d + 2);
          multiply (d + 3);
        }
      /* All readers of the other buffer passed the last barrier. */
      if (more)
        {
          now ^= 1;
          keep (now);
          __syncthreads ();
        }
    }

  part += ((long long)blockIdx.y * of.groups + group) * of.filters * of.columns;
  for (int i = 0; i < HIGH; i++)
    for (int j = 0; j < WIDE; j++)
      {
        const int row = row0 + i / 4 * 4 * (ROWS / HIGH) + down + i % 4;
        const int column = column0 + j / 4 * 4 * (COLUMNS / WIDE) + across + j % 4;

        if (row < of.filters && column < of.columns)
          part[(long long)row * of.columns + column] = sum[i][j];
      }
}

/* dw [k,channels,r,s] and db [k], or NULL, from part [splits,count]; one block for COLUMNS sums, one thread for every
 * ROWS-th part of a sum. */
template <typename D, int ROWS, int COLUMNS, bool NHWC>
__global__ void
__launch_bounds__ (ROWS *COLUMNS) join_parts_kernel (D *dw, D *db, const float *part, int splits, Gather of)
{
  __shared__ double shares[ROWS][COLUMNS];
  const int count = of.groups * of.filters * of.columns;
  const int own = threadIdx.x % COLUMNS, i = (int)blockIdx.x * COLUMNS + own;
  double sum = 0;

  if (i < count)
    {
      const float *at = part + i;
      int split = threadIdx.x / COLUMNS;

      /* Eight loads in flight at a time. */
      for (; split + 7 * ROWS < splits; split += 8 * ROWS)
        {
          float values[8];

          for (int j = 0; j < 8; j++)
            values[j] = at[(long long)(split + j * ROWS) * count];
          for (int j = 0; j < 8; j++)
            sum += values[j];
        }
      for (; split < splits; split += ROWS)
        sum += at[(long long)split * count];
    }
  if (ROWS > 1)
    {
      shares[threadIdx.x / COLUMNS][own] = sum;
      __syncthreads ();
      if (threadIdx.x >= COLUMNS)
        return;
      for (int row = 1; row < ROWS; row++)
        sum += shares[row][own];
    }
  if (i >= count)
    return;
  const int k = i / of.columns, column = i % of.columns, window = of.r * of.s;
  if (column == of.taps)
    store (&db[k], (float)sum);
  else if (NHWC)
    store (&dw[((long long)k * of.channels + column % of.channels) * window + column / of.channels], (float)sum);
  else
    store (&dw[(long long)k * of.taps + column], (float)sum);
}

/* part [split,filters], g [n,k,p,q]; over the positions of its split, one block for 32 channels in NHWC, one warp for
 * one channel of plain images. */
template <typename S, bool NHWC>
__global__ void
__launch_bounds__ (CUDA_THREADS) bias_kernel (float *part, const S *__restrict__ g, Gather of)
{
  __shared__ double shares[CUDA_THREADS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = CUDA_THREADS / 32;
  const int k = NHWC ? (int)blockIdx.x * 32 + lane : (int)blockIdx.x * warps + warp;
  const int first = (int)blockIdx.y * of.per_split;
  const int last = first + of.per_split < of.places ? first + of.per_split : of.places;
  double sum = 0;

  if (k < of.filters)
    for (int place = first + (NHWC ? warp : lane); place < last; place += NHWC ? warps : 32)
      {
        const int n = (int)divide ((unsigned int)place, of.by_area);

        sum += load (g[(long long)n * of.at_g[0] + (place - n * of.area) * of.at_g[3] + k * of.at_g[1]]);
      }
  if (NHWC)
    {
      shares[threadIdx.x] = sum;
      __syncthreads ();
      for (int i = 1; i < warps && warp == 0; i++)
        sum += shares[i * 32 + lane];
    }
  else
    sum = shuffle_join<Sum, 16, 1> (sum);
  if (k < of.filters && (NHWC ? warp : lane) == 0)
    part[(long long)blockIdx.y * of.filters + k] = (float)sum;
}

#endif
