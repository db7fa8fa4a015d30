/* conv2d and conv2d_input_grad by Winograd's algorithm (cpu-winograd.h), NHWC.
 *
 * Filters are transformed first. Then each thread processes its part of the tiles in blocks: it transforms a block's
 * input, computes the products and transforms them back, so that transformed tiles stay in its caches. The order of a
 * result's sums does not depend on the blocks, so threads change no bits.
 *
 * depth is the number of channels that are summed over, and columns the number of result channels: C and K of a forward
 * pass, K and C of the input's gradient. */
#include "kernels/cpu/cpu-pool-window.h"
#include "kernels/cpu/cpu-winograd-loops.h"
#include "kernels/conv-pooled.h"

#include <string.h>

#define BLOCK_BYTES (384 * 1024)       /* of transformed input and products, which stay in a core's second cache */
#define FILTERS_MAX (96 * 1024 * 1024) /* bytes of transformed filters that a layer may take from the arena */
#define BLOCK_MIN   48                 /* tiles; in smaller blocks the filters would be read too often */

typedef struct
{
  CpuKernel k;
  bool flipped;          /* the input's gradient: filters rotated by 180° */
  int64_t N, H, W, P, Q; /* the input [N,H,W,depth] and the result [N,P,Q,columns] */
  int64_t top, left;     /* padding of the input */
  int64_t depth, columns;
  int64_t blocks, panels; /* of PANEL channels: of the depth, of the columns */
  int64_t width;          /* of the input's panels: PANEL, or LANES if these are all channels */
  int step;               /* tiles of step x step outputs */
  int64_t tiles_h, tiles_w, tiles;
  int64_t block;                                       /* tiles of a block */
  int64_t input_stride, product_stride, filter_stride; /* floats from position to position */
  bool has_bias, relu, pooled;                         /* pooled: the result, or for the input's gradient the input */
  bool is_kept;                                        /* filters are transformed once, into kept memory */
  LoomScalarOp act;                                    /* an activation other than relu */
} Winograd;

typedef struct
{
  const Winograd *self;
  const float *x, *w, *bias; /* [N,H,W,depth]; [K,C,3,3]; [columns] or NULL */
  const float *residual;     /* [N,P,Q,columns] or NULL */
  float *y;                  /* [N,P,Q,columns], or with a pooling [N,P/2,Q/2,columns] */
  uint8_t *indices;          /* of the pooling, [N,P/2,Q/2,columns], or [N,H/2,W/2,depth] as x; else NULL */
  float *filters;            /* scratch or kept memory: [positions][panels][depth][PANEL] */
  float *zeros, *workspaces; /* scratch: [side][blocks·PANEL]; one workspace a thread */
} Call;

/* ---- filters -------------------------------------------------------------- */

#define CHUNK 16 /* of the depth, which one item of the work transforms for one panel */

/* w of the network is [K][C][3][3]. */
static void
part_filters (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Winograd *self = call->self;
  int64_t chunks = (self->depth + CHUNK - 1) / CHUNK, depth = self->depth, columns = self->columns;

  for (int64_t item = from; item < to; item++)
    {
      int64_t panel = item / chunks, first = item % chunks * CHUNK;
      int64_t n = depth - first < CHUNK ? depth - first : CHUNK;

      for (int64_t lane = 0; lane < PANEL && panel * PANEL + lane < columns; lane += LANES)
        {
          int64_t column = panel * PANEL + lane;
          int64_t there = columns - column < LANES ? columns - column : LANES;
          float taps[CHUNK * 9][LANES] __attribute__ ((aligned (64)));

          if (there < LANES)
            memset (taps, 0, sizeof taps);
          if (self->flipped)
            for (int64_t d = 0; d < n; d++)
              {
                const float *w = call->w + ((first + d) * columns + column) * 9;

                for (int64_t c = 0; c < there; c++)
                  for (int t = 0; t < 9; t++)
                    taps[d * 9 + t][c] = w[c * 9 + 8 - t];
              }
          else
            for (int64_t c = 0; c < there; c++)
              {
                const float *w = call->w + ((column + c) * depth + first) * 9;

                for (int64_t t = 0; t < n * 9; t++)
                  taps[t][c] = w[t];
              }
          for (int64_t d = 0; d < n; d++)
            {
              float *to_filter = call->filters + (panel * depth + first + d) * PANEL + lane;

              if (self->step == 4)
                filter_tile (4, (const V *)taps[d * 9], to_filter, self->filter_stride);
              else
                filter_tile (2, (const V *)taps[d * 9], to_filter, self->filter_stride);
            }
        }
    }
}

/* ---- tiles ---------------------------------------------------------------- */

/* Transforms n tiles of x from `tile` on to workspace [positions][blocks][block][width]. */
INLINE void
transform_input (int step, TileKind kind, const Call *call, int64_t tile, int64_t n, float *workspace)
{
  const Winograd *self = call->self;

  Place place = place_of_tile (tile, self->tiles_h, self->tiles_w);

  for (int64_t t = 0; t < n; t++, place_next (&place, self->tiles_h, self->tiles_w))
    {
      const int64_t top = place.row * step - self->top, left = place.column * step - self->left;
      Tile from;

      if (kind == TILE_PLAIN)
        tile_find (&from, SIDE (step), call->x + place.image * self->H * self->W * self->depth, self->H, self->W,
                   self->depth, top, left, call->zeros);
      else
        {
          const int64_t at = place.image * (self->H / 2) * (self->W / 2) * self->depth;

          tile_find_pooled (&from, SIDE (step), call->x + at, call->indices + at, self->H, self->W, self->depth, top,
                            left, call->zeros);
        }
      for (int64_t c = 0; c < self->depth; c += LANES)
        input_tile (step, &from, kind, c, self->depth - c,
                    workspace + (c / PANEL * self->block + t) * self->width + c % PANEL, self->input_stride);
    }
}

/* Writes the maxima of the windows of a tile, of which rows x row pixels are inside the image, from window `at` on. */
INLINE void
pool_tile (int step, const Call *call, V y[MAX_STEP][MAX_STEP], int64_t rows, int64_t row, int64_t at)
{
#ifdef __AVX512F__
  const Winograd *self = call->self;

  for (int i = 0; i < step; i += 2)
    for (int j = 0; j < step; j += 2)
      {
        const __m512 tap[4] = { (__m512)y[i][j], (__m512)y[i][j + 1], (__m512)y[i + 1][j], (__m512)y[i + 1][j + 1] };
        const int64_t window = at + (i / 2 * (self->Q / 2) + j / 2) * self->columns;

        if (i < rows && j < row)
          cpu_pool_window (tap, self->relu, call->y + window, call->indices + window);
      }
#endif
}

/* Transforms products [positions][panels][block][PANEL] of n tiles to y [N,P,Q,columns]. */
INLINE void
transform_output (int step, bool pooled, const Call *call, int64_t tile, int64_t n, const float *products)
{
  const Winograd *self = call->self;

  Place place = place_of_tile (tile, self->tiles_h, self->tiles_w);

  for (int64_t t = 0; t < n; t++, place_next (&place, self->tiles_h, self->tiles_w))
    {
      int64_t top = place.row * step, left = place.column * step;
      int64_t rows = self->P - top < step ? self->P - top : step, row = self->Q - left < step ? self->Q - left : step;
      const int64_t at = ((place.image * self->P + top) * self->Q + left) * self->columns;
      const int64_t window = ((place.image * self->P + top) / 2 * (self->Q / 2) + left / 2) * self->columns;

      for (int64_t c = 0; c < self->columns; c += LANES)
        {
          V y[MAX_STEP][MAX_STEP], bias = call->bias != NULL ? load (call->bias + c, self->columns - c) : (V){ 0 };

          output_tile (step, products + (c / PANEL * self->block + t) * PANEL + c % PANEL, self->product_stride, y);
          for (int i = 0; i < step; i++)
            for (int j = 0; j < step; j++)
              {
                y[i][j] += bias;
                if (pooled)
                  continue;
                if (call->residual != NULL && i < rows && j < row)
                  y[i][j] += load (call->residual + at + (i * self->Q + j) * self->columns + c, self->columns - c);
                if (self->relu)
                  y[i][j] = (V)((VI)y[i][j] & (VI)((y[i][j] > 0) | (y[i][j] != y[i][j])));
              }
          if (pooled)
            {
              pool_tile (step, call, y, rows, row, window + c);
              continue;
            }
          if (self->act != LOOM_SCALAR_ID)
            for (int i = 0; i < rows; i++)
              ISA (cpu_apply) (self->act, (float *)y[i], step * LANES);
          for (int i = 0; i < rows; i++)
            for (int j = 0; j < row; j++)
              store (call->y + at + (i * self->Q + j) * self->columns + c, y[i][j], self->columns - c);
        }
    }
}

/* One position and panel of the columns of n tiles. */
static void
multiply (const Call *call, int64_t n, int64_t position, int64_t panel, const float *input, float *products)
{
  const Winograd *self = call->self;
  const float *filters = call->filters + position * self->filter_stride + panel * self->depth * PANEL;

  input += position * self->input_stride;
  products += position * self->product_stride + panel * self->block * PANEL;
  if (self->width == LANES)
    ISA (cpu_product_half_rows) (n, input, filters, self->depth, self->columns - panel * PANEL, products);
  else
    ISA (cpu_product_rows)
  (n, input, self->block * PANEL, filters, self->depth, self->columns - panel * PANEL, products, false);
}

static void
part_tiles (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Winograd *self = call->self;
  int64_t positions = POSITIONS (self->step);
  const bool pooled = HAS_POOLED && self->pooled, pooled_input = pooled && self->flipped;
  const bool pooled_result = pooled && !self->flipped;
  int64_t workspace_floats = positions * (self->input_stride + self->product_stride), threads = self->k.threads;

  for (int64_t thread = from; thread < to; thread++)
    {
      float *input = call->workspaces + thread * workspace_floats, *products = input + positions * self->input_stride;
      int64_t last = self->tiles * (thread + 1) / threads;

      for (int64_t tile = self->tiles * thread / threads; tile < last; tile += self->block)
        {
          int64_t n = last - tile < self->block ? last - tile : self->block;

          if (self->step == 4 && !pooled_input)
            transform_input (4, TILE_PLAIN, call, tile, n, input);
          else if (self->step == 4)
            transform_input (4, TILE_POOLED_ODD, call, tile, n, input);
          else if (!pooled_input)
            transform_input (2, TILE_PLAIN, call, tile, n, input);
          else
            transform_input (2, TILE_POOLED_ODD, call, tile, n, input);
          for (int64_t position = 0; position < positions; position++)
            for (int64_t panel = 0; panel < self->panels; panel++)
              multiply (call, n, position, panel, input, products);
          if (self->step == 4 && !pooled_result)
            transform_output (4, false, call, tile, n, products);
          else if (self->step == 4)
            transform_output (4, true, call, tile, n, products);
          else if (!pooled_result)
            transform_output (2, false, call, tile, n, products);
          else
            transform_output (2, true, call, tile, n, products);
        }
    }
}

static void
transform_filters (const Call *call)
{
  const Winograd *self = call->self;

  cpu_parallel (self->k.threads, self->panels * ((self->depth + CHUNK - 1) / CHUNK), part_filters, (void *)call);
}

static LoomStatus
prepare (LoomKernel *kernel, LoomStream *stream, void *const *b, LoomMessage *message)
{
  const Winograd *self = (const Winograd *)kernel;

  cpu_thread_prepare (self->k.device);
  transform_filters (&(Call){ .self = self, .w = b[1], .filters = b[self->k.n_in + self->k.n_out + 1] });
  return LOOM_STATUS_OK;
}

static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Winograd *self = (Winograd *)k;
  const int64_t zeros = SIDE (self->step) * self->blocks * PANEL;
  Call call = { .self = self, .x = b[0], .w = b[1], .bias = self->has_bias ? b[2] : NULL, .y = b[k->n_in] };

  if (self->pooled)
    call.indices = b[self->flipped ? 2 : k->n_in + 1];
  call.residual = k->n_in > LOOM_CONV_RESIDUAL ? b[LOOM_CONV_RESIDUAL] : NULL;
  call.zeros = b[k->n_in + k->n_out];
  call.workspaces = call.zeros + zeros;
  memset (call.zeros, 0, (size_t)zeros * sizeof (float));
  if (self->is_kept)
    call.filters = b[k->n_in + k->n_out + 1];
  else
    {
      call.filters = call.workspaces;
      call.workspaces += POSITIONS (self->step) * self->filter_stride;
      transform_filters (&call);
    }
  cpu_parallel (k->threads, k->threads, part_tiles, &call);
  if (self->act != LOOM_SCALAR_ID && self->pooled)
    ISA (cpu_apply) (self->act, call.y, self->N * self->P * self->Q * self->columns / 4);
  return LOOM_STATUS_OK;
}

/* Multiplications for each pair of channels, without transforms. */
static int64_t
multiplications (const LoomTensorDesc *y, int step)
{
  return y->dim[0] * ((y->dim[2] + step - 1) / step) * ((y->dim[3] + step - 1) / step) * POSITIONS (step);
}

int
ISA (cpu_winograd_step) (const LoomTensorDesc *y)
{
  return multiplications (y, 2) < multiplications (y, 4) ? 2 : 4;
}

double
ISA (cpu_winograd_flops) (const LoomKernelSpec *spec)
{
  bool input_grad = strcmp (spec->primitive, "conv2d_input_grad") == 0;
  bool weight_grad = strcmp (spec->primitive, "conv2d_weight_grad") == 0;
  /* The tiles are those of the result, or for the filters' gradient those of y. */
  const LoomTensorDesc y = loom_conv_before_pooling (spec->attrs, weight_grad ? &spec->in[0] : &spec->out[0]);
  const LoomTensorDesc *tiled = input_grad ? &spec->out[0] : &y;
  const LoomTensorDesc *w = weight_grad ? &spec->out[0] : &spec->in[1];
  int64_t columns = input_grad ? w->dim[1] : w->dim[0], depth = input_grad ? w->dim[0] : w->dim[1];

  return 2.0 * (double)multiplications (tiled, ISA (cpu_winograd_step) (tiled)) * (double)depth
         * (double)((columns + LANES - 1) / LANES * LANES);
}

/* True if the parts of tiles outside the image and the transforms cost less than the saved multiplications; the filters
 * of fixed weights are transformed once. Measured with tests/kernels/bench-winograd. The number of threads is not
 * considered, so that it changes no bits. */
static bool
is_profitable (const LoomTensorDesc *x, const LoomTensorDesc *y, bool is_fixed)
{
  int step = ISA (cpu_winograd_step) (y);
  int64_t tiles = multiplications (y, step) / POSITIONS (step), pixels = y->dim[0] * y->dim[2] * y->dim[3];

  return x->dim[1] >= 16 && y->dim[1] >= 16 && tiles >= (is_fixed ? 32 : 64)
         && tiles * POSITIONS (step) * 2 <= pixels * 9
         && x->dim[1] * y->dim[1] * POSITIONS (step) * (int64_t)sizeof (float) <= FILTERS_MAX;
}

#define POOLED_MIN 128 /* tiles; for fewer a direct convolution may be faster, and only one without a pooling is */

/* True if the algorithm applies with a pooling of y [N,K,P,Q]. Tiles of a gradient are read from windows that begin in
 * the middle, as with a padding of 1. */
static bool
pools (const LoomKernelSpec *spec, const LoomTensorDesc *y)
{
  const int step = ISA (cpu_winograd_step) (y);
  const LoomConv2dAttrs *a = spec->attrs;

  return HAS_POOLED && a->pad[0] == 1 && a->pad[1] == 1 && a->pad[2] == 1 && a->pad[3] == 1 && y->dim[1] % LANES == 0
         && loom_conv_indices (spec)->layout == LOOM_LAYOUT_NHWC
         && multiplications (y, step) >= POOLED_MIN * POSITIONS (step);
}

bool
ISA (cpu_winograd_fits) (const LoomKernelSpec *spec, const LoomTensorDesc *x, const LoomTensorDesc *w,
                         const LoomTensorDesc *y)
{
  const LoomConv2dAttrs *a = spec->attrs;
  const LoomTensorDesc full = loom_conv_before_pooling (a, y);

#ifndef __AVX2__
  /* With vectors of four, and sixteen of them, the transforms cost more than they save. */
  if (a->algorithm != LOOM_CONV_WINOGRAD)
    return false;
#endif
  if (a->algorithm == LOOM_CONV_DIRECT || !loom_conv_pooled_fits (spec) || (a->pooled && !pools (spec, &full))
      || !cpu_all_f32 (spec) || x->layout != LOOM_LAYOUT_NHWC || y->layout != LOOM_LAYOUT_NHWC
      || w->layout != LOOM_LAYOUT_PLAIN || w->dim[2] != 3 || w->dim[3] != 3 || a->groups != 1
      || loom_desc_count (x) == 0 || loom_desc_count (y) == 0)
    return false;
  for (int i = 0; i < 2; i++)
    if (a->stride[i] != 1 || a->dilation[i] != 1)
      return false;
  for (int i = 0; i < 4; i++)
    if (a->pad[i] < 0 || a->pad[i] > 2)
      return false;
  return a->algorithm == LOOM_CONV_WINOGRAD || is_profitable (x, &full, ((spec->fixed >> 1) & 1) != 0);
}

/* from, to: the input and the result; top, left: the padding of the input. */
static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, const LoomTensorDesc *from,
        const LoomTensorDesc *to, int64_t top, int64_t left, CpuKernel **kernel, LoomMessage *message)
{
  int64_t share;
  Winograd *self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);

  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->N = from->dim[0];
  self->depth = from->dim[1];
  self->H = from->dim[2];
  self->W = from->dim[3];
  self->columns = to->dim[1];
  self->P = to->dim[2];
  self->Q = to->dim[3];
  self->top = top;
  self->left = left;
  self->act = LOOM_SCALAR_ID;
  self->pooled = loom_conv_is_pooled (spec);
  self->blocks = (self->depth + PANEL - 1) / PANEL;
  self->panels = (self->columns + PANEL - 1) / PANEL;
  self->width = self->depth <= LANES ? LANES : PANEL;
  self->step = ISA (cpu_winograd_step) (to);
  self->tiles_h = (self->P + self->step - 1) / self->step;
  self->tiles_w = (self->Q + self->step - 1) / self->step;
  self->tiles = self->N * self->tiles_h * self->tiles_w;
  share = (self->tiles + self->k.threads - 1) / self->k.threads;
  self->block
      = BLOCK_BYTES
        / (POSITIONS (self->step) * (self->blocks * self->width + self->panels * PANEL) * (int64_t)sizeof (float));
  self->block = self->block < BLOCK_MIN ? BLOCK_MIN : self->block;
  self->block = (share + (share + self->block - 1) / self->block - 1) / ((share + self->block - 1) / self->block);
  self->input_stride = position_stride (self->blocks * self->block * self->width);
  self->product_stride = position_stride (self->panels * self->block * PANEL);
  self->filter_stride = position_stride (self->panels * self->depth * PANEL);
  self->k.base.scratch_bytes
      = (size_t)(SIDE (self->step) * self->blocks * PANEL
                 + self->k.threads * POSITIONS (self->step) * (self->input_stride + self->product_stride))
        * sizeof (float);
  self->is_kept = ((spec->fixed >> 1) & 1) != 0;
  *(self->is_kept ? &self->k.base.kept_bytes : &self->k.base.scratch_bytes)
      += (size_t)(POSITIONS (self->step) * self->filter_stride) * sizeof (float);
  self->k.base.prepare = self->is_kept ? prepare : NULL;
  self->k.base.name = "own winograd";
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

LoomStatus
ISA (cpu_winograd) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                    LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  LoomTensorDesc y;
  LoomStatus status;

  if (!ISA (cpu_winograd_fits) (spec, &spec->in[0], &spec->in[1], &spec->out[0]))
    return LOOM_STATUS_UNSUPPORTED;
  y = loom_conv_before_pooling (a, &spec->out[0]);
  status = create (device, spec, attrs_size, &spec->in[0], &y, a->pad[0], a->pad[2], kernel, message);
  if (status == LOOM_STATUS_OK)
    {
      Winograd *self = (Winograd *)*kernel;

      self->has_bias = a->has_bias;
      if (spec->n_in > LOOM_CONV_RESIDUAL)
        self->k.base.inplace[0] = 1u << LOOM_CONV_RESIDUAL;
      self->relu = a->act == LOOM_SCALAR_RELU;
      self->act = self->relu ? LOOM_SCALAR_ID : a->act;
    }
  return status;
}

LoomStatus
ISA (cpu_winograd_input_grad) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                               LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  LoomTensorDesc g;
  LoomStatus status;

  if (!ISA (cpu_winograd_fits) (spec, &spec->out[0], &spec->in[1], &spec->in[0]))
    return LOOM_STATUS_UNSUPPORTED;
  g = loom_conv_before_pooling (a, &spec->in[0]);
  status = create (device, spec, attrs_size, &g, &spec->out[0], 2 - a->pad[0], 2 - a->pad[2], kernel, message);
  if (status == LOOM_STATUS_OK)
    ((Winograd *)*kernel)->flipped = true;
  return status;
}
