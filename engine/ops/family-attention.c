/* Emits scaled dot-product attention (Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1). */
#include "engine/ops/family-attention.h"

#include <math.h>

/* Heads up to this size use the primitive, which does not store the attention scores; every back end implements it
 * for them. */
#define MOST_FEATURES 256

/* The sizes of the operands, and v in the shape of the scores: [N, K, H/K, T, S]. */
typedef struct
{
  LoomProgram *p;
  LoomDType dtype;
  gint64 n, heads, groups, heads_per_group, queries, keys, width, depth;
} Sizes;

static Sizes
sizes_of (LoomLower *ctx, const LoomAttention *a)
{
  LoomTensorDesc q = loom_op_desc (ctx, a->q), k = loom_op_desc (ctx, a->k), v = loom_op_desc (ctx, a->v);

  return (Sizes){ .p = loom_lower_program (ctx),
                  .dtype = q.dtype,
                  .n = q.dim[0],
                  .heads = q.dim[1],
                  .groups = k.dim[1],
                  .heads_per_group = k.dim[1] > 0 ? q.dim[1] / k.dim[1] : 1,
                  .queries = q.dim[2],
                  .keys = k.dim[2],
                  .width = q.dim[3],
                  .depth = v.dim[3] };
}

/* [N or 1, H or 1, T or 1, …] in the shape [N, K, H/K, T, S]. */
static LoomValue
like_scores (LoomLower *ctx, const Sizes *s, LoomValue v)
{
  LoomTensorDesc d = loom_op_desc (ctx, v);
  gboolean each = d.dim[1] == s->heads;

  return loom_reshape (s->p, v, 5,
                       (gint64[]){ d.dim[0], each ? s->groups : 1, each ? s->heads_per_group : 1, d.dim[2], d.dim[3] });
}

static LoomValue
kept (Sizes *s, LoomValue where, LoomValue v, double otherwise)
{
  return loom_ternary (s->p, LOOM_SCALAR_SELECT, where, v, loom_const (s->p, s->dtype, otherwise));
}

/* The attention weights [N, K, H/K, T, S]. A query whose keys are all masked gets scores of 0 in place of -∞, so
 * that its gradient is not NaN, and then weights of 0. */
static LoomValue
weights_of (LoomLower *ctx, const LoomAttention *a, Sizes *s)
{
  LoomProgram *p = s->p;
  LoomSoftmaxAttrs last = { .axis = 4 };
  LoomValue q = loom_reshape (p, a->q, 5, (gint64[]){ s->n, s->groups, s->heads_per_group, s->queries, s->width });
  LoomValue k = loom_reshape (p, a->k, 5, (gint64[]){ s->n, s->groups, 1, s->keys, s->width });
  LoomValue v
      = loom_binary (p, LOOM_SCALAR_MUL, loom_matmul (p, q, k, FALSE, TRUE), loom_const (p, s->dtype, a->scale));
  LoomValue some = 0;

  if (a->mask != 0)
    {
      LoomValue mask = like_scores (ctx, s, a->mask);

      if (loom_op_desc (ctx, mask).dtype == LOOM_BOOL)
        v = kept (s, mask, v, -INFINITY);
      else
        v = loom_binary (p, LOOM_SCALAR_ADD, v, mask);
    }
  if (a->causal)
    v = kept (s, loom_op_band (p, s->queries, s->keys, 0, LOOM_SCALAR_GE), v, -INFINITY);
  if (a->mask != 0)
    {
      some = loom_binary (p, LOOM_SCALAR_GT, loom_detach (p, loom_reduce (p, LOOM_REDUCE_MAX, v, 1u << 4, TRUE)),
                          loom_const (p, s->dtype, -INFINITY));
      v = kept (s, some, v, 0);
    }
  v = loom_emit (p, loom_prim ("softmax"), &last, 1, &v, NULL);
  return some != 0 ? kept (s, some, v, 0) : v;
}

/* Attention over the positions of earlier runs and of this one. The keys and values are stored for the next run. */
static LoomValue
attend_kept (LoomLower *ctx, const LoomAttention *a, const Sizes *s)
{
  LoomProgram *p = s->p;
  LoomAttentionCachedAttrs attrs = { .scale = a->scale };
  gint64 capacity = loom_lower_carry_capacity (ctx);
  int slot[2]
      = { loom_lower_carry_slot (ctx, "keys", s->dtype, 4, (gint64[]){ s->n, s->groups, capacity, s->width }),
          loom_lower_carry_slot (ctx, "values", s->dtype, 4, (gint64[]){ s->n, s->groups, capacity, s->depth }) };
  LoomValue in[6] = { a->q, a->k, a->v, loom_program_read (p, slot[0]), loom_program_read (p, slot[1]) }, out[3];

  in[5] = loom_lower_carry_position (ctx);
  loom_emit (p, loom_prim ("attention_cached"), &attrs, 6, in, out);
  for (int i = 0; i < 2; i++)
    loom_program_commit (p, slot[i], out[i]);
  return out[2];
}

/* TRUE if the keys belong to the same positions as the queries, so that a growing sequence can cache them. */
static gboolean
can_keep (LoomLower *ctx, const LoomAttention *a, const Sizes *s)
{
  return a->causal && a->mask == 0 && s->queries == s->keys && s->width <= MOST_FEATURES && s->depth <= MOST_FEATURES
         && s->queries <= loom_lower_carry_capacity (ctx);
}

/* The number of each head among all, [N,H]; it stays with the head if a program is partitioned. */
static LoomValue
head_numbers (const Sizes *s)
{
  LoomIotaTo sample
      = { .kernel = { .axis = 0, .step = (double)s->heads }, .dtype = LOOM_I64, .to = { 2, { s->n, s->heads } } };
  LoomIotaTo head = { .kernel = { .axis = 1, .step = 1 }, .dtype = LOOM_I64, .to = { 2, { s->n, s->heads } } };

  return loom_binary (s->p, LOOM_SCALAR_ADD, loom_emit (s->p, loom_prim ("iota"), &sample, 0, NULL, NULL),
                      loom_emit (s->p, loom_prim ("iota"), &head, 0, NULL, NULL));
}

LoomValue
loom_op_attend (LoomLower *ctx, const LoomAttention *a, LoomValue *weights)
{
  Sizes s = sizes_of (ctx, a);
  LoomProgram *p = s.p;
  gboolean drops = a->dropout > 0 && loom_lower_is_training (ctx);
  gboolean whole = s.width <= MOST_FEATURES && s.depth <= MOST_FEATURES && !(drops && a->dropout >= 1);
  LoomValue probabilities = weights != NULL || !whole ? weights_of (ctx, a, &s) : 0, y;

  /* The primitive drops the same weights. */
  if (drops && probabilities != 0)
    {
      gint64 dims[5] = { s.n, s.groups, s.heads_per_group, s.queries, s.keys };
      LoomValue keep = loom_binary (p, LOOM_SCALAR_GE, loom_lower_random (ctx, LOOM_RANDOM_UNIFORM, 0, 5, dims),
                                    loom_const (p, s.dtype, a->dropout));

      probabilities = loom_binary (p, LOOM_SCALAR_MUL, kept (&s, keep, probabilities, 0),
                                   loom_const (p, s.dtype, a->dropout < 1 ? 1 / (1 - a->dropout) : 0));
    }
  if (weights != NULL)
    *weights = loom_reshape (p, probabilities, 4, (gint64[]){ s.n, s.heads, s.queries, s.keys });
  if (whole && can_keep (ctx, a, &s))
    return attend_kept (ctx, a, &s);
  if (whole)
    {
      LoomAttentionAttrs attrs = { .scale = a->scale, .causal = a->causal, .has_mask = a->mask != 0 };
      LoomValue in[7] = { a->q, a->k, a->v, a->mask }, out[2];

      if (drops)
        {
          attrs.dropout = a->dropout;
          attrs.stream = loom_lower_random_from (ctx, 0, &in[4], &in[5]);
          in[6] = head_numbers (&s);
        }
      loom_emit (p, loom_prim ("attention"), &attrs, drops ? 7 : 4, in, out);
      return out[0];
    }
  y = loom_matmul (p, probabilities, loom_reshape (p, a->v, 5, (gint64[]){ s.n, s.groups, 1, s.keys, s.depth }), FALSE,
                   FALSE);
  return loom_reshape (p, y, 4, (gint64[]){ s.n, s.heads, s.queries, s.depth });
}

/* One product for the scores, one for the values, and five operations for each attention weight. */
double
loom_op_attention_flops (double rows, double keys, double width, double depth)
{
  return rows * keys * (2 * width + 2 * depth + 5);
}
