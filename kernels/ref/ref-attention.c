/* Scaled dot-product attention and its gradient, a query at a time. */
#include "kernels/philox.h"
#include "kernels/ref/ref.h"

#include <math.h>

/* One query's place: its row among all queries, and the first of the keys and values that it reads. */
typedef struct
{
  int64_t queries, keys, width, depth; /* T, S, E, D */
  int64_t query, row, first;           /* t, (n·H + h)·T + t, (n·K + h / (H/K))·S */
  const void *mask;                    /* of this query, [S] */
  uint64_t seed, step, number;         /* of the numbers that drop keys, and which is that of the first key */
} Place;

/* The place of query `row`, counted through all samples and heads. */
static Place
place_of (const LoomAttentionAttrs *a, const LoomTensorDesc *q, const LoomTensorDesc *k, const LoomTensorDesc *v,
          const LoomTensorDesc *mask, const void *mask_data, int64_t row)
{
  int64_t heads = q->dim[1], queries = q->dim[2], n = row / queries / heads, h = row / queries % heads;
  Place at = { .queries = queries, .keys = k->dim[2], .width = q->dim[3], .depth = v->dim[3] };

  at.query = row % queries;
  at.row = row;
  at.first = (n * k->dim[1] + h / (heads / k->dim[1])) * at.keys;
  if (a->has_mask)
    {
      int64_t m = mask->dim[0] > 1 ? n : 0;

      m = m * mask->dim[1] + (mask->dim[1] > 1 ? h : 0);
      m = m * mask->dim[2] + (mask->dim[2] > 1 ? at.query : 0);
      at.mask = (const char *)mask_data + (size_t)(m * at.keys) * loom_dtype_size (mask->dtype);
    }
  return at;
}

/* Where keys are dropped, b is seed, step and place. */
static void
place_numbers (const LoomAttentionAttrs *a, Place *at, void *const *b)
{
  if (a->dropout == 0)
    return;
  at->seed = (uint64_t) * (const int64_t *)b[0];
  at->step = (uint64_t) * (const int64_t *)b[1];
  at->number = (uint64_t)((((const int64_t *)b[2])[at->row / at->queries] * at->queries + at->query) * at->keys);
}

/* What the share of key j is times: 0 where it is dropped. dropout: the attribute in the type that is computed in. */
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

#define T        float
#define FN(name) name##_f32
#include "kernels/ref/ref-attention.inc.c"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "kernels/ref/ref-attention.inc.c"

static RefWork
choose_attention (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, attention);
}

static RefWork
choose_attention_grad (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, attention_grad);
}

const RefPrimitive ref_attention = {
  .name = "attention",
  .attrs_size = sizeof (LoomAttentionAttrs),
  .choose = choose_attention,
};

const RefPrimitive ref_attention_grad = {
  .name = "attention_grad",
  .attrs_size = sizeof (LoomAttentionAttrs),
  .choose = choose_attention_grad,
};
