/* conv2d_weight_grad by Winograd's algorithm (cpu-winograd.h), NHWC.
 *
 * Tiles of x [N,H,W,C] and of g [N,P,Q,K] are transformed one block at a time; of each block, the products [C,
 * tiles]·[tiles, K] are added to the sums u [positions][K / PANEL][C][PANEL], which are transformed to the filters'
 * gradient at the end. Threads share the tiles of a block and then its products. The blocks depend only on the shape,
 * so every sum has one order for any number of threads. */
#include "kernels/cpu/cpu-conv-sizes.h"
#include "kernels/cpu/cpu-winograd-loops.h"

#include <string.h>

#define BLOCK_BYTES (4 * 1024 * 1024) /* of a block's transformed tiles */
#define BLOCK_MIN   64                /* tiles; in smaller blocks the sums would be read and written too often */
#define GROUP       8                 /* tiles whose gradient is summed by one thread for the bias */
#define CHUNK       16                /* input channels of one item of the last transform */

typedef struct
{
  CpuKernel k;
  CPU_CONV_SIZES;         /* R = S = 3 */
  int64_t blocks, panels; /* of PANEL channels: of C, of K */
  int step;               /* tiles of step x step outputs */
  int64_t tiles_h, tiles_w, tiles;
  int64_t block;                           /* tiles of a block, a multiple of GROUP */
  int64_t x_stride, g_stride, sums_stride; /* floats from position to position */
  bool has_bias;
} Winograd;

typedef struct
{
  const Winograd *self;
  const float *x, *g; /* [N,H,W,C]; [N,P,Q,K] */
  float *dw, *dbias;  /* [K,C,3,3]; [K] or NULL */
  /* Scratch: [panels or blocks · PANEL]; [positions][blocks][block][PANEL]; [positions][panels][block][PANEL];
   * [positions][panels][C][PANEL]; [block / GROUP][panels · PANEL] and a row for their sum. */
  float *zeros, *x_tiles, *g_tiles, *sums, *bias;
  int64_t tile, n; /* the block: its first tile, and the number of its tiles */
} Call;

/* Transforms tile t of the block, and adds the sum of its gradient to bias. */
INLINE void
transform_tile (int step, const Call *call, int64_t t, float *bias)
{
  const Winograd *self = call->self;
  int64_t image = (call->tile + t) / (self->tiles_h * self->tiles_w);
  int64_t place = (call->tile + t) % (self->tiles_h * self->tiles_w);
  int64_t top = place / self->tiles_w * step, left = place % self->tiles_w * step;
  Tile tile;

  tile_find (&tile, SIDE (step), call->x + image * self->H * self->W * self->C, self->H, self->W, self->C,
             top - self->top, left - self->left, call->zeros);
  for (int64_t c = 0; c < self->C; c += LANES)
    input_tile (step, &tile, c, self->C - c, call->x_tiles + (c / PANEL * self->block + t) * PANEL + c % PANEL,
                self->x_stride);
  tile_find (&tile, step, call->g + image * self->P * self->Q * self->K, self->P, self->Q, self->K, top, left,
             call->zeros);
  for (int64_t c = 0; c < self->panels * PANEL; c += LANES)
    *(V *)(bias + c)
        += gradient_tile (step, &tile, c, self->K - c > 0 ? self->K - c : 0,
                          call->g_tiles + (c / PANEL * self->block + t) * PANEL + c % PANEL, self->g_stride);
}

static void
part_tiles (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Winograd *self = call->self;

  for (int64_t group = from; group < to; group++)
    {
      float *bias = call->bias + group * self->panels * PANEL;

      memset (bias, 0, (size_t)(self->panels * PANEL) * sizeof (float));
      for (int64_t t = group * GROUP; t < (group + 1) * GROUP && t < call->n; t++)
        if (self->step == 4)
          transform_tile (4, call, t, bias);
        else
          transform_tile (2, call, t, bias);
    }
}

/* Item: a panel of K of a position. */
static void
part_products (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Winograd *self = call->self;

  for (int64_t item = from; item < to; item++)
    {
      int64_t position = item / self->panels, panel = item % self->panels;
      const float *x = call->x_tiles + position * self->x_stride;
      const float *g = call->g_tiles + position * self->g_stride + panel * self->block * PANEL;
      float *sums = call->sums + position * self->sums_stride + panel * self->C * PANEL;

      for (int64_t c = 0; c < self->C; c += PANEL)
        {
          const float *a = x + c * self->block;
          int64_t rows = self->C - c < PANEL ? self->C - c : PANEL;

          ISA (cpu_product_columns) (rows, a, g, call->n, sums + c * PANEL, call->tile > 0);
        }
    }
}

/* Item: CHUNK input channels of a panel of K. dw is [K][C][3][3]. */
static void
part_filters (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Winograd *self = call->self;
  int64_t chunks = (self->C + CHUNK - 1) / CHUNK;

  for (int64_t item = from; item < to; item++)
    {
      int64_t panel = item / chunks, first = item % chunks * CHUNK;
      int64_t n = self->C - first < CHUNK ? self->C - first : CHUNK;

      for (int64_t lane = 0; lane < PANEL && panel * PANEL + lane < self->K; lane += LANES)
        {
          int64_t column = panel * PANEL + lane;
          V taps[CHUNK * 9];

          for (int64_t c = 0; c < n; c++)
            {
              const float *sums = call->sums + (panel * self->C + first + c) * PANEL + lane;

              if (self->step == 4)
                filter_gradient_tile (4, sums, self->sums_stride, taps + c * 9);
              else
                filter_gradient_tile (2, sums, self->sums_stride, taps + c * 9);
            }
          for (int64_t k = 0; k < LANES && column + k < self->K; k++)
            {
              float *to_filter = call->dw + ((column + k) * self->C + first) * 9;

              for (int64_t t = 0; t < n * 9; t++)
                to_filter[t] = taps[t][k];
            }
        }
    }
}

static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Winograd *self = (Winograd *)k;
  Call call = { .self = self, .g = b[0], .x = b[1], .dw = b[2], .dbias = self->has_bias ? b[3] : NULL };
  int64_t groups = self->block / GROUP, width = self->panels * PANEL, positions = POSITIONS (self->step),
          zeros = (self->blocks > self->panels ? self->blocks : self->panels) * PANEL;
  float *total;

  call.zeros = b[k->n_in + k->n_out];
  call.x_tiles = call.zeros + zeros;
  call.g_tiles = call.x_tiles + positions * self->x_stride;
  call.sums = call.g_tiles + positions * self->g_stride;
  call.bias = call.sums + positions * self->sums_stride;
  total = call.bias + groups * width;
  memset (call.zeros, 0, (size_t)zeros * sizeof (float));
  memset (total, 0, (size_t)width * sizeof (float));
  for (call.tile = 0; call.tile < self->tiles; call.tile += self->block)
    {
      int64_t n = self->tiles - call.tile < self->block ? self->tiles - call.tile : self->block;

      call.n = n;
      cpu_parallel (k->threads, (n + GROUP - 1) / GROUP, part_tiles, &call);
      cpu_parallel (k->threads, positions * self->panels, part_products, &call);
      for (int64_t group = 0; group < (n + GROUP - 1) / GROUP && self->has_bias; group++)
        for (int64_t c = 0; c < width; c++)
          total[c] += call.bias[group * width + c];
    }
  cpu_parallel (k->threads, self->panels * ((self->C + CHUNK - 1) / CHUNK), part_filters, &call);
  if (self->has_bias)
    memcpy (call.dbias, total, (size_t)self->K * sizeof (float));
  return LOOM_STATUS_OK;
}

LoomStatus
ISA (cpu_winograd_weight_grad) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                                LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  const LoomTensorDesc *x = &spec->in[1], *y = &spec->in[0];
  int64_t wide;
  Winograd *self;

  if (!ISA (cpu_winograd_fits) (spec, x, &spec->out[0], y))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  CPU_CONV_TAKE_SIZES (self, a, x, &spec->out[0], y);
  self->has_bias = a->has_bias;
  self->blocks = (self->C + PANEL - 1) / PANEL;
  self->panels = (self->K + PANEL - 1) / PANEL;
  self->step = ISA (cpu_winograd_step) (y);
  self->tiles_h = (self->P + self->step - 1) / self->step;
  self->tiles_w = (self->Q + self->step - 1) / self->step;
  self->tiles = self->N * self->tiles_h * self->tiles_w;
  self->block
      = BLOCK_BYTES / (POSITIONS (self->step) * (self->blocks + self->panels) * PANEL * (int64_t)sizeof (float));
  self->block = self->block < BLOCK_MIN ? BLOCK_MIN : self->block;
  self->block = self->block < self->tiles ? self->block : self->tiles;
  self->block = (self->block + GROUP - 1) / GROUP * GROUP;
  /* One panel more, so that the positions of a tile are not all in the same sets of the caches. */
  self->x_stride = (self->blocks * self->block + 1) * PANEL;
  self->g_stride = (self->panels * self->block + 1) * PANEL;
  self->sums_stride = (self->panels * self->C + 1) * PANEL;
  wide = self->blocks > self->panels ? self->blocks : self->panels;
  self->k.base.scratch_bytes
      = (size_t)(wide * PANEL + POSITIONS (self->step) * (self->x_stride + self->g_stride + self->sums_stride)
                 + (self->block / GROUP + 1) * self->panels * PANEL)
        * sizeof (float);
  self->k.base.name = "own winograd";
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}
