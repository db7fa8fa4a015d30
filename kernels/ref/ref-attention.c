/* Scaled dot-product attention and its gradient, a query at a time.
 *
 * A masked key has the weight 0, by which its value and, in the gradient, the key itself are multiplied. An infinity or
 * NaN there reaches every query, because 0 · NaN is NaN. The primitive's expansion and the blocks of all other back
 * ends compute in the same way, and so does PyTorch 2.15 (which also adds -∞ to the logit for a bool mask, so that a
 * key that is NaN reaches the forward pass). Other back ends need not read keys that causality excludes for a whole
 * block of queries. */
#include "kernels/attention.h"
#include "kernels/philox.h"
#include "kernels/ref/ref.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The position of one query: its number among all queries, and the beginning of its rows and those of its keys. */
typedef struct
{
  LoomAttentionSizes of;
  LoomAttentionRows rows[LOOM_ATTENTION_N_OPERANDS];
  int64_t query, row;                       /* t, (n·H + h)·T + t */
  int64_t start[LOOM_ATTENTION_N_OPERANDS]; /* the offset of the query's row, or of the first key's */
  const void *mask;                         /* of this query, [S] */
  uint64_t seed, step, number; /* seed and step of the dropout numbers, and the number of the first key's */
} Place;

/* The position of query `row`, counted through all samples and heads. */
static void
place_move (const LoomAttentionAttrs *a, Place *at, const LoomTensorDesc *mask, const void *mask_data, int64_t row)
{
  const LoomAttentionSizes *s = &at->of;
  const int64_t n = row / s->queries / s->heads, h = row / s->queries % s->heads;

  at->query = row % s->queries;
  at->row = row;
  for (int i = 0; i < LOOM_ATTENTION_N_OPERANDS; i++)
    {
      const bool of_keys
          = i == LOOM_ATTENTION_K || i == LOOM_ATTENTION_V || i == LOOM_ATTENTION_DK || i == LOOM_ATTENTION_DV;
      const LoomAttentionRows *rows = &at->rows[i];

      at->start[i] = rows->start + n * rows->sample
                     + (of_keys ? h / (s->heads / s->groups) * rows->head : h * rows->head + at->query * rows->row);
    }
  if (a->has_mask)
    {
      int64_t m = mask->dim[0] > 1 ? n : 0;

      m = m * mask->dim[1] + (mask->dim[1] > 1 ? h : 0);
      m = m * mask->dim[2] + (mask->dim[2] > 1 ? at->query : 0);
      at->mask = (const char *)mask_data + (size_t)(m * s->keys) * loom_dtype_size (mask->dtype);
    }
}

/* With dropout, b is seed, step and position. */
static void
place_numbers (const LoomAttentionAttrs *a, Place *at, void *const *b)
{
  if (a->dropout == 0)
    return;
  at->seed = (uint64_t) * (const int64_t *)b[0];
  at->step = (uint64_t) * (const int64_t *)b[1];
  at->number
      = (uint64_t)((((const int64_t *)b[2])[at->row / at->of.queries] * at->of.queries + at->query) * at->of.keys);
}

/* The factor of key j's weight: 0 if it is dropped. dropout: the attribute in the type of the computation. */
static double
kept (const LoomAttentionAttrs *a, double dropout, const Place *at, int64_t j)
{
  const uint64_t i = at->number + (uint64_t)j;
  uint32_t word[4];

  if (a->dropout == 0)
    return 1;
  loom_philox (at->seed, a->stream, at->step, i / 4, word);
  return word[i % 4] >> 8 < loom_philox_below (dropout) ? 0 : 1 / (1 - a->dropout);
}

#define REF_LOOPS "kernels/ref/ref-attention.inc.c"
#include "kernels/ref/ref-floats.h"

const RefPrimitive ref_attention = { REF_FLOATS (attention), .attrs_size = sizeof (LoomAttentionAttrs) };
const RefPrimitive ref_attention_grad = { REF_FLOATS (attention_grad), .attrs_size = sizeof (LoomAttentionAttrs) };
