/* conv2d_weight_grad by Winograd's algorithm (cpu-winograd.h), NHWC.
 *
 * The tiles are divided into slots, and the tiles of a slot into blocks. Of each block, the tiles of x [N,H,W,C] and of
 * g [N,P,Q,K] are transformed, and the products [C, tiles]·[tiles, K] are added to the slot's sums u
 * [positions][K / PANEL][C][PANEL]. At the end the sums of all slots are added and transformed to the filters'
 * gradient.
 *
 * A thread does whole slots, so that what it transforms is in its own cache when it multiplies. More threads than slots
 * share the tiles of the blocks of all slots, and then their products. Slots and blocks depend only on the shape, so
 * every sum has one order for any number of threads. */
#include "kernels/cpu/cpu-conv-sizes.h"
#include "kernels/cpu/cpu-winograd-loops.h"
#include "kernels/conv-pooled.h"

#include <string.h>

#define SLOTS_MOST   4
#define SLOT_MIN     64                /* tiles */
#define SUMS_BYTES   (768 * 1024)      /* of a slot, if there are several: they stay in a core's second cache */
#define BLOCK_BYTES  (512 * 1024)      /* of a block's transformed tiles, which do, too */
#define SHARED_BYTES (4 * 1024 * 1024) /* of a block's transformed tiles if there is one slot */
#define BLOCK_MIN    64                /* tiles; in smaller blocks the sums would be read and written too often */
#define GROUP        8                 /* tiles whose gradient is summed by one thread for the bias */
#define CHUNK        8                 /* input channels of one item of the last transform */

typedef struct
{
  CpuKernel k;
  CPU_CONV_SIZES;         /* R = S = 3 */
  int64_t blocks, panels; /* of PANEL channels: of C, of K */
  int step;               /* tiles of step x step outputs */
  int64_t tiles_h, tiles_w, tiles;
  int64_t slots, slot;                     /* slots of this number of tiles, a multiple of GROUP */
  int64_t block;                           /* tiles of a block, a multiple of GROUP */
  int64_t x_stride, g_stride, sums_stride; /* floats from position to position */
  int64_t workspace, sums;                 /* floats of a workspace, of a slot's sums */
  bool has_bias;
} Winograd;

typedef struct
{
  const Winograd *self;
  const float *x, *g;     /* [N,H,W,C]; [N,P,Q,K] */
  const uint8_t *indices; /* with a pooling, as g [N,P/2,Q/2,K]; else NULL */
  float *dw, *dbias;      /* [K,C,3,3]; [K] or NULL */
  /* Scratch: [side][panels or blocks · PANEL]; [threads or slots] workspaces; [slots][positions][panels][C][PANEL];
   * [slots][panels · PANEL]. */
  float *zeros, *workspaces, *sums, *bias;
  int64_t tile; /* of the present blocks of all slots, counted in the slot */
} Call;

/* Tiles of a slot's block, which begins after `tile` tiles of the slot; [positions][blocks][block][PANEL];
 * [positions][panels][block][PANEL]; [block / GROUP][panels · PANEL]. */
typedef struct
{
  int64_t first, n;
  float *x_tiles, *g_tiles, *bias;
} Block;

static Block
block_at (const Call *call, int64_t slot, int64_t tile, int64_t workspace)
{
  const Winograd *self = call->self;
  const int64_t end = (slot + 1) * self->slot < self->tiles ? (slot + 1) * self->slot : self->tiles;
  Block block = { .first = slot * self->slot + tile, .x_tiles = call->workspaces + workspace * self->workspace };

  block.n = end - block.first < self->block ? end - block.first : self->block;
  block.g_tiles = block.x_tiles + POSITIONS (self->step) * self->x_stride;
  block.bias = block.g_tiles + POSITIONS (self->step) * self->g_stride;
  return block;
}

/* Transforms tile t of the block, and adds the sum of its gradient to bias. */
INLINE void
transform_tile (int step, TileKind kind, const Call *call, const Block *block, int64_t t, const Place *place,
                float *bias)
{
  const Winograd *self = call->self;
  int64_t image = place->image, top = place->row * step, left = place->column * step;
  Tile tile;

  tile_find (&tile, SIDE (step), call->x + image * self->H * self->W * self->C, self->H, self->W, self->C,
             top - self->top, left - self->left, call->zeros);
  for (int64_t c = 0; c < self->C; c += LANES)
    input_tile (step, &tile, TILE_PLAIN, c, self->C - c,
                block->x_tiles + (c / PANEL * self->block + t) * PANEL + c % PANEL, self->x_stride);
  if (kind == TILE_PLAIN)
    tile_find (&tile, step, call->g + image * self->P * self->Q * self->K, self->P, self->Q, self->K, top, left,
               call->zeros);
  else
    {
      const int64_t at = image * (self->P / 2) * (self->Q / 2) * self->K;

      tile_find_pooled (&tile, step, call->g + at, call->indices + at, self->P, self->Q, self->K, top, left,
                        call->zeros);
    }
  for (int64_t c = 0; c < self->K; c += LANES)
    *(V *)(bias + c)
        += gradient_tile (step, &tile, kind, c, self->K - c,
                          block->g_tiles + (c / PANEL * self->block + t) * PANEL + c % PANEL, self->g_stride);
}

static void
transform_group (const Call *call, const Block *block, int64_t group)
{
  const Winograd *self = call->self;
  float *bias = block->bias + group * self->panels * PANEL;
  const bool pooled = HAS_POOLED && call->indices != NULL;

  Place place = place_of_tile (block->first + group * GROUP, self->tiles_h, self->tiles_w);

  memset (bias, 0, (size_t)(self->panels * PANEL) * sizeof (float));
  for (int64_t t = group * GROUP; t < (group + 1) * GROUP && t < block->n; t++)
    {
      if (self->step == 4 && !pooled)
        transform_tile (4, TILE_PLAIN, call, block, t, &place, bias);
      else if (self->step == 4)
        transform_tile (4, TILE_POOLED, call, block, t, &place, bias);
      else if (!pooled)
        transform_tile (2, TILE_PLAIN, call, block, t, &place, bias);
      else
        transform_tile (2, TILE_POOLED, call, block, t, &place, bias);
      place_next (&place, self->tiles_h, self->tiles_w);
    }
}

/* Adds the products of one position and panel of K to the slot's sums, or stores them there. */
static void
multiply (const Call *call, const Block *block, int64_t slot, int64_t position, int64_t panel, bool add)
{
  const Winograd *self = call->self;
  const float *x = block->x_tiles + position * self->x_stride;
  const float *g = block->g_tiles + position * self->g_stride + panel * self->block * PANEL;
  float *sums = call->sums + slot * self->sums + position * self->sums_stride + panel * self->C * PANEL;

  for (int64_t c = 0; c < self->C; c += PANEL)
    ISA (cpu_product_columns)
  (self->C - c < PANEL ? self->C - c : PANEL, x + c * self->block, g, block->n, self->K - panel * PANEL,
   sums + c * PANEL, add);
}

static void
add_bias (const Call *call, const Block *block, int64_t slot)
{
  const int64_t width = call->self->panels * PANEL;

  for (int64_t group = 0; group < (block->n + GROUP - 1) / GROUP; group++)
    for (int64_t c = 0; c < width; c++)
      call->bias[slot * width + c] += block->bias[group * width + c];
}

/* Item: a thread's slots. */
static void
part_slots (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Winograd *self = call->self;
  const int64_t threads = self->k.threads;

  for (int64_t thread = from; thread < to; thread++)
    for (int64_t slot = self->slots * thread / threads; slot < self->slots * (thread + 1) / threads; slot++)
      for (int64_t tile = 0; tile < self->slot; tile += self->block)
        {
          const Block block = block_at (call, slot, tile, thread);

          for (int64_t group = 0; group * GROUP < block.n; group++)
            transform_group (call, &block, group);
          for (int64_t item = 0; item < POSITIONS (self->step) * self->panels && block.n > 0; item++)
            multiply (call, &block, slot, item / self->panels, item % self->panels, tile > 0);
          add_bias (call, &block, slot);
        }
}

/* Item: a group of tiles of a slot's block. */
static void
part_groups (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const int64_t groups = call->self->block / GROUP;

  for (int64_t item = from; item < to; item++)
    {
      const Block block = block_at (call, item / groups, call->tile, item / groups);

      if (item % groups * GROUP < block.n)
        transform_group (call, &block, item % groups);
    }
}

/* Item: a panel of K of a position of a slot's block. */
static void
part_products (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Winograd *self = call->self;
  const int64_t items = POSITIONS (self->step) * self->panels;

  for (int64_t item = from; item < to; item++)
    {
      const int64_t slot = item / items, at = item % items;
      const Block block = block_at (call, slot, call->tile, slot);

      if (block.n > 0)
        multiply (call, &block, slot, at / self->panels, at % self->panels, call->tile > 0);
    }
}

/* w [9][LANES] of one input channel, from the sums of all slots. */
INLINE void
filter_gradient (const Winograd *self, int step, const float *sums, V *w)
{
  V total[POSITIONS (MAX_STEP)];

  for (int p = 0; p < POSITIONS (step); p++)
    {
      total[p] = *(const V *)(sums + p * self->sums_stride);
      for (int64_t slot = 1; slot < self->slots; slot++)
        total[p] += *(const V *)(sums + slot * self->sums + p * self->sums_stride);
    }
  filter_gradient_tile (step, (const float *)total, LANES, w);
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
                filter_gradient (self, 4, sums, taps + c * 9);
              else
                filter_gradient (self, 2, sums, taps + c * 9);
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

/* A row of zeros of a tile of x or g. */
static int64_t
zero_floats (const Winograd *self)
{
  return SIDE (self->step) * (self->blocks > self->panels ? self->blocks : self->panels) * PANEL;
}

static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Winograd *self = (Winograd *)k;
  Call call = { .self = self, .g = b[0], .x = b[1], .dw = b[k->n_in] };
  int64_t width = self->panels * PANEL, zeros = zero_floats (self);

  call.dbias = self->has_bias ? b[k->n_in + 1] : NULL;
  call.indices = k->n_in > 2 ? b[2] : NULL;
  call.zeros = b[k->n_in + k->n_out];
  call.bias = call.zeros + zeros;
  call.sums = call.bias + self->slots * width;
  call.workspaces = call.sums + self->slots * self->sums;
  memset (call.zeros, 0, (size_t)(zeros + self->slots * width) * sizeof (float));
  if (k->threads <= self->slots)
    cpu_parallel (k->threads, k->threads, part_slots, &call);
  else
    for (call.tile = 0; call.tile < self->slot; call.tile += self->block)
      {
        cpu_parallel (k->threads, self->slots * (self->block / GROUP), part_groups, &call);
        cpu_parallel (k->threads, self->slots * POSITIONS (self->step) * self->panels, part_products, &call);
        for (int64_t slot = 0; slot < self->slots; slot++)
          {
            const Block block = block_at (&call, slot, call.tile, slot);

            add_bias (&call, &block, slot);
          }
      }
  cpu_parallel (k->threads, self->panels * ((self->C + CHUNK - 1) / CHUNK), part_filters, &call);
  for (int64_t c = 0; c < self->K && self->has_bias; c++)
    {
      call.dbias[c] = call.bias[c];
      for (int64_t slot = 1; slot < self->slots; slot++)
        call.dbias[c] += call.bias[slot * width + c];
    }
  return LOOM_STATUS_OK;
}

LoomStatus
ISA (cpu_winograd_weight_grad) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                                LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  const LoomTensorDesc y = loom_conv_before_pooling (a, &spec->in[0]), *x = &spec->in[1];
  int64_t positions, workspaces;
  bool is_small;
  Winograd *self;

  if (!ISA (cpu_winograd_fits) (spec, x, &spec->out[0], &spec->in[0]))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  CPU_CONV_TAKE_SIZES (self, a, x, &spec->out[0], &y);
  self->has_bias = a->has_bias;
  self->blocks = (self->C + PANEL - 1) / PANEL;
  self->panels = (self->K + PANEL - 1) / PANEL;
  self->step = ISA (cpu_winograd_step) (&y);
  positions = POSITIONS (self->step);
  self->tiles_h = (self->P + self->step - 1) / self->step;
  self->tiles_w = (self->Q + self->step - 1) / self->step;
  self->tiles = self->N * self->tiles_h * self->tiles_w;
  self->sums_stride = position_stride (self->panels * self->C * PANEL);
  self->sums = positions * self->sums_stride;
  is_small = self->sums * (int64_t)sizeof (float) <= SUMS_BYTES;
  self->slots = self->tiles / SLOT_MIN < SLOTS_MOST ? self->tiles / SLOT_MIN : SLOTS_MOST;
  self->slots = self->slots < 1 || !is_small ? 1 : self->slots;
  self->slot = ((self->tiles + self->slots - 1) / self->slots + GROUP - 1) / GROUP * GROUP;
  self->slots = (self->tiles + self->slot - 1) / self->slot;
  self->block = (is_small ? BLOCK_BYTES : SHARED_BYTES)
                / (positions * (self->blocks + self->panels) * PANEL * (int64_t)sizeof (float));
  self->block = self->block < BLOCK_MIN ? BLOCK_MIN : self->block;
  self->block = self->block < self->slot ? self->block / GROUP * GROUP : self->slot;
  self->x_stride = position_stride (self->blocks * self->block * PANEL);
  self->g_stride = position_stride (self->panels * self->block * PANEL);
  self->workspace = positions * (self->x_stride + self->g_stride) + self->block / GROUP * self->panels * PANEL;
  workspaces = self->k.threads < self->slots ? self->k.threads : self->slots;
  self->k.base.scratch_bytes
      = (size_t)(zero_floats (self) + self->slots * (self->sums + self->panels * PANEL) + workspaces * self->workspace)
        * sizeof (float);
  self->k.base.name = "own winograd";
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}
