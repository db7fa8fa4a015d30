/* The gradients of a convolution's weights and bias on the host: splits their sums and launches the kernels. */
#include "kernels/cuda/cuda-conv-weight.cuh"

#define WORKSPACE ((size_t)64 << 20)
#define WAVES     8 /* of blocks, at most */
#define SHORTEST  4 /* steps of a part, at least */

/* ---- the split ------------------------------------------------------------------------- */

typedef struct
{
  int rows, columns;
  int resident;      /* blocks on a processor */
  double efficiency; /* part of the peak arithmetic, roughly */
} Tile;

static const Tile tiles[] = { { 32, 32, 8, 0.35 }, { 64, 64, 4, 0.5 }, { 64, 128, 3, 0.55 }, { 128, 128, 2, 0.6 } };

#define N_TILES (int)(sizeof tiles / sizeof tiles[0])

typedef struct
{
  int tile, splits;
  bool ones; /* the bias's gradient is a column */
} Split;

/* Seconds for a tile and a number of splits: waves of blocks, and the parts written and read. Rates are those of an
 * H100; only their proportions matter. */
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

/* Chooses the tile and the number of parts: a function of the shape and the card's model alone. */
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
  LoomDType from, to; /* of the images, of the gradients */
  bool nhwc, has_bias;
  LoomKernel *tail; /* the sum for dbias, if it is no column */
} Weight;

template <int ROWS, int COLUMNS, int HIGH, int WIDE>
static void
launch_tile (const Weight *self, cudaStream_t stream, float *part, const void *from_g, const void *from_x)
{
  const Gather &of = self->gather;
  const dim3 blocks (blocks_for (of.filters, ROWS) * blocks_for (of.columns, COLUMNS), (unsigned int)self->split.splits,
                     (unsigned int)of.groups);
  const int threads = (ROWS / HIGH) * (COLUMNS / WIDE);

  with_float (self->from, [&] (auto element) {
    typedef decltype (element) S;
    const S *g = (const S *)from_g, *x = (const S *)from_x;

    /* clang-format off */
    if (self->nhwc)
      weight_kernel<S, ROWS, COLUMNS, HIGH, WIDE, true><<<blocks, threads, 0, stream>>> (part, g, x, of);
    else
      weight_kernel<S, ROWS, COLUMNS, HIGH, WIDE, false><<<blocks, threads, 0, stream>>> (part, g, x, of);
    /* clang-format on */
  });
}

template <int ROWS, int COLUMNS>
static void
launch_join (const Weight *self, cudaStream_t stream, void *to_w, void *to_b, const float *part)
{
  const Gather &of = self->gather;
  const unsigned int blocks = blocks_for ((int64_t)of.groups * of.filters * of.columns, COLUMNS);
  const int threads = ROWS * COLUMNS, splits = self->split.splits;

  with_float (self->to, [&] (auto element) {
    typedef decltype (element) D;
    D *dw = (D *)to_w, *db = (D *)to_b;

    /* clang-format off */
    if (self->nhwc)
      join_parts_kernel<D, ROWS, COLUMNS, true><<<blocks, threads, 0, stream>>> (dw, db, part, splits, of);
    else
      join_parts_kernel<D, ROWS, COLUMNS, false><<<blocks, threads, 0, stream>>> (dw, db, part, splits, of);
    /* clang-format on */
  });
}

static LoomStatus
join (const Weight *self, cudaStream_t stream, void *dw, void *db, const float *part, LoomMessage *message)
{
  if (self->split.splits >= 128)
    launch_join<32, 32> (self, stream, dw, db, part);
  else if (self->split.splits >= 8)
    launch_join<8, 32> (self, stream, dw, db, part);
  else
    launch_join<1, 256> (self, stream, dw, db, part);
  return cuda_launched ("adding the parts of a convolution's gradient", message);
}

static LoomStatus
weight_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Weight *self = (Weight *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const void *g = buffers[0], *x = buffers[1];
  void *const db = self->has_bias ? buffers[3] : NULL, *const scratch = buffers[self->has_bias ? 4 : 3];
  void *const sum[] = { buffers[0], db, scratch };
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
  if (status == LOOM_STATUS_OK)
    status = join (self, handle, buffers[2], db, part, message);
  /* The tail runs later on the same stream, so it may use the same scratch. */
  return status == LOOM_STATUS_OK && self->tail != NULL ? self->tail->run (self->tail, stream, sum, message) : status;
}

static LoomStatus
bias_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Weight *self = (Weight *)base;
  const Gather &of = self->gather;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const dim3 blocks (blocks_for (of.columns, self->nhwc ? 32 : CUDA_THREADS / 32), (unsigned int)self->split.splits);
  Gather sums = of;
  float *part = (float *)buffers[2];
  LoomStatus status;

  cuda_use (self->device);
  sums.filters = of.columns;
  with_float (self->from, [&] (auto element) {
    typedef decltype (element) S;
    const S *g = (const S *)buffers[0];

    /* clang-format off */
    if (self->nhwc)
      bias_kernel<S, true><<<blocks, CUDA_THREADS, 0, handle>>> (part, g, sums);
    else
      bias_kernel<S, false><<<blocks, CUDA_THREADS, 0, handle>>> (part, g, sums);
    /* clang-format on */
  });
  status = cuda_launched ("the gradient of a convolution's bias", message);
  return status != LOOM_STATUS_OK ? status : join (self, handle, buffers[1], NULL, part, message);
}

static void
weight_free (LoomKernel *base)
{
  Weight *self = (Weight *)base;

  if (self->tail != NULL)
    self->tail->free (self->tail);
  free (self);
}

static bool
is_float (LoomDType dtype)
{
  return dtype == LOOM_F32 || dtype == LOOM_BF16 || dtype == LOOM_F16;
}

/* Fills the parameters of a kernel; false if it does not take the call. */
static bool
gather_of (const LoomKernelSpec *spec, Gather *of)
{
  const LoomConv2dAttrs *a = (const LoomConv2dAttrs *)spec->attrs;
  const LoomTensorDesc *g = &spec->in[0], *x = &spec->in[1], *dw = &spec->out[0];
  int64_t at_g[LOOM_MAX_RANK], at_x[LOOM_MAX_RANK];

  if (!is_float (g->dtype) || x->dtype != g->dtype || !is_float (dw->dtype)
      || (a->has_bias && spec->out[1].dtype != dw->dtype) || g->rank != 4 || x->rank != 4 || dw->rank != 4
      || dw->layout != LOOM_LAYOUT_PLAIN || g->layout != x->layout || a->groups < 1 || loom_desc_count (g) == 0
      || loom_desc_count (x) == 0 || loom_desc_count (dw) == 0)
    return false;
  /* Indices have 32 bits, rows and columns 16. */
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
  of->by_area = divisor_of (of->area);
  of->by_q = divisor_of (of->q);
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
  /* With many small groups most of each tile would be idle. */
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
  self->from = spec->in[0].dtype;
  self->to = spec->out[0].dtype;
  self->nhwc = spec->in[0].layout == LOOM_LAYOUT_NHWC;
  self->has_bias = attrs->has_bias;
  self->base.scratch_bytes = parts_bytes (&of, &self->split);
  if (attrs->has_bias && !self->split.ones)
    {
      LoomStatus status = cuda_bias_grad_new (device, &spec->in[0], &spec->out[1], &self->tail, message);

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

LoomStatus
cuda_bias_grad_new (LoomDevice *device, const LoomTensorDesc *g, const LoomTensorDesc *db, LoomKernel **kernel,
                    LoomMessage *message)
{
  const int channels = (int)g->dim[1], a_block = g->layout == LOOM_LAYOUT_NHWC ? 32 : CUDA_THREADS / 32;
  const int64_t places = g->dim[0] * g->dim[2] * g->dim[3], blocks = (channels + a_block - 1) / a_block;
  int64_t splits = 4 * (int64_t)device->processors / blocks, strides[LOOM_MAX_RANK];
  Weight *self;

  if (!is_float (g->dtype) || !is_float (db->dtype) || g->rank != 4 || loom_desc_count (g) == 0
      || loom_desc_count (g) > INT32_MAX)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Weight> (device, "own bias gradient", bias_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  cuda_strides (g, strides);
  for (int i = 0; i < 4; i++)
    self->gather.at_g[i] = (int)strides[i];
  splits = splits > places / 256 ? places / 256 : splits;
  splits = splits < 1 ? 1 : splits;
  self->from = g->dtype;
  self->to = db->dtype;
  self->nhwc = g->layout == LOOM_LAYOUT_NHWC;
  /* For the joining kernel this is one filter with a column for each channel, and an image of one channel. */
  self->gather.groups = self->gather.filters = self->gather.channels = self->gather.s = 1;
  self->gather.r = self->gather.columns = self->gather.taps = channels;
  self->gather.places = (int)places;
  self->gather.area = (int)(g->dim[2] * g->dim[3]);
  self->gather.by_area = divisor_of (self->gather.area);
  self->gather.per_split = (int)((places + splits - 1) / splits);
  self->split.splits = (int)((places + self->gather.per_split - 1) / self->gather.per_split);
  self->base.scratch_bytes = (size_t)self->split.splits * (size_t)channels * sizeof (float);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
