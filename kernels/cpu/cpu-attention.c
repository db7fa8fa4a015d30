/* Scaled dot-product attention and its gradient by blocks of queries and keys: what is kept of the scores is one block
 * of them a thread (Dao et al., "FlashAttention", 2022; the softmax's running sums are Milakov and Gimelshein's, 2018).
 *
 * Everything that is multiplied lies in panels (cpu-panels.h), keys and values of a sample's head once for all of its
 * queries. A block of queries [QUERIES, E] in panels is both the left factor of its scores and the right one of the
 * keys' gradient. The sums have one order for any number of threads: a thread does whole blocks of queries forward, and
 * backward whole heads of keys. */
#include "kernels/cpu/cpu-math.h"
#include "kernels/cpu/cpu-panel-rows.h"

#include <string.h>

#define QUERIES  48                /* of a block; a multiple of ROWS and TOGETHER */
#define TILE     (QUERIES * PANEL) /* floats of a block's panel */
#define PANELS   (128 / PANEL)     /* of keys in a block */
#define KEYS     (PANELS * PANEL)  /* in a block */
#define TOGETHER 8                 /* sums that are made side by side */
#define FLOPS    20.0              /* in a nanosecond, of one thread: to see whether threads pay */

#include "kernels/cpu/cpu-attention-drop.h"

typedef struct
{
  CpuKernel k;
  int64_t n, heads, groups, queries, keys, width, depth; /* N, H, K, T, S, E, D */
  int64_t key_panels, width_panels, depth_panels;
  int64_t blocks, items, chunks; /* blocks of queries in a head; what is shared among threads, and in how many parts */
  int64_t room;                  /* floats of scratch for each part */
  int64_t mask_stride[3];        /* of sample, head and query; 0 where one mask serves all */
  bool causal, has_mask, mask_is_bool;
  float scale;
  Dropout dropout; /* without the numbers' seed, step and place */
  double ns;
} Attention;

typedef struct
{
  const Attention *self;
  const float *q, *key, *v, *g, *lse_in, *delta; /* [N,H,T,E], [N,K,S,E], [N,K,S,D]; [N,H,T,D], [N,H,T], [N,H,T] */
  const void *mask;                              /* [N or 1, H or 1, T or 1, S] */
  float *y, *lse;                                /* [N,H,T,D], [N,H,T] */
  float *dq, *dk, *dv;                           /* as q, key and v */
  float *scratch;                                /* [chunks][room] */
  Dropout dropout;
} Call;

/* A block of queries. */
typedef struct
{
  int64_t sample, head, first, rows;
} Block;

static int64_t
rounded (int64_t floats)
{
  return (floats + 15) & ~(int64_t)15;
}

/* Takes the next `floats` floats of a scratch. */
static float *
take (float **scratch, int64_t floats)
{
  float *at = *scratch;

  *scratch += rounded (floats);
  return at;
}

/* ---- scores ----------------------------------------------------------------- */

/* How many keys the block of queries may look at. */
static int64_t
reach (const Attention *self, const Block *block)
{
  int64_t last = block->first + block->rows;

  return self->causal && last < self->keys ? last : self->keys;
}

/* The scores of a block's queries [E / PANEL][QUERIES][PANEL], scaled, and n keys from `from` on, -∞ where one is not
 * kept: s [PANELS][QUERIES][PANEL]. keys: panels [S / PANEL][E][PANEL]. */
static void
block_scores (const Call *call, const Block *block, const float *queries, const float *keys, int64_t from, int64_t n,
              float *s)
{
  const Attention *self = call->self;

  for (int64_t at = 0; at < n; at += PANEL, s += TILE)
    {
      int64_t in = n - at < PANEL ? n - at : PANEL;

      product_all (block->rows, queries, PANEL, 1, TILE, keys + (from + at) * self->width, self->width, s, false);
      for (int64_t r = 0; r < block->rows; r++)
        {
          float *row = s + r * PANEL;
          int64_t query = block->first + r, kept = self->causal ? query - from - at + 1 : PANEL;

          if (self->has_mask)
            {
              int64_t place = block->sample * self->mask_stride[0] + block->head * self->mask_stride[1]
                              + query * self->mask_stride[2] + from + at;

              if (self->mask_is_bool)
                {
                  const uint8_t *mask = (const uint8_t *)call->mask + place;

                  for (int64_t i = 0; i < in; i++)
                    row[i] = mask[i] ? row[i] : -INFINITY;
                }
              else
                {
                  const float *mask = (const float *)call->mask + place;

                  for (int64_t i = 0; i < in; i++)
                    row[i] += mask[i];
                }
            }
          kept = kept < in ? kept : in;
          if (kept < PANEL)
            for (int32_t i = 0; i < PANEL; i++)
              row[i] = i < (int32_t)kept ? row[i] : -INFINITY;
        }
    }
}

/* ---- dropout ---------------------------------------------------------------- */

/* b: seed, step and place, where there is dropout. */
static void
take_numbers (const Attention *self, void *const *b, Call *call)
{
  call->dropout = self->dropout;
  if (self->dropout.left == 1)
    return;
  call->dropout.seed = (uint64_t) * (const int64_t *)b[0];
  call->dropout.step = (uint64_t) * (const int64_t *)b[1];
  call->dropout.place = b[2];
}

/* Room for a block's numbers, in floats of scratch. */
static int64_t
word_room (const Attention *self)
{
  return self->dropout.left == 1 ? 0 : rounded (WORDS);
}

static uint32_t *
take_words (const Attention *self, float **scratch)
{
  return word_room (self) == 0 ? NULL : memset (take (scratch, WORDS), 0, WORDS * sizeof (uint32_t));
}

/* Draws the numbers of a block's queries and n keys from `from` on. */
static void
draw_block (const Call *call, const Block *block, int64_t from, int64_t n, Drawn *drawn)
{
  const Attention *self = call->self;
  const int64_t head = block->sample * self->heads + block->head;

  if (drawn->word != NULL)
    draw (&call->dropout, (call->dropout.place[head] * self->queries + block->first) * self->keys + from, self->keys,
          block->rows, n, self->causal, block->first - from + 1, drawn);
}

/* ---- forward ---------------------------------------------------------------- */

/* The larger one. A NaN may be lost here: its own exponential makes the sum one. */
INLINE float
larger (float a, float b)
{
  return a > b ? a : b;
}

/* The largest of n scores of a query, s [PANELS][QUERIES][PANEL]: by halves, since it is the same in any order. */
INLINE float
largest (const float *s, int64_t n)
{
  float lane[PANEL];

  memcpy (lane, s, sizeof lane);
  for (int64_t at = PANEL; at < n; at += PANEL)
    for (int l = 0; l < PANEL; l++)
      lane[l] = larger (lane[l], s[at / PANEL * TILE + l]);
#pragma GCC unroll 8
  for (int half = PANEL / 2; half > 0; half /= 2)
    for (int l = 0; l < half; l++)
      lane[l] = larger (lane[l], lane[l + half]);
  return lane[0];
}

/* Scores s [PANELS][QUERIES][PANEL] of n keys become e^(s - top), top being the largest so far; what was summed before,
 * total [rows] and sums [D / PANEL][QUERIES][PANEL], follows. */
static void
running_softmax (const Attention *self, int64_t rows, int64_t n, float *s, float *top, float *total, float *sums)
{
  float lane[QUERIES][PANEL] = { 0 }, base[QUERIES], fade[QUERIES];

  for (int64_t r = 0; r < rows; r++)
    base[r] = larger (top[r], largest (s + r * PANEL, n));
#pragma GCC ivdep
  for (int64_t r = 0; r < rows; r++)
    {
      float before = top[r];

      top[r] = base[r];
      base[r] = base[r] == -INFINITY ? 0 : base[r];
      fade[r] = cpu_exp (before - base[r]);
    }
  for (int64_t r = 0; r < rows; r++)
    {
      for (int64_t at = 0; at < n; at += PANEL)
        {
          float *row = s + at / PANEL * TILE + r * PANEL;

#pragma GCC ivdep
          for (int l = 0; l < PANEL; l++)
            {
              row[l] = cpu_exp (row[l] - base[r]);
              lane[r][l] += row[l];
            }
        }
      if (fade[r] != 1)
        for (int64_t p = 0; p < self->depth_panels; p++)
          for (int l = 0; l < PANEL; l++)
            sums[p * TILE + r * PANEL + l] *= fade[r];
    }
  /* A query's sum has one order, so those of several go side by side. */
  for (int64_t r = 0; r < rows; r += TOGETHER)
    {
      float sum[TOGETHER] = { 0 };

      for (int l = 0; l < PANEL; l++)
        for (int i = 0; i < TOGETHER; i++)
          sum[i] += lane[r + i][l];
      for (int64_t i = 0; i < TOGETHER && r + i < rows; i++)
        total[r + i] = total[r + i] * fade[r + i] + sum[i];
    }
}

static void
attend (const Call *call, const Block *block, const float *keys, const float *values, float *queries, float *s,
        float *sums, Drawn *drawn)
{
  const Attention *self = call->self;
  int64_t first = (block->sample * self->heads + block->head) * self->queries + block->first;
  int64_t limit = reach (self, block);
  float top[QUERIES], total[QUERIES] = { 0 };

  put_columns (queries, TILE, call->q + first * self->width, block->rows, self->width, self->scale);
  memset (sums, 0, (size_t)(self->depth_panels * TILE) * sizeof (float));
  for (int64_t r = 0; r < block->rows; r++)
    top[r] = -INFINITY;
  for (int64_t from = 0; from < limit; from += KEYS)
    {
      int64_t n = limit - from < KEYS ? limit - from : KEYS;

      block_scores (call, block, queries, keys, from, n, s);
      draw_block (call, block, from, n, drawn);
      running_softmax (self, block->rows, n, s, top, total, sums);
      drop (&self->dropout, drawn, block->rows, n, s);
      for (int64_t p = 0; p < self->depth_panels; p++)
        product_all (block->rows, s, PANEL, 1, TILE, values + (p * self->keys + from) * PANEL, n, sums + p * TILE,
                     true);
    }
  for (int64_t r = 0; r < block->rows; r++)
    {
      call->lse[first + r] = (top[r] == -INFINITY ? 0 : top[r]) + cpu_log (total[r]);
      total[r] = total[r] == 0 ? 0 : 1 / total[r];
    }
  take_columns (call->y + first * self->depth, sums, TILE, block->rows, self->depth, total);
}

/* The parts from … to of `items` blocks of queries, in the order of samples, heads of keys, and heads that share them.
 */
static void
forward_part (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Attention *self = call->self;

  for (int64_t part = from; part < to; part++)
    {
      float *scratch = call->scratch + part * self->room;
      float *keys = take (&scratch, self->key_panels * PANEL * self->width);
      float *values = take (&scratch, self->keys * self->depth_panels * PANEL);
      float *queries = take (&scratch, self->width_panels * TILE), *s = take (&scratch, PANELS * TILE);
      float *sums = take (&scratch, self->depth_panels * TILE);
      Drawn drawn = { .word = take_words (self, &scratch) };
      int64_t share = self->heads / self->groups, packed = -1;

      for (int64_t item = self->items * part / self->chunks; item < self->items * (part + 1) / self->chunks; item++)
        {
          int64_t head = item / self->blocks, group = head / share;
          Block block = { head / self->heads, head % self->heads, item % self->blocks * QUERIES, 0 };

          block.rows = self->queries - block.first < QUERIES ? self->queries - block.first : QUERIES;
          if (packed != group)
            {
              put_rows (keys, call->key + group * self->keys * self->width, self->keys, self->width);
              put_columns (values, self->keys * PANEL, call->v + group * self->keys * self->depth, self->keys,
                           self->depth, 1);
              packed = group;
            }
          attend (call, &block, keys, values, queries, s, sums, &drawn);
        }
    }
}

static LoomStatus
forward_run (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Attention *self = (Attention *)k;
  Call call = { .self = self, .q = b[0], .key = b[1], .v = b[2], .mask = self->has_mask ? b[3] : NULL };

  take_numbers (self, b + 4, &call);
  call.y = b[k->n_in];
  call.lse = b[k->n_in + 1];
  call.scratch = b[k->n_in + k->n_out];
  if (self->items > 0)
    cpu_share (k, self->ns, self->chunks, forward_part, &call);
  return LOOM_STATUS_OK;
}

/* ---- backward --------------------------------------------------------------- */

/* What a thread works with: panels of a head's keys and values, of a block's queries and gradients, and sums. */
typedef struct
{
  float *keys, *keys_across, *values; /* [S / PANEL][E][PANEL], [E / PANEL][S][PANEL], [S / PANEL][D][PANEL] */
  float *dk, *dv;                     /* [S / PANEL][E or D / PANEL][PANEL][PANEL] */
  float *queries, *gradients, *dq;    /* [E / PANEL][QUERIES][PANEL], likewise of D, and of E */
  float *shares, *ds;                 /* [PANELS][QUERIES][PANEL] */
  Drawn drawn;
} Work;

/* Shares e^(s - lse) in place of scores, and ds = shares·(ds - delta) in place of the products of gradients and values.
 */
static void
share_gradient (int64_t rows, int64_t n, const float *lse, const float *delta, float *shares, float *ds)
{
  for (int64_t at = 0; at < n; at += PANEL, shares += TILE, ds += TILE)
    for (int64_t r = 0; r < rows; r++)
      {
        float *share = shares + r * PANEL, *d = ds + r * PANEL, base = lse[r] == -INFINITY ? 0 : lse[r];

#pragma GCC ivdep
        for (int l = 0; l < PANEL; l++)
          {
            share[l] = cpu_exp (share[l] - base);
            d[l] = share[l] * (d[l] - delta[r]);
          }
      }
}

static void
attend_back (const Call *call, const Block *block, Work *w)
{
  const Attention *self = call->self;
  int64_t first = (block->sample * self->heads + block->head) * self->queries + block->first;
  int64_t limit = reach (self, block), rows = block->rows;
  float scale[QUERIES];

  put_columns (w->queries, TILE, call->q + first * self->width, rows, self->width, self->scale);
  put_columns (w->gradients, TILE, call->g + first * self->depth, rows, self->depth, 1);
  memset (w->dq, 0, (size_t)(self->width_panels * TILE) * sizeof (float));
  for (int64_t from = 0; from < limit; from += KEYS)
    {
      int64_t n = limit - from < KEYS ? limit - from : KEYS;

      block_scores (call, block, w->queries, w->keys, from, n, w->shares);
      for (int64_t at = 0; at < n; at += PANEL)
        product_all (rows, w->gradients, PANEL, 1, TILE, w->values + (from + at) * self->depth, self->depth,
                     w->ds + at / PANEL * TILE, false);
      draw_block (call, block, from, n, &w->drawn);
      drop (&self->dropout, &w->drawn, rows, n, w->ds);
      share_gradient (rows, n, call->lse_in + first, call->delta + first, w->shares, w->ds);
      drop (&self->dropout, &w->drawn, rows, n, w->shares);
      for (int64_t p = 0; p < self->width_panels; p++)
        product_all (rows, w->ds, PANEL, 1, TILE, w->keys_across + (p * self->keys + from) * PANEL, n, w->dq + p * TILE,
                     true);
      for (int64_t at = 0; at < n; at += PANEL)
        {
          const float *shares = w->shares + at / PANEL * TILE, *ds = w->ds + at / PANEL * TILE;
          float *dk = w->dk + (from + at) * self->width_panels * PANEL;
          float *dv = w->dv + (from + at) * self->depth_panels * PANEL;
          int64_t in = n - at < PANEL ? n - at : PANEL;

          for (int64_t p = 0; p < self->width_panels; p++)
            product_all (in, ds, 1, PANEL, PANEL * PANEL, w->queries + p * TILE, rows, dk + p * PANEL * PANEL, true);
          for (int64_t p = 0; p < self->depth_panels; p++)
            product_all (in, shares, 1, PANEL, PANEL * PANEL, w->gradients + p * TILE, rows, dv + p * PANEL * PANEL,
                         true);
        }
    }
  for (int64_t r = 0; r < rows; r++)
    scale[r] = self->scale;
  take_columns (call->dq + first * self->width, w->dq, TILE, rows, self->width, scale);
}

/* The gradients of a head's keys or values, summed in [S / PANEL][columns / PANEL][PANEL][PANEL]: to [S, columns]. */
static void
put_sums (const Attention *self, float *to, const float *from, int64_t columns, int64_t panels)
{
  float one[PANEL];

  for (int64_t i = 0; i < PANEL; i++)
    one[i] = 1;
  for (int64_t at = 0; at < self->keys; at += PANEL)
    take_columns (to + at * columns, from + at * panels * PANEL, PANEL * PANEL,
                  self->keys - at < PANEL ? self->keys - at : PANEL, columns, one);
}

/* The parts from … to of `items` heads of keys. */
static void
backward_part (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Attention *self = call->self;
  int64_t share = self->heads / self->groups, rows = self->key_panels * PANEL;

  for (int64_t part = from; part < to; part++)
    {
      float *scratch = call->scratch + part * self->room;
      Work w = { .keys = take (&scratch, rows * self->width),
                 .keys_across = take (&scratch, self->width_panels * self->keys * PANEL),
                 .values = take (&scratch, rows * self->depth),
                 .dk = take (&scratch, rows * self->width_panels * PANEL),
                 .dv = take (&scratch, rows * self->depth_panels * PANEL),
                 .queries = take (&scratch, self->width_panels * TILE),
                 .gradients = take (&scratch, self->depth_panels * TILE),
                 .dq = take (&scratch, self->width_panels * TILE),
                 .shares = take (&scratch, PANELS * TILE),
                 .ds = take (&scratch, PANELS * TILE),
                 .drawn.word = take_words (self, &scratch) };

      for (int64_t item = self->items * part / self->chunks; item < self->items * (part + 1) / self->chunks; item++)
        {
          const float *key = call->key + item * self->keys * self->width;
          Block block = { .sample = item / self->groups };

          put_rows (w.keys, key, self->keys, self->width);
          put_columns (w.keys_across, self->keys * PANEL, key, self->keys, self->width, 1);
          put_rows (w.values, call->v + item * self->keys * self->depth, self->keys, self->depth);
          memset (w.dk, 0, (size_t)(rows * self->width_panels * PANEL) * sizeof (float));
          memset (w.dv, 0, (size_t)(rows * self->depth_panels * PANEL) * sizeof (float));
          for (int64_t h = 0; h < share; h++)
            for (block.first = 0; block.first < self->queries; block.first += QUERIES)
              {
                block.head = item % self->groups * share + h;
                block.rows = self->queries - block.first < QUERIES ? self->queries - block.first : QUERIES;
                attend_back (call, &block, &w);
              }
          put_sums (self, call->dk + item * self->keys * self->width, w.dk, self->width, self->width_panels);
          put_sums (self, call->dv + item * self->keys * self->depth, w.dv, self->depth, self->depth_panels);
        }
    }
}

static LoomStatus
backward_run (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Attention *self = (Attention *)k;
  Call call = { .self = self, .g = b[0], .q = b[1], .key = b[2], .v = b[3], .lse_in = b[4], .delta = b[5] };

  call.mask = self->has_mask ? b[6] : NULL;
  take_numbers (self, b + 8, &call);
  call.dq = b[k->n_in];
  call.dk = b[k->n_in + 1];
  call.dv = b[k->n_in + 2];
  call.scratch = b[k->n_in + k->n_out];
  if (self->items > 0)
    cpu_share (k, self->ns, self->chunks, backward_part, &call);
  return LOOM_STATUS_OK;
}

/* ---- kernels ---------------------------------------------------------------- */

/* in: q, k, v; mask is NULL where there is none. */
static LoomStatus
attention_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, const LoomTensorDesc *in,
               const LoomTensorDesc *mask, CpuWork work, Attention **out, LoomMessage *message)
{
  const LoomAttentionAttrs *a = spec->attrs;
  Attention *self;

  if (!cpu_all_f32 (spec) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->n = in[0].dim[0];
  self->heads = in[0].dim[1];
  self->groups = in[1].dim[1];
  self->queries = in[0].dim[2];
  self->keys = in[1].dim[2];
  self->width = in[0].dim[3];
  self->depth = in[2].dim[3];
  self->key_panels = (self->keys + PANEL - 1) / PANEL;
  self->width_panels = (self->width + PANEL - 1) / PANEL;
  self->depth_panels = (self->depth + PANEL - 1) / PANEL;
  self->blocks = (self->queries + QUERIES - 1) / QUERIES;
  self->causal = a->causal;
  self->scale = (float)a->scale;
  self->has_mask = a->has_mask;
  self->dropout = (Dropout){ .left = (float)(1 / (1 - a->dropout)),
                             .below = (int32_t)loom_philox_below ((float)a->dropout),
                             .stream = a->stream };
  if (a->has_mask)
    {
      int64_t stride = self->keys;

      self->mask_is_bool = mask->dtype == LOOM_BOOL;
      for (int i = 2; i >= 0; i--)
        {
          self->mask_stride[i] = mask->dim[i] > 1 ? stride : 0;
          stride *= mask->dim[i];
        }
    }
  self->ns = (double)(self->n * self->heads * self->queries) * (double)self->keys
             * (double)(self->width + self->depth + (a->dropout > 0 ? 24 : 16)) * 2 / FLOPS;
  *out = self;
  return LOOM_STATUS_OK;
}

/* `items` go to at most as many parts as there are threads, each with its room. */
static void
divide (Attention *self, int64_t items, int64_t room)
{
  self->items = items;
  self->chunks = items < self->k.threads ? items : self->k.threads;
  self->room = room;
  self->k.base.scratch_bytes = (size_t)(self->chunks * room) * sizeof (float);
}

static LoomStatus
forward_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
             LoomMessage *message)
{
  Attention *self;
  LoomStatus status = attention_new (device, spec, attrs_size, spec->in, spec->n_in > 3 ? &spec->in[3] : NULL,
                                     forward_run, &self, message);

  if (status != LOOM_STATUS_OK)
    return status;
  divide (self, self->n * self->heads * self->blocks,
          rounded (self->key_panels * PANEL * self->width) + rounded (self->keys * self->depth_panels * PANEL)
              + (self->width_panels + self->depth_panels + PANELS) * rounded (TILE) + word_room (self));
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

static LoomStatus
backward_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
              LoomMessage *message)
{
  Attention *self;
  const bool has_mask = ((const LoomAttentionAttrs *)spec->attrs)->has_mask;
  LoomStatus status = attention_new (device, spec, attrs_size, spec->in + 1, has_mask ? &spec->in[6] : NULL,
                                     backward_run, &self, message);
  int64_t rows;

  if (status != LOOM_STATUS_OK)
    return status;
  rows = self->key_panels * PANEL;
  self->ns *= 2.5;
  divide (self, self->n * self->groups,
          rounded (rows * self->width) + rounded (self->width_panels * self->keys * PANEL)
              + rounded (rows * self->depth) + rounded (rows * self->width_panels * PANEL)
              + rounded (rows * self->depth_panels * PANEL)
              + (2 * self->width_panels + self->depth_panels + 2 * PANELS) * rounded (TILE) + word_room (self));
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_attention) = {
  .name = "attention",
  .attrs_size = sizeof (LoomAttentionAttrs),
  .create = forward_new,
};

const CpuPrimitive ISA (cpu_attention_grad) = {
  .name = "attention_grad",
  .attrs_size = sizeof (LoomAttentionAttrs),
  .create = backward_new,
};
