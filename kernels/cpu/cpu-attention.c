/* Scaled dot-product attention by blocks of queries and keys: only one block of logits per thread is kept
 * (Dao et al., "FlashAttention", 2022; the softmax's running sums are Milakov and Gimelshein's, 2018). */
#include "kernels/cpu/cpu-attention.h"

/* The larger of two numbers. A NaN may be lost here, but its exponential makes the sum NaN. */
INLINE float
larger (float a, float b)
{
  return a > b ? a : b;
}

/* The largest of n logits of a query, s [PANELS][QUERIES][PANEL]. Computed by halves, since the order does not affect
 * it. */
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

/* Replaces the logits s [PANELS][QUERIES][PANEL] of n keys by e^(s - top), top being the largest so far, and rescales
 * the sums so far, total [rows] and sums [D / PANEL][QUERIES][PANEL]. */
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
  /* A query's sum has a fixed order, so the sums of several queries are interleaved. */
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

  put_columns (queries, TILE, call->q + block_place (self, LOOM_ATTENTION_Q, block), self->rows[LOOM_ATTENTION_Q].row,
               block->rows, self->width, self->scale);
  memset (sums, 0, (size_t)(self->depth_panels * TILE) * sizeof (float));
  for (int64_t r = 0; r < block->rows; r++)
    top[r] = -INFINITY;
  for (int64_t from = 0; from < limit; from += KEYS)
    {
      int64_t n = limit - from < KEYS ? limit - from : KEYS;

      block_logits (call, block, queries, keys, from, n, s);
      draw_block (call, block, from, n, drawn);
      running_softmax (self, block->rows, n, s, top, total, sums);
      drop (&self->dropout, drawn, block->rows, n, s);
      for (int64_t p = 0; p < self->depth_panels; p++)
        ISA (cpu_product_rows)
      (block->rows, s, TILE, values + (p * self->keys + from) * PANEL, n, PANEL, sums + p * TILE, true);
    }
  for (int64_t r = 0; r < block->rows; r++)
    {
      call->lse[first + r] = (top[r] == -INFINITY ? 0 : top[r]) + cpu_log (total[r]);
      total[r] = total[r] == 0 ? 0 : 1 / total[r];
    }
  take_columns (call->y + block_place (self, LOOM_ATTENTION_Y, block), self->rows[LOOM_ATTENTION_Y].row, sums, TILE,
                block->rows, self->depth, total);
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
      int64_t per_group = self->heads / self->groups, packed = -1;

      for (int64_t item = self->items * part / self->chunks; item < self->items * (part + 1) / self->chunks; item++)
        {
          int64_t head = item / self->blocks, group = head / per_group;
          Block block = { head / self->heads, head % self->heads, item % self->blocks * QUERIES, 0 };

          block.rows = self->queries - block.first < QUERIES ? self->queries - block.first : QUERIES;
          if (packed != group)
            {
              const int64_t sample = group / self->groups, of = group % self->groups;

              put_rows (keys, call->key + place_of (self, LOOM_ATTENTION_K, sample, of, 0),
                        self->rows[LOOM_ATTENTION_K].row, self->keys, self->width);
              put_columns (values, self->keys * PANEL, call->v + place_of (self, LOOM_ATTENTION_V, sample, of, 0),
                           self->rows[LOOM_ATTENTION_V].row, self->keys, self->depth, 1);
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

static LoomStatus
forward_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
             LoomMessage *message)
{
  Attention *self;
  LoomStatus status
      = attention_new (device, spec, attrs_size, 0, spec->n_in > 3 ? &spec->in[3] : NULL, forward_run, &self, message);

  if (status != LOOM_STATUS_OK)
    return status;
  divide (self, self->n * self->heads * self->blocks,
          rounded (self->key_panels * PANEL * self->width) + rounded (self->keys * self->depth_panels * PANEL)
              + (self->width_panels + self->depth_panels + PANELS) * rounded (TILE) + word_room (self));
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_attention) = {
  .name = "attention",
  .attrs_size = sizeof (LoomAttentionAttrs),
  .create = forward_new,
};
