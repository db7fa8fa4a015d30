/* The gradient of attention, which recomputes the weights by blocks of queries and keys (Dao et al.,
 * "FlashAttention", 2022). */
#include "kernels/cpu/cpu-attention.h"

/* The workspace of a thread: panels of a head's keys and values, of a block's queries and gradients, and sums. */
typedef struct
{
  float *keys, *keys_across, *values; /* [S / PANEL][E][PANEL], [E / PANEL][S][PANEL], [S / PANEL][D][PANEL] */
  float *dk, *dv;                     /* [S / PANEL][E or D / PANEL][PANEL][PANEL] */
  float *queries, *gradients, *dq;    /* [E / PANEL][QUERIES][PANEL], likewise of D, and of E */
  float *weights, *ds;                /* [PANELS][QUERIES][PANEL] */
  Drawn drawn;
} Work;

/* Replaces logits by weights e^(s - lse), and the products of gradients and values by ds = weights·(ds - delta). */
static void
weight_gradient (int64_t rows, int64_t n, const float *lse, const float *delta, float *weights, float *ds)
{
  for (int64_t at = 0; at < n; at += PANEL, weights += TILE, ds += TILE)
    for (int64_t r = 0; r < rows; r++)
      {
        float *weight = weights + r * PANEL, *d = ds + r * PANEL, base = lse[r] == -INFINITY ? 0 : lse[r];

#pragma GCC ivdep
        for (int l = 0; l < PANEL; l++)
          {
            weight[l] = cpu_exp (weight[l] - base);
            d[l] = weight[l] * (d[l] - delta[r]);
          }
      }
}

/* The delta of a block's queries: Σ g·y of each, unless it is an operand. */
static void
block_deltas (const Call *call, const Block *block, float *delta)
{
  const Attention *self = call->self;
  const float *g = call->g + block_place (self, LOOM_ATTENTION_G, block);
  const float *y = call->y_in;

  if (y == NULL)
    {
      memcpy (delta, call->delta + (block->sample * self->heads + block->head) * self->queries + block->first,
              (size_t)block->rows * sizeof *delta);
      return;
    }
  y += block_place (self, LOOM_ATTENTION_Y, block);
  for (int64_t r = 0; r < block->rows; r++)
    {
      float lane[PANEL] = { 0 };
      int64_t d = 0;

      for (; d + PANEL <= self->depth; d += PANEL)
        for (int l = 0; l < PANEL; l++)
          lane[l] += g[d + l] * y[d + l];
      for (int l = 0; d + l < self->depth; l++)
        lane[l] += g[d + l] * y[d + l];
      for (int half = PANEL / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
          lane[l] += lane[l + half];
      delta[r] = lane[0];
      g += self->rows[LOOM_ATTENTION_G].row;
      y += self->rows[LOOM_ATTENTION_Y].row;
    }
}

static void
attend_back (const Call *call, const Block *block, Work *w)
{
  const Attention *self = call->self;
  int64_t first = (block->sample * self->heads + block->head) * self->queries + block->first;
  int64_t limit = reach (self, block), rows = block->rows;
  float scale[QUERIES], delta[QUERIES];

  put_columns (w->queries, TILE, call->q + block_place (self, LOOM_ATTENTION_Q, block),
               self->rows[LOOM_ATTENTION_Q].row, rows, self->width, self->scale);
  put_columns (w->gradients, TILE, call->g + block_place (self, LOOM_ATTENTION_G, block),
               self->rows[LOOM_ATTENTION_G].row, rows, self->depth, 1);
  block_deltas (call, block, delta);
  memset (w->dq, 0, (size_t)(self->width_panels * TILE) * sizeof (float));
  for (int64_t from = 0; from < limit; from += KEYS)
    {
      int64_t n = limit - from < KEYS ? limit - from : KEYS;

      block_logits (call, block, w->queries, w->keys, from, n, w->weights);
      for (int64_t at = 0; at < n; at += PANEL)
        ISA (cpu_product_rows)
      (rows, w->gradients, TILE, w->values + (from + at) * self->depth, self->depth, PANEL, w->ds + at / PANEL * TILE,
       false);
      draw_block (call, block, from, n, &w->drawn);
      drop (&self->dropout, &w->drawn, rows, n, w->ds);
      weight_gradient (rows, n, call->lse_in + first, delta, w->weights, w->ds);
      drop (&self->dropout, &w->drawn, rows, n, w->weights);
      for (int64_t p = 0; p < self->width_panels; p++)
        ISA (cpu_product_rows)
      (rows, w->ds, TILE, w->keys_across + (p * self->keys + from) * PANEL, n, PANEL, w->dq + p * TILE, true);
      for (int64_t at = 0; at < n; at += PANEL)
        {
          const float *weights = w->weights + at / PANEL * TILE, *ds = w->ds + at / PANEL * TILE;
          float *dk = w->dk + (from + at) * self->width_panels * PANEL;
          float *dv = w->dv + (from + at) * self->depth_panels * PANEL;
          int64_t in = n - at < PANEL ? n - at : PANEL;

          for (int64_t p = 0; p < self->width_panels; p++)
            ISA (cpu_product_columns) (in, ds, w->queries + p * TILE, rows, PANEL, dk + p * PANEL * PANEL, true);
          for (int64_t p = 0; p < self->depth_panels; p++)
            ISA (cpu_product_columns) (in, weights, w->gradients + p * TILE, rows, PANEL, dv + p * PANEL * PANEL, true);
        }
    }
  for (int64_t r = 0; r < rows; r++)
    scale[r] = self->scale;
  take_columns (call->dq + block_place (self, LOOM_ATTENTION_DQ, block), self->rows[LOOM_ATTENTION_DQ].row, w->dq, TILE,
                rows, self->width, scale);
}

/* Writes the gradients of a head's keys or values, summed in [S / PANEL][columns / PANEL][PANEL][PANEL], to [S,
 * columns] with a row stride of `down` floats. */
static void
put_sums (const Attention *self, float *to, int64_t down, const float *from, int64_t columns, int64_t panels)
{
  float one[PANEL];

  for (int64_t i = 0; i < PANEL; i++)
    one[i] = 1;
  for (int64_t at = 0; at < self->keys; at += PANEL)
    take_columns (to + at * down, down, from + at * panels * PANEL, PANEL * PANEL,
                  self->keys - at < PANEL ? self->keys - at : PANEL, columns, one);
}

/* The parts from … to of `items` heads of keys. */
static void
backward_part (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Attention *self = call->self;
  int64_t per_group = self->heads / self->groups, rows = self->key_panels * PANEL;

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
                 .weights = take (&scratch, PANELS * TILE),
                 .ds = take (&scratch, PANELS * TILE),
                 .drawn.word = take_words (self, &scratch) };

      for (int64_t item = self->items * part / self->chunks; item < self->items * (part + 1) / self->chunks; item++)
        {
          const int64_t sample = item / self->groups, group = item % self->groups;
          const float *key = call->key + place_of (self, LOOM_ATTENTION_K, sample, group, 0);
          const float *value = call->v + place_of (self, LOOM_ATTENTION_V, sample, group, 0);
          const LoomAttentionRows *at = self->rows;
          Block block = { .sample = sample };

          put_rows (w.keys, key, at[LOOM_ATTENTION_K].row, self->keys, self->width);
          put_columns (w.keys_across, self->keys * PANEL, key, at[LOOM_ATTENTION_K].row, self->keys, self->width, 1);
          put_rows (w.values, value, at[LOOM_ATTENTION_V].row, self->keys, self->depth);
          memset (w.dk, 0, (size_t)(rows * self->width_panels * PANEL) * sizeof (float));
          memset (w.dv, 0, (size_t)(rows * self->depth_panels * PANEL) * sizeof (float));
          for (int64_t h = 0; h < per_group; h++)
            for (block.first = 0; block.first < self->queries; block.first += QUERIES)
              {
                block.head = group * per_group + h;
                block.rows = self->queries - block.first < QUERIES ? self->queries - block.first : QUERIES;
                attend_back (call, &block, &w);
              }
          put_sums (self, call->dk + place_of (self, LOOM_ATTENTION_DK, sample, group, 0), at[LOOM_ATTENTION_DK].row,
                    w.dk, self->width, self->width_panels);
          put_sums (self, call->dv + place_of (self, LOOM_ATTENTION_DV, sample, group, 0), at[LOOM_ATTENTION_DV].row,
                    w.dv, self->depth, self->depth_panels);
        }
    }
}

static LoomStatus
backward_run (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Attention *self = (Attention *)k;
  Call call = { .self = self, .g = b[0], .q = b[1], .key = b[2], .v = b[3], .lse_in = b[4] };

  if (self->has_delta)
    call.delta = b[5];
  else
    call.y_in = b[7];
  call.mask = self->has_mask ? b[6] : NULL;
  take_numbers (self, b + 8, &call);
  call.dq = b[k->n_in];
  call.dk = b[k->n_in + loom_attention_result (k->n_out, 1)];
  call.dv = b[k->n_in + loom_attention_result (k->n_out, 2)];
  call.scratch = b[k->n_in + k->n_out];
  if (self->items > 0)
    cpu_share (k, self->ns, self->chunks, backward_part, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
backward_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
              LoomMessage *message)
{
  Attention *self;
  const bool has_mask = ((const LoomAttentionAttrs *)spec->attrs)->has_mask;
  LoomStatus status
      = attention_new (device, spec, attrs_size, 1, has_mask ? &spec->in[6] : NULL, backward_run, &self, message);
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

const CpuPrimitive ISA (cpu_attention_grad) = {
  .name = "attention_grad",
  .attrs_size = sizeof (LoomAttentionAttrs),
  .create = backward_new,
};
