/* The gradient of a convolution's weights as one product, f32, images all plain or all NHWC.
 *
 * dw (filters × taps) = Σ over the places (n,p,q) of g · the taps of x that the place reads. Blocks compute tiles of dw
 * and gather their operands straight from the images, so the columns of x are never written anywhere. Few weights have
 * long sums: the places are split among blocks, each writes its part into the scratch, and a second kernel joins the
 * parts in their order, in f64. So two runs on one model of a card agree to the bit. The gradient of a bias is the sum
 * of g, hence a tap more, which reads 1 everywhere, where a tile has room for it. */
#include "kernels/cuda/cuda-kernels.cuh"

#define DEPTH     8 /* places that a step of the loop takes */
#define ONES      INT16_MAX
#define OUTSIDE   INT16_MIN
#define WORKSPACE ((size_t)64 << 20)
#define WAVES     8 /* of blocks, at most */
#define SHORTEST  4 /* steps of a part, at least */

/* Division of numbers below 2³¹ by one that is known before the launch (Granlund and Montgomery, Division by Invariant
 * Integers using Multiplication, 1994, figure 4.1). */
typedef struct
{
  unsigned int factor, shift;
} Divider;

/* One group's product: filters × columns, where columns are channels·r·s taps and perhaps that of ones. Steps are those
 * in memory, in elements. */
typedef struct
{
  int groups, channels, filters, taps, columns;
  int h, w, r, s, q;
  int stride[2], top, left, dilation[2];
  int places, per_split, area; /* area is p·q */
  Divider by_area, by_q;
  int at_x[4], at_g[4];
} Gather;

/* What one column reads beside a place: the distance in memory, and how far down and across. */
typedef struct
{
  int distance;
  short down, across;
} Tap;

/* A place in g and in x, and the row and column of x where its window's first tap would be without padding. */
typedef struct
{
  int g, x, row, column;
} Place;

__device__ static unsigned int
quotient (Divider by, unsigned int n)
{
  return ((unsigned int)(((unsigned long long)n * by.factor) >> 32) + n) >> by.shift;
}

__device__ static Place
locate (const Gather &of, int place)
{
  const int n = (int)quotient (of.by_area, (unsigned int)place), rest = place - n * of.area;
  const int p = (int)quotient (of.by_q, (unsigned int)rest), q = rest - p * of.q;
  Place at;

  at.row = p * of.stride[0];
  at.column = q * of.stride[1];
  at.g = n * of.at_g[0] + p * of.at_g[2] + q * of.at_g[3];
  at.x = n * of.at_x[0] + at.row * of.at_x[2] + at.column * of.at_x[3];
  return at;
}

/* Columns are in the order in which x has its channels: (c,r,s) where images are plain, (r,s,c) in NHWC. */
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

__device__ static float
value_of (const Gather &of, const float *x, const Place &at, const Tap &tap)
{
  const int row = at.row + tap.down, column = at.column + tap.across;

  if (row >= 0 && row < of.h && column >= 0 && column < of.w)
    return x[at.x + tap.distance];
  return tap.down == ONES ? 1 : 0;
}

/* part [split,group,filters,columns], g [n,k,p,q], x [n,c,h,w]; a block a tile of ROWS filters × COLUMNS columns over
 * the places of its split, a thread HIGH × WIDE of its sums, in pieces of 4 × 4. */
template <int ROWS, int COLUMNS, int HIGH, int WIDE, bool NHWC>
__global__ void __launch_bounds__ ((ROWS / HIGH) * (COLUMNS / WIDE), (ROWS / HIGH) * (COLUMNS / WIDE) == 256 ? 2 : 1)
    weight_kernel (float *part, const float *__restrict__ g, const float *__restrict__ x, Gather of)
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

  /* Neighbouring threads read neighbours in memory: places where images are plain, channels in NHWC. */
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
        next_g[i] = inside && row < of.filters ? g[at.g + row * of.at_g[1]] : 0;
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
      /* Four without a jump between them: sums of one hide the loads of the next. */
      for (int d = 0; d < DEPTH; d += 4)
        {
          multiply (d);
          multiply (d + 1);
          multiply (d + 2);
          multiply (d + 3);
        }
      /* The other buffer's readers were done before the last barrier. */
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

/* dw [k,channels,r,s] and db [k], or NULL, from the parts; a block COLUMNS sums, of each a thread every ROWS-th part.
 */
template <int ROWS, int COLUMNS, bool NHWC>
__global__ void
__launch_bounds__ (ROWS *COLUMNS) join_parts_kernel (float *dw, float *db, const float *part, int splits, Gather of)
{
  __shared__ double shares[ROWS][COLUMNS];
  const int count = of.groups * of.filters * of.columns;
  const int own = threadIdx.x % COLUMNS, i = (int)blockIdx.x * COLUMNS + own;
  double sum = 0;

  if (i < count)
    {
      const float *at = part + i;
      int split = threadIdx.x / COLUMNS;

      /* Eight loads under way at a time. */
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
    db[k] = (float)sum;
  else if (NHWC)
    dw[((long long)k * of.channels + column % of.channels) * window + column / of.channels] = (float)sum;
  else
    dw[(long long)k * of.taps + column] = (float)sum;
}

/* ---- the split ------------------------------------------------------------------------- */

typedef struct
{
  int rows, columns;
  int resident;      /* blocks on a processor */
  double efficiency; /* of its arithmetic, about */
} Tile;

static const Tile tiles[] = { { 32, 32, 8, 0.35 }, { 64, 64, 4, 0.5 }, { 64, 128, 3, 0.55 }, { 128, 128, 2, 0.6 } };

#define N_TILES (int)(sizeof tiles / sizeof tiles[0])

typedef struct
{
  int tile, splits;
  bool ones; /* the bias's gradient is a column */
} Split;

/* Seconds for a tile and a number of splits: waves of blocks, and the parts written and read. Rates are those of an
 * H100; what counts are their proportions. */
static double
seconds_of (const Tile *tile, long long blocks, int splits, int places, double weights, int processors)
{
  const double rate = 4.3e11 * tile->efficiency, memory = 2.5e12;
  const int slots = processors * tile->resident;
  const double waves = (double)((blocks * splits + slots - 1) / slots);
  const double steps = (places + splits - 1) / splits;

  return waves * (2e-6 + steps * tile->rows * tile->columns * 2 * tile->resident / rate)
         + splits * weights * 2 * sizeof (float) / memory;
}

/* Which tile, and into how many parts the places go: a function of the shape and the card's model alone. */
static Split
split_of (const Gather *of, bool has_bias, int processors)
{
  Split best = { 0, 1, false };
  double least = INFINITY;

  for (int t = 0; t < N_TILES; t++)
    {
      const Tile *tile = &tiles[t];
      const bool ones = has_bias && of->taps % tile->columns != 0;
      const double weights = (double)of->groups * of->filters * (of->taps + ones);
      const long long blocks = (long long)of->groups * ((of->filters + tile->rows - 1) / tile->rows)
                               * ((of->taps + tile->columns - 1) / tile->columns);
      long long most = of->places / (DEPTH * SHORTEST);

      if ((double)most * weights * sizeof (float) > (double)WORKSPACE)
        most = (long long)((double)WORKSPACE / (weights * sizeof (float)));
      for (int wave = 0; wave <= WAVES; wave++)
        {
          long long splits = wave == 0 ? 1 : (long long)wave * processors * tile->resident / blocks;
          double seconds;

          splits = splits > most ? most : splits;
          splits = splits < 1 ? 1 : splits;
          seconds = seconds_of (tile, blocks, (int)splits, of->places, weights, processors);
          if (seconds < least)
            {
              least = seconds;
              best = { t, (int)splits, ones };
            }
        }
    }
  return best;
}

/* ---- host ------------------------------------------------------------------------------ */

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  Gather gather;
  Split split;
  bool nhwc, has_bias;
  LoomKernel *tail; /* the sum for dbias, where it is no column */
} Weight;

template <int ROWS, int COLUMNS, int HIGH, int WIDE>
static void
launch_tile (const Weight *self, cudaStream_t stream, float *part, const float *g, const float *x)
{
  const Gather &of = self->gather;
  const dim3 blocks (blocks_for (of.filters, ROWS) * blocks_for (of.columns, COLUMNS), (unsigned int)self->split.splits,
                     (unsigned int)of.groups);
  const int threads = (ROWS / HIGH) * (COLUMNS / WIDE);

  /* clang-format off */
  if (self->nhwc)
    weight_kernel<ROWS, COLUMNS, HIGH, WIDE, true><<<blocks, threads, 0, stream>>> (part, g, x, of);
  else
    weight_kernel<ROWS, COLUMNS, HIGH, WIDE, false><<<blocks, threads, 0, stream>>> (part, g, x, of);
  /* clang-format on */
}

template <int ROWS, int COLUMNS>
static void
launch_join (const Weight *self, cudaStream_t stream, float *dw, float *db, const float *part)
{
  const Gather &of = self->gather;
  const unsigned int blocks = blocks_for ((int64_t)of.groups * of.filters * of.columns, COLUMNS);

  /* clang-format off */
  if (self->nhwc)
    join_parts_kernel<ROWS, COLUMNS, true><<<blocks, ROWS * COLUMNS, 0, stream>>> (dw, db, part, self->split.splits, of);
  else
    join_parts_kernel<ROWS, COLUMNS, false><<<blocks, ROWS * COLUMNS, 0, stream>>> (dw, db, part, self->split.splits, of);
  /* clang-format on */
}

static LoomStatus
weight_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Weight *self = (Weight *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const float *g = (const float *)buffers[0], *x = (const float *)buffers[1];
  float *dw = (float *)buffers[2], *db = self->has_bias ? (float *)buffers[3] : NULL;
  void *const scratch = buffers[self->has_bias ? 4 : 3], *const sum[] = { buffers[0], db, scratch };
  float *part = (float *)scratch;
  LoomStatus status;

  cuda_use (self->device);
  if (self->split.tile == 0)
    launch_tile<32, 32, 4, 4> (self, handle, part, g, x);
  else if (self->split.tile == 1)
    launch_tile<64, 64, 8, 4> (self, handle, part, g, x);
  else if (self->split.tile == 2)
    launch_tile<64, 128, 8, 8> (self, handle, part, g, x);
  else
    launch_tile<128, 128, 8, 8> (self, handle, part, g, x);
  status = cuda_launched ("a convolution's weight gradient", message);
  if (status != LOOM_STATUS_OK)
    return status;
  if (self->split.splits >= 128)
    launch_join<32, 32> (self, handle, dw, db, part);
  else if (self->split.splits >= 8)
    launch_join<8, 32> (self, handle, dw, db, part);
  else
    launch_join<1, 256> (self, handle, dw, db, part);
  status = cuda_launched ("joining a convolution's weight gradient", message);
  /* Behind them on the same stream, so it may share their scratch. */
  return status == LOOM_STATUS_OK && self->tail != NULL ? self->tail->run (self->tail, stream, sum, message) : status;
}

static void
weight_free (LoomKernel *base)
{
  Weight *self = (Weight *)base;

  if (self->tail != NULL)
    self->tail->free (self->tail);
  free (self);
}

static Divider
divider_of (int by)
{
  Divider to = { 0, 0 };

  while ((1ULL << to.shift) < (unsigned long long)by)
    to.shift++;
  to.factor = (unsigned int)((((1ULL << to.shift) - (unsigned long long)by) << 32) / (unsigned long long)by + 1);
  return to;
}

/* Fills what a kernel needs of the call; false where it does not take it. */
static bool
gather_of (const LoomKernelSpec *spec, Gather *of)
{
  const LoomConv2dAttrs *a = (const LoomConv2dAttrs *)spec->attrs;
  const LoomTensorDesc *g = &spec->in[0], *x = &spec->in[1], *dw = &spec->out[0];
  int64_t at_g[LOOM_MAX_RANK], at_x[LOOM_MAX_RANK];

  if (!cuda_direct_takes (spec) || g->rank != 4 || x->rank != 4 || dw->rank != 4 || dw->layout != LOOM_LAYOUT_PLAIN
      || g->layout != x->layout || a->groups < 1 || loom_desc_count (g) == 0 || loom_desc_count (x) == 0
      || loom_desc_count (dw) == 0)
    return false;
  /* Numbers of 32 bits, and rows and columns of 16. */
  if (loom_desc_count (g) > INT32_MAX || loom_desc_count (x) > INT32_MAX || a->groups > UINT16_MAX
      || loom_desc_count (dw) + dw->dim[0] > (int64_t)(WORKSPACE / sizeof (float)))
    return false;
  for (int i = 0; i < 2; i++)
    if ((dw->dim[2 + i] - 1) * a->dilation[i] + a->pad[2 * i] >= INT16_MAX / 2 || x->dim[2 + i] >= INT16_MAX / 2)
      return false;
  cuda_strides (g, at_g);
  cuda_strides (x, at_x);
  *of = {};
  of->groups = (int)a->groups;
  of->channels = (int)dw->dim[1];
  of->filters = (int)(dw->dim[0] / a->groups);
  of->r = (int)dw->dim[2];
  of->s = (int)dw->dim[3];
  of->taps = of->columns = of->channels * of->r * of->s;
  of->h = (int)x->dim[2];
  of->w = (int)x->dim[3];
  of->q = (int)g->dim[3];
  of->area = (int)(g->dim[2] * g->dim[3]);
  of->places = (int)g->dim[0] * of->area;
  of->top = (int)a->pad[0];
  of->left = (int)a->pad[2];
  of->by_area = divider_of (of->area);
  of->by_q = divider_of (of->q);
  for (int i = 0; i < 2; i++)
    {
      of->stride[i] = (int)a->stride[i];
      of->dilation[i] = (int)a->dilation[i];
    }
  for (int i = 0; i < 4; i++)
    {
      of->at_g[i] = (int)at_g[i];
      of->at_x[i] = (int)at_x[i];
    }
  /* Where groups are many and small, most of each tile would be idle. */
  return a->groups == 1 || of->filters * of->taps >= 64;
}

static size_t
parts_bytes (const Gather *of, const Split *split)
{
  return (size_t)split->splits * (size_t)of->groups * (size_t)of->filters * (size_t)(of->taps + split->ones)
         * sizeof (float);
}

bool
cuda_gemm_weight_grad_takes (LoomDevice *device, const LoomKernelSpec *spec, size_t *scratch)
{
  Gather of;
  Split split;

  if (!gather_of (spec, &of))
    return false;
  split = split_of (&of, ((const LoomConv2dAttrs *)spec->attrs)->has_bias, device->processors);
  *scratch = parts_bytes (&of, &split);
  return true;
}

LoomStatus
cuda_gemm_weight_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomConv2dAttrs *attrs = (const LoomConv2dAttrs *)spec->attrs;
  Gather of;
  Weight *self;

  if (!gather_of (spec, &of))
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Weight> (device, "own-gemm weight gradient", weight_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->base.free = weight_free;
  self->split = split_of (&of, attrs->has_bias, device->processors);
  of.columns += self->split.ones;
  of.per_split = ((of.places + self->split.splits - 1) / self->split.splits + DEPTH - 1) / DEPTH * DEPTH;
  self->split.splits = (of.places + of.per_split - 1) / of.per_split;
  self->gather = of;
  self->nhwc = spec->in[0].layout == LOOM_LAYOUT_NHWC;
  self->has_bias = attrs->has_bias;
  self->base.scratch_bytes = parts_bytes (&of, &self->split);
  if (attrs->has_bias && !self->split.ones)
    {
      LoomStatus status = cuda_channel_sum_new (device, &spec->in[0], &self->tail, message);

      if (status != LOOM_STATUS_OK)
        {
          weight_free (&self->base);
          return status;
        }
      if (self->tail->scratch_bytes > self->base.scratch_bytes)
        self->base.scratch_bytes = self->tail->scratch_bytes;
    }
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
