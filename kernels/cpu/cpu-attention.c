/* Scaled dot-product attention and its gradient by blocks of queries and keys: what is kept of the scores is one block
 * of them a thread (Dao et al., "FlashAttention", 2022; the softmax's running sums are Milakov and Gimelshein's, 2018).
 *
 * Everything that is multiplied lies in panels (cpu-panels.h), keys and values of a sample's head once for all of its
 * queries. A block of queries [QUERIES, E] in panels is both the left factor of its scores and the right one of the
 * keys' gradient. The sums have one order for any number of threads: a thread does whole blocks of queries forward, and
 * backward whole heads of keys. */
#include "kernels/cpu/cpu-math.h"
#include "kernels/cpu/cpu-panels.h"
#include "kernels/cpu/cpu-philox.h"

#include <string.h>

#define QUERIES 48                /* of a block; a multiple of ROWS */
#define TILE    (QUERIES * PANEL) /* floats of a block's panel */
#define PANELS  (128 / PANEL)     /* of keys in a block */
#define KEYS    (PANELS * PANEL)  /* in a block */
#define FLOPS   20.0              /* in a nanosecond, of one thread: to see whether threads pay */

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
  float left;     /* what the shares that dropout leaves are times; 1: it drops none */
  uint32_t below; /* 24 bits of a number below this drop a share */
  uint64_t stream;
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
  uint64_t seed, step;
  const int64_t *place; /* [N,H]; NULL: nothing is dropped */
} Call;

/* A block of queries. */
typedef struct
{
  int64_t sample, head, first, rows;
} Block;

/* Takes the next `floats` floats of a scratch. */
static float *
take (float **scratch, int64_t floats)
{
  float *at = *scratch;

  *scratch += (floats + 15) & ~(int64_t)15;
  return at;
}

/* ---- panels ----------------------------------------------------------------- */

/* from [rows, columns] times `scale` to panels of its columns, `stride` floats apart: to [columns /
 * PANEL][rows][PANEL]. */
static void
put_columns (float *to, int64_t stride, const float *from, int64_t rows, int64_t columns, float scale)
{
  for (int64_t at = 0; at < columns; at += PANEL, to += stride)
    for (int64_t r = 0; r < rows; r++)
      {
        const float *row = from + r * columns + at;
        int64_t n = columns - at;
        V right = { 0 };

        if (n > LANES)
          right = load (row + LANES, n - LANES) * scale;
        store (to + r * PANEL, load (row, n) * scale, PANEL);
        store (to + r * PANEL + LANES, right, PANEL);
      }
}

/* from [rows, columns] turned: to [rows / PANEL][columns][PANEL], the last panel filled up with zeros. */
static void
put_rows (float *to, const float *from, int64_t rows, int64_t columns)
{
  for (int64_t at = 0; at < rows; at += PANEL, to += columns * PANEL)
    {
      int64_t n = rows - at < PANEL ? rows - at : PANEL;

      for (int64_t c = 0; c < columns; c++)
        {
          for (int64_t r = 0; r < n; r++)
            to[c * PANEL + r] = from[(at + r) * columns + c];
          for (int64_t r = n; r < PANEL; r++)
            to[c * PANEL + r] = 0;
        }
    }
}

/* The first `columns` columns of panels [columns / PANEL][…][PANEL], `stride` floats apart, times a factor for each
 * row: to [rows, columns]. */
static void
take_columns (float *to, const float *from, int64_t stride, int64_t rows, int64_t columns, const float *factor)
{
  for (int64_t at = 0; at < columns; at += PANEL, from += stride)
    for (int64_t r = 0; r < rows; r++)
      {
        float *row = to + r * columns + at;
        int64_t n = columns - at;

        store (row, *(const V *)(from + r * PANEL) * factor[r], n);
        if (n > LANES)
          store (row + LANES, *(const V *)(from + r * PANEL + LANES) * factor[r], n - LANES);
      }
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
          kept = kept < in ? (kept > 0 ? kept : 0) : in;
          for (int64_t i = kept; i < PANEL; i++)
            row[i] = -INFINITY;
        }
    }
}

/* ---- dropout ---------------------------------------------------------------- */

/* What shares are times, 0 or `left`, for a block's queries and n keys from `from` on: kept [PANELS][QUERIES][PANEL].
 */
static void
find_kept (const Call *call, const Block *block, int64_t from, int64_t n, float *kept)
{
  const Attention *self = call->self;
  const int64_t row = call->place[block->sample * self->heads + block->head] * self->queries + block->first;

  for (int64_t r = 0; r < block->rows; r++)
    {
      const int64_t number = (row + r) * self->keys + from, begin = number & ~(int64_t)3;
      const int64_t before = self->causal ? block->first + r - from + 1 : n; /* keys behind it have no share */
      const int64_t wanted = before < n ? (before > 0 ? before : 0) : n;
      float line[KEYS + 4 + 4 * CPU_PHILOX_LANES];

      for (int64_t at = begin; at < number + wanted; at += 4 * CPU_PHILOX_LANES)
        {
          uint32_t word[4][CPU_PHILOX_LANES];

          cpu_philox (call->seed, self->stream, call->step, (uint64_t)at / 4, word);
          for (int l = 0; l < CPU_PHILOX_LANES; l++)
            for (int i = 0; i < 4; i++)
              line[at - begin + 4 * l + i] = word[i][l] >> 8 < self->below ? 0 : self->left;
        }
      for (int64_t at = 0; at < n; at += PANEL)
        for (int64_t l = 0; l < PANEL; l++)
          kept[at / PANEL * TILE + r * PANEL + l] = at + l < wanted ? line[number - begin + at + l] : 0;
    }
}

/* x and kept [PANELS][QUERIES][PANEL], of n keys. */
static void
keep (float *x, const float *kept, int64_t rows, int64_t n)
{
  for (int64_t at = 0; at < n; at += PANEL, x += TILE, kept += TILE)
    for (int64_t i = 0; i < rows * PANEL; i++)
      x[i] *= kept[i];
}

/* ---- forward ---------------------------------------------------------------- */

/* Scores s [PANELS][QUERIES][PANEL] of n keys become e^(s - top), top being the largest so far; what was summed before,
 * total [rows] and sums [D / PANEL][QUERIES][PANEL], follows. */
static void
running_softmax (const Attention *self, int64_t rows, int64_t n, float *s, float *top, float *total, float *sums)
{
  for (int64_t r = 0; r < rows; r++)
    {
      float lane[PANEL], most = top[r], base, fade, sum = 0;

      for (int l = 0; l < PANEL; l++)
        lane[l] = s[r * PANEL + l];
      for (int64_t at = PANEL; at < n; at += PANEL)
        for (int l = 0; l < PANEL; l++)
          {
            float v = s[at / PANEL * TILE + r * PANEL + l];

            lane[l] = ((v > lane[l]) | (v != v)) ? v : lane[l];
          }
      for (int l = 0; l < PANEL; l++)
        most = ((lane[l] > most) | (lane[l] != lane[l])) ? lane[l] : most;
      base = most == -INFINITY ? 0 : most;
      fade = cpu_exp (top[r] - base);
      memset (lane, 0, sizeof lane);
      for (int64_t at = 0; at < n; at += PANEL)
        {
          float *row = s + at / PANEL * TILE + r * PANEL;

#pragma GCC ivdep
          for (int l = 0; l < PANEL; l++)
            {
              row[l] = cpu_exp (row[l] - base);
              lane[l] += row[l];
            }
        }
      for (int l = 0; l < PANEL; l++)
        sum += lane[l];
      total[r] = total[r] * fade + sum;
      if (fade != 1)
        for (int64_t p = 0; p < self->depth_panels; p++)
          for (int l = 0; l < PANEL; l++)
            sums[p * TILE + r * PANEL + l] *= fade;
      top[r] = most;
    }
}

static void
attend (const Call *call, const Block *block, const float *keys, const float *values, float *queries, float *s,
        float *sums, float *kept)
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
      running_softmax (self, block->rows, n, s, top, total, sums);
      if (call->place != NULL)
        {
          find_kept (call, block, from, n, kept);
          keep (s, kept, block->rows, n);
        }
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
      float *kept = call->place != NULL ? take (&scratch, PANELS * TILE) : NULL;
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
          attend (call, &block, keys, values, queries, s, sums, kept);
        }
    }
}

/* b: seed, step and place, where there is dropout. */
static void
take_numbers (const Attention *self, void *const *b, Call *call)
{
  if (self->left == 1)
    return;
  call->seed = (uint64_t) * (const int64_t *)b[0];
  call->step = (uint64_t) * (const int64_t *)b[1];
  call->place = b[2];
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
  float *shares, *ds, *kept;          /* [PANELS][QUERIES][PANEL] */
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
      if (call->place != NULL)
        {
          find_kept (call, block, from, n, w->kept);
          keep (w->ds, w->kept, rows, n);
        }
      share_gradient (rows, n, call->lse_in + first, call->delta + first, w->shares, w->ds);
      if (call->place != NULL)
        keep (w->shares, w->kept, rows, n);
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
                 .kept = call->place != NULL ? take (&scratch, PANELS * TILE) : NULL };

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

static int64_t
rounded (int64_t floats)
{
  return (floats + 15) & ~(int64_t)15;
}

/* Panels of a block's scores, with those of what is kept of them. */
static int64_t
kept_panels (const Attention *self, int64_t panels)
{
  return self->left != 1 ? panels + PANELS : panels;
}

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
  self->left = (float)(1 / (1 - a->dropout));
  self->below = loom_philox_below ((float)a->dropout);
  self->stream = a->stream;
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
             * (double)(self->width + self->depth + (a->dropout > 0 ? 32 : 16)) * 2 / FLOPS;
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
              + (self->width_panels + self->depth_panels + kept_panels (self, PANELS)) * rounded (TILE));
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
              + (2 * self->width_panels + self->depth_panels + kept_panels (self, 2 * PANELS)) * rounded (TILE));
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
