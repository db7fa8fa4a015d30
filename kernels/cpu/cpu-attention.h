/* Shared by attention and its gradient: the sizes of a call, the logits of a block of queries, and dropout.
 *
 * All factors are copied to panels (cpu-panels.h), keys and values of a sample's head once for all of its queries. A
 * block of queries [QUERIES, E] in panels is both the left factor of its logits and the right factor of the keys'
 * gradient. The sums have one order for any number of threads: a thread computes whole blocks of queries forward, and
 * whole heads of keys backward. */
#ifndef LOOM_CPU_ATTENTION_H
#define LOOM_CPU_ATTENTION_H

#include "kernels/attention.h"
#include "kernels/cpu/cpu-math.h"
#include "kernels/cpu/cpu-panel-rows.h"

#include <string.h>

#define QUERIES  48                /* of a block; a multiple of ROWS and TOGETHER */
#define TILE     (QUERIES * PANEL) /* floats of a block's panel */
#define PANELS   (128 / PANEL)     /* of keys in a block */
#define KEYS     (PANELS * PANEL)  /* in a block */
#define TOGETHER 8                 /* sums that are interleaved */
#define FLOPS    20.0              /* per nanosecond of one thread, to decide the number of threads */

#include "kernels/cpu/cpu-attention-drop.h"

typedef struct
{
  CpuKernel k;
  int64_t n, heads, groups, queries, keys, width, depth; /* N, H, K, T, S, E, D */
  int64_t key_panels, width_panels, depth_panels;
  int64_t blocks, items, chunks; /* blocks of queries in a head; items that threads share, and the number of parts */
  int64_t room;                  /* floats of scratch for each part */
  int64_t mask_stride[3];        /* of sample, head and query; 0 if one mask applies to all */
  LoomAttentionRows rows[LOOM_ATTENTION_N_OPERANDS];
  bool causal, has_mask, mask_is_bool, has_delta;
  float scale;
  Dropout dropout; /* without the numbers' seed, step and head indices */
  double ns;
} Attention;

typedef struct
{
  const Attention *self;
  /* The tensors with rows of [N,H,T,E], [N,K,S,E], [N,K,S,D], and [N,H,T,D]; lse and delta are [N,H,T]. delta NULL:
   * y_in is used instead. */
  const float *q, *key, *v, *g, *y_in, *lse_in, *delta;
  const void *mask; /* [N or 1, H or 1, T or 1, S] */
  float *y, *lse;
  float *dq, *dk, *dv;
  float *scratch; /* [chunks][room] */
  Dropout dropout;
} Call;

/* A block of queries. */
typedef struct
{
  int64_t sample, head, first, rows;
} Block;

/* The offset of a row of a head in the tensor of this part. */
static inline int64_t
place_of (const Attention *self, LoomAttentionOperand part, int64_t sample, int64_t head, int64_t row)
{
  const LoomAttentionRows *rows = &self->rows[part];

  return rows->start + sample * rows->sample + head * rows->head + row * rows->row;
}

/* The first of a block's queries, or of their results. */
static inline int64_t
block_place (const Attention *self, LoomAttentionOperand part, const Block *block)
{
  return place_of (self, part, block->sample, block->head, block->first);
}

static inline int64_t
rounded (int64_t floats)
{
  return (floats + 15) & ~(int64_t)15;
}

/* Reserves the next `floats` floats of scratch. */
static inline float *
take (float **scratch, int64_t floats)
{
  float *at = *scratch;

  *scratch += rounded (floats);
  return at;
}

/* ---- logits ----------------------------------------------------------------- ---- */

/* The number of keys that are not masked for the block of queries. */
static inline int64_t
reach (const Attention *self, const Block *block)
{
  int64_t last = block->first + block->rows;

  return self->causal && last < self->keys ? last : self->keys;
}

/* Computes the scaled logits of a block's queries [E / PANEL][QUERIES][PANEL] and n keys from `from` on, -∞ for masked
 * keys: s [PANELS][QUERIES][PANEL]. keys: panels [S / PANEL][E][PANEL]. */
static inline void
block_logits (const Call *call, const Block *block, const float *queries, const float *keys, int64_t from, int64_t n,
              float *s)
{
  const Attention *self = call->self;

  for (int64_t at = 0; at < n; at += PANEL, s += TILE)
    {
      int64_t in = n - at < PANEL ? n - at : PANEL;

      ISA (cpu_product_rows)
      (block->rows, queries, TILE, keys + (from + at) * self->width, self->width, PANEL, s, false);
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

/* b: seed, step and position, if there is dropout. */
static inline void
take_numbers (const Attention *self, void *const *b, Call *call)
{
  call->dropout = self->dropout;
  if (self->dropout.left == 1)
    return;
  call->dropout.seed = (uint64_t) * (const int64_t *)b[0];
  call->dropout.step = (uint64_t) * (const int64_t *)b[1];
  call->dropout.head_index = b[2];
}

/* The workspace of a block's random numbers, in floats. */
static inline int64_t
word_room (const Attention *self)
{
  return self->dropout.left == 1 ? 0 : rounded (WORDS);
}

static inline uint32_t *
take_words (const Attention *self, float **scratch)
{
  return word_room (self) == 0 ? NULL : memset (take (scratch, WORDS), 0, WORDS * sizeof (uint32_t));
}

/* Draws the numbers of a block's queries and n keys from `from` on. */
static inline void
draw_block (const Call *call, const Block *block, int64_t from, int64_t n, Drawn *drawn)
{
  const Attention *self = call->self;
  const int64_t head = block->sample * self->heads + block->head;

  if (drawn->word != NULL)
    draw (&call->dropout, (call->dropout.head_index[head] * self->queries + block->first) * self->keys + from,
          self->keys, block->rows, n, self->causal, block->first - from + 1, drawn);
}

/* ---- kernels ---------------------------------------------------------------- */

/* q is operand number `first`; mask NULL: there is none. */
static inline LoomStatus
attention_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, int first, const LoomTensorDesc *mask,
               CpuWork work, Attention **out, LoomMessage *message)
{
  const LoomAttentionAttrs *a = spec->attrs;
  LoomAttentionSizes sizes;
  Attention *self;

  if (!cpu_all_f32 (spec) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  sizes = loom_attention_strides (a, spec->in, first, self->rows);
  self->n = sizes.n;
  self->heads = sizes.heads;
  self->groups = sizes.groups;
  self->queries = sizes.queries;
  self->keys = sizes.keys;
  self->width = sizes.width;
  self->depth = sizes.depth;
  self->has_delta = first == 1 && loom_attention_has_delta (spec->in);
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

/* Divides `items` into at most as many parts as there are threads, each with `room` floats of scratch. */
static inline void
divide (Attention *self, int64_t items, int64_t room)
{
  self->items = items;
  self->chunks = items < self->k.threads ? items : self->k.threads;
  self->room = room;
  self->k.base.scratch_bytes = (size_t)(self->chunks * room) * sizeof (float);
}

#endif
