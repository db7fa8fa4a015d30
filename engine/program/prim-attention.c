/* Scaled dot-product attention and its gradient, as composites, so that back ends need not store the matrix of logits.
 * expand() has the formulas in core primitives (Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1).
 * Their sharding rule is also here. */
#include "engine/program/partition-sharding.h"
#include "engine/program/position-rules.h"

#include <math.h>

#include "kernels/attention.h"

#define ADD(a, b) loom_binary (p, LOOM_SCALAR_ADD, a, b)
#define SUB(a, b) loom_binary (p, LOOM_SCALAR_SUB, a, b)
#define MUL(a, b) loom_binary (p, LOOM_SCALAR_MUL, a, b)
#define MAX_IN    11 /* of attention_grad */
#define NUMBERS   4  /* the index of the operands seed, step and position */
#define NUMBERS_G 8

/* q [N,H,T,E], k [N,K,S,E], v [N,K,S,D]. In expansions, heads of queries that share keys are a separate axis: queries
 * are [N, K, H/K, T, E], keys [N, K, 1, S, E]. */
typedef struct
{
  LoomDType dtype;
  gint64 n, heads, groups, per_group, queries, keys, width, depth; /* N, H, K, H/K, T, S, E, D */
} Sizes;

static Sizes
sizes_of (const LoomTensorDesc *q, const LoomTensorDesc *k, const LoomTensorDesc *v)
{
  return (Sizes){ .dtype = q->dtype,
                  .n = q->dim[0],
                  .heads = q->dim[1],
                  .groups = k->dim[1],
                  .per_group = k->dim[1] > 0 ? q->dim[1] / k->dim[1] : 1,
                  .queries = q->dim[2],
                  .keys = k->dim[2],
                  .width = q->dim[3],
                  .depth = v->dim[3] };
}

/* in: q, k, v, then `between` other operands, then the mask. */
static gboolean
check (const LoomAttentionAttrs *a, guint n_in, const LoomTensorDesc *in, guint between, char **why)
{
  const LoomTensorDesc *q = &in[0], *k = &in[1], *v = &in[2], *mask = &in[3 + between];

  if (!loom_dtype_is_float (q->dtype) || k->dtype != q->dtype || v->dtype != q->dtype)
    return loom_prim_refuse (why, "queries, keys and values must be floats of one type");
  if (q->rank != 4 || k->rank != 4 || v->rank != 4 || k->dim[0] != q->dim[0] || v->dim[0] != q->dim[0]
      || k->dim[3] != q->dim[3] || v->dim[1] != k->dim[1] || v->dim[2] != k->dim[2])
    return loom_prim_refuse (why, "the shapes of queries, keys and values do not match");
  if (k->dim[1] == 0 ? q->dim[1] != 0 : q->dim[1] % k->dim[1] != 0)
    return loom_prim_refuse (why, "the heads of queries must be a multiple of those of keys");
  if (n_in < 4 + between)
    return !a->has_mask || loom_prim_refuse (why, "the mask is missing");
  if (a->has_mask == desc_is_absent (mask))
    return loom_prim_refuse (why, "the mask contradicts has_mask");
  if (!a->has_mask)
    return TRUE;
  if (mask->dtype != LOOM_BOOL && mask->dtype != q->dtype)
    return loom_prim_refuse (why, "the mask must be bool, or of the queries' type");
  for (int i = 0; i < 3; i++)
    if (mask->rank != 4 || (mask->dim[i] != 1 && mask->dim[i] != q->dim[i]) || mask->dim[3] != k->dim[2])
      return loom_prim_refuse (why, "the mask's shape does not match");
  return TRUE;
}

/* in: `before` other operands, then seed, step and position if the attributes request them. */
static gboolean
check_numbers (const LoomAttentionAttrs *a, guint n_in, guint before, const LoomTensorDesc *in, const LoomTensorDesc *q,
               char **why)
{
  if (!(a->dropout >= 0 && a->dropout < 1))
    return loom_prim_refuse (why, "dropout must be at least 0 and less than 1");
  if (a->dropout == 0 ? n_in > before : n_in != before + 3)
    return loom_prim_refuse (why, "seed, step and position are for dropout");
  for (guint i = 0; i < 3 && n_in > before; i++)
    if (in[before + i].dtype != LOOM_I64 || in[before + i].rank != (i == 2 ? 2 : 0)
        || (i == 2 && (in[before + i].dim[0] != q->dim[0] || in[before + i].dim[1] != q->dim[1])))
      return loom_prim_refuse (why, "the shapes of seed, step and position do not match");
  return TRUE;
}

static gboolean
infer_attention (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!loom_prim_arity (n_in, NUMBERS + (n_in > NUMBERS ? 3 : 0), why) || !check (attrs, n_in, in, 0, why)
      || !check_numbers (attrs, n_in, NUMBERS, in, &in[0], why))
    return FALSE;
  out[0] = in[0];
  out[0].dim[3] = in[2].dim[3];
  out[1] = loom_desc_make (dtype_computed (in[0].dtype), 3, in[0].dim);
  *n_out = 2;
  return TRUE;
}

/* g, q, k, v, lse, [delta], [mask], [y], [seed, step, position] → dq, dk, dv */
static gboolean
infer_attention_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                      char **why)
{
  LoomTensorDesc y;

  if (!loom_prim_arity (n_in, NUMBERS_G + (n_in > NUMBERS_G ? 3 : 0), why) || !check (attrs, n_in - 1, in + 1, 2, why)
      || !check_numbers (attrs, n_in, NUMBERS_G, in, &in[1], why))
    return FALSE;
  y = in[1];
  y.dim[3] = in[3].dim[3];
  if (!loom_desc_same_shape (&in[0], &y) || in[4].rank != 3
      || loom_desc_count (&in[4]) != in[1].dim[0] * in[1].dim[1] * in[1].dim[2])
    return loom_prim_refuse (why, "the shapes of g and lse do not match");
  if (desc_is_absent (&in[5]) == desc_is_absent (&in[7]))
    return loom_prim_refuse (why, "either delta or y is required");
  if (!desc_is_absent (&in[5]) && !loom_desc_same_shape (&in[4], &in[5]))
    return loom_prim_refuse (why, "delta's shape does not match");
  if (!desc_is_absent (&in[7]) && (in[7].dtype != in[1].dtype || !loom_desc_same_shape (&in[7], &y)))
    return loom_prim_refuse (why, "y does not fit");
  for (int i = 0; i < 3; i++)
    out[i] = in[1 + i];
  *n_out = 3;
  return TRUE;
}

/* ---- expansions ------------------------------------------------------- */

static LoomValue
group_queries (LoomProgram *p, const Sizes *s, LoomValue v, gint64 columns)
{
  return loom_reshape (p, v, 5, (gint64[]){ s->n, s->groups, s->per_group, s->queries, columns });
}

static LoomValue
wide_keys (LoomProgram *p, const Sizes *s, LoomValue v, gint64 columns)
{
  return loom_reshape (p, v, 5, (gint64[]){ s->n, s->groups, 1, s->keys, columns });
}

/* A mask [N or 1, H or 1, T or 1, S], in a shape that broadcasts against logits [N, K, H/K, T, S]. */
static LoomValue
broadcast_mask (LoomProgram *p, const Sizes *s, LoomValue mask)
{
  LoomTensorDesc d = *value_desc (p, mask);
  gboolean each = d.dim[1] == s->heads;

  return loom_reshape (p, mask, 5,
                       (gint64[]){ d.dim[0], each ? s->groups : 1, each ? s->per_group : 1, d.dim[2], d.dim[3] });
}

static LoomValue
count_along (LoomProgram *p, gint64 rows, gint64 columns)
{
  LoomIotaTo attrs
      = { .kernel = { .axis = columns == 1 ? 0 : 1, .step = 1 }, .dtype = LOOM_I64, .to = { 2, { rows, columns } } };

  return loom_emit (p, loom_prim ("iota"), &attrs, 0, NULL, NULL);
}

/* The logits [N, K, H/K, T, S], -∞ for masked keys. */
static LoomValue
logits (LoomProgram *p, const LoomAttentionAttrs *a, const Sizes *s, LoomValue q, LoomValue k, LoomValue mask)
{
  LoomValue low = loom_const (p, s->dtype, -INFINITY);
  LoomValue v = MUL (loom_matmul (p, group_queries (p, s, q, s->width), wide_keys (p, s, k, s->width), FALSE, TRUE),
                     loom_const (p, s->dtype, a->scale));

  if (a->has_mask && value_desc (p, mask)->dtype == LOOM_BOOL)
    v = loom_ternary (p, LOOM_SCALAR_SELECT, broadcast_mask (p, s, mask), v, low);
  else if (a->has_mask)
    v = ADD (v, broadcast_mask (p, s, mask));
  if (a->causal)
    v = loom_ternary (p, LOOM_SCALAR_SELECT,
                      loom_binary (p, LOOM_SCALAR_GE, count_along (p, s->queries, 1), count_along (p, 1, s->keys)), v,
                      low);
  return v;
}

/* x, or 0 where x is -∞: subtracting -∞ from a logit of -∞ would be NaN. */
static LoomValue
finite_or_zero (LoomProgram *p, const Sizes *s, LoomValue x)
{
  return loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_GT, x, loom_const (p, s->dtype, -INFINITY)),
                       x, loom_const (p, s->dtype, 0));
}

/* Converts 16-bit floats to f32, in which the softmax is computed. converted: receives up to MAX_IN values. */
static void
convert_to_f32 (LoomProgram *p, guint n, const LoomValue *in, LoomValue *converted)
{
  for (guint i = 0; i < n; i++)
    {
      LoomDType dtype = in[i] != 0 ? value_desc (p, in[i])->dtype : LOOM_BOOL;

      converted[i] = loom_dtype_is_float (dtype) ? loom_cast (p, in[i], dtype_computed (dtype)) : in[i];
    }
}

/* The dropout factors of the weights [N, K, H/K, T, S]: 0 or 1/(1 - dropout), from seed, step and position. */
static LoomValue
dropout_factors (LoomProgram *p, const LoomAttentionAttrs *a, const Sizes *s, const LoomValue *in)
{
  LoomRandomTo attrs = { .kernel = { LOOM_RANDOM_UNIFORM, a->stream },
                         .dtype = s->dtype,
                         .to = { 5, { s->n, s->groups, s->per_group, s->queries, s->keys } } };
  LoomValue from[3] = { in[0], in[1], loom_reshape (p, in[2], 3, (gint64[]){ s->n, s->groups, s->per_group }) };
  LoomValue u = loom_emit (p, loom_prim ("random"), &attrs, 3, from, NULL);

  return loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_GE, u, loom_const (p, s->dtype, a->dropout)),
                       loom_const (p, s->dtype, 1 / (1 - a->dropout)), loom_const (p, s->dtype, 0));
}

static void
expand_attention (LoomProgram *p, const LoomInstr *instr, const LoomValue *given, LoomValue *out)
{
  const LoomAttentionAttrs *a = instr->attrs;
  LoomDType dtype = value_desc (p, given[0])->dtype;
  LoomValue in[MAX_IN];

  convert_to_f32 (p, instr->n_in, given, in);
  Sizes s = sizes_of (value_desc (p, in[0]), value_desc (p, in[1]), value_desc (p, in[2]));
  LoomValue logit = logits (p, a, &s, in[0], in[1], a->has_mask ? in[3] : 0), top, e, sum, some;

  top = loom_detach (p, finite_or_zero (p, &s, loom_reduce (p, LOOM_REDUCE_MAX, logit, 1u << 4, TRUE)));
  e = loom_unary (p, LOOM_SCALAR_EXP, SUB (logit, top));
  sum = loom_reduce (p, LOOM_REDUCE_SUM, e, 1u << 4, TRUE);
  /* If a mask excludes every key, the sum is 0, and so is e. */
  some = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_GT, sum, loom_const (p, s.dtype, 0)), sum,
                       loom_const (p, s.dtype, 1));
  e = loom_binary (p, LOOM_SCALAR_DIV, e, some);
  if (a->dropout > 0)
    e = MUL (e, dropout_factors (p, a, &s, in + NUMBERS));
  out[0] = loom_matmul (p, e, wide_keys (p, &s, in[2], s.depth), FALSE, FALSE);
  out[0] = loom_cast (p, loom_reshape (p, out[0], 4, (gint64[]){ s.n, s.heads, s.queries, s.depth }), dtype);
  out[1] = loom_reshape (p, ADD (loom_unary (p, LOOM_SCALAR_LOG, sum), top), 3, (gint64[]){ s.n, s.heads, s.queries });
}

/* The softmax weights P with dropout factors K, and the gradient P·(K·g·vᵀ - delta) of the logits, both [N, K, H/K, T,
 * S]. in: the operands of attention_grad. */
static LoomValue
logit_gradient (LoomProgram *p, const LoomAttentionAttrs *a, const Sizes *s, const LoomValue *in, LoomValue *weights)
{
  LoomValue logit = logits (p, a, s, in[1], in[2], a->has_mask ? in[6] : 0);
  LoomValue dp = loom_matmul (p, group_queries (p, s, in[0], s->depth), wide_keys (p, s, in[3], s->depth), FALSE, TRUE);
  LoomValue delta = in[5] != 0 ? in[5] : loom_reduce (p, LOOM_REDUCE_SUM, MUL (in[0], in[7]), 1u << 3, FALSE);

  *weights = loom_unary (p, LOOM_SCALAR_EXP, SUB (logit, finite_or_zero (p, s, group_queries (p, s, in[4], 1))));
  if (a->dropout > 0)
    {
      LoomValue keeps = dropout_factors (p, a, s, in + NUMBERS_G), ds;

      ds = MUL (*weights, SUB (MUL (dp, keeps), group_queries (p, s, delta, 1)));
      *weights = MUL (*weights, keeps);
      return ds;
    }
  return MUL (*weights, SUB (dp, group_queries (p, s, delta, 1)));
}

/* dv = Pᵀ·g, dq = scale·dS·k, dk = scale·dSᵀ·q, summed over the heads that share keys. */
static void
expand_attention_grad (LoomProgram *p, const LoomInstr *instr, const LoomValue *given, LoomValue *out)
{
  const LoomAttentionAttrs *a = instr->attrs;
  LoomDType dtype = value_desc (p, given[1])->dtype;
  LoomValue in[MAX_IN];

  convert_to_f32 (p, instr->n_in, given, in);
  LoomTensorDesc q = *value_desc (p, in[1]), k = *value_desc (p, in[2]), v = *value_desc (p, in[3]);
  Sizes s = sizes_of (&q, &k, &v);
  LoomValue weights, ds = logit_gradient (p, a, &s, in, &weights);

  ds = MUL (ds, loom_const (p, s.dtype, a->scale));
  out[0] = loom_matmul (p, ds, wide_keys (p, &s, in[2], s.width), FALSE, FALSE);
  out[1] = loom_matmul (p, ds, group_queries (p, &s, in[1], s.width), TRUE, FALSE);
  out[2] = loom_matmul (p, weights, group_queries (p, &s, in[0], s.depth), TRUE, FALSE);
  out[0] = loom_reshape (p, out[0], 4, q.dim);
  out[1] = loom_reshape (p, loom_reduce (p, LOOM_REDUCE_SUM, out[1], 1u << 2, FALSE), 4, k.dim);
  out[2] = loom_reshape (p, loom_reduce (p, LOOM_REDUCE_SUM, out[2], 1u << 2, FALSE), 4, v.dim);
  for (int i = 0; i < 3; i++)
    out[i] = loom_cast (p, out[i], dtype);
}

/* ---- gradient --------------------------------------------------------- */

/* The gradient of a trained mask needs all logits, so it is computed by the expansion. */
static LoomValue
mask_gradient (LoomProgram *p, const LoomAttentionAttrs *a, const LoomValue *given)
{
  LoomTensorDesc d = *value_desc (p, given[6]);
  LoomValue in[MAX_IN];

  convert_to_f32 (p, a->dropout > 0 ? MAX_IN : NUMBERS_G, given, in);
  Sizes s = sizes_of (value_desc (p, in[1]), value_desc (p, in[2]), value_desc (p, in[3]));
  LoomValue weights, ds = logit_gradient (p, a, &s, in, &weights);

  ds = loom_sum_to (p, loom_reshape (p, ds, 4, (gint64[]){ s.n, s.heads, s.queries, s.keys }), 4, d.dim);
  return loom_cast (p, ds, d.dtype);
}

static gboolean
gradient_attention (const LoomGradCall *call)
{
  const LoomInstr *instr = call->instr;
  const LoomAttentionAttrs *a = instr->attrs;
  LoomProgram *p = call->p;
  LoomTensorDesc y = *value_desc (p, instr->out[0]), rows = *value_desc (p, instr->out[1]);
  LoomValue g = call->grad[0], delta = 0, out[3];

  if (g == 0)
    g = loom_fill (p, y.dtype, 4, y.dim, 0);
  /* No kernel adds the contribution of lse's cotangent to delta, so it is added here. */
  if (call->grad[1] != 0)
    delta = SUB (loom_reduce (p, LOOM_REDUCE_SUM,
                              MUL (loom_cast (p, g, rows.dtype), loom_cast (p, instr->out[0], rows.dtype)), 1u << 3,
                              FALSE),
                 call->grad[1]);
  {
    LoomValue in[MAX_IN] = { g,
                             instr->in[0],
                             instr->in[1],
                             instr->in[2],
                             instr->out[1],
                             delta,
                             a->has_mask ? instr->in[3] : 0,
                             delta == 0 ? instr->out[0] : 0 };
    guint n_in = NUMBERS_G;

    for (int i = 0; i < 3 && a->dropout > 0; i++)
      in[n_in++] = instr->in[NUMBERS + i];
    if (call->needed[0] || call->needed[1] || call->needed[2])
      {
        loom_emit (p, loom_prim ("attention_grad"), a, n_in, in, out);
        for (int i = 0; i < 3; i++)
          call->in_grad[i] = out[i];
      }
    if (a->has_mask && call->needed[3])
      call->in_grad[3] = mask_gradient (p, a, in);
  }
  return TRUE;
}

/* ---- listings --------------------------------------------------------- */

/* "in-place", the sizes and, for each operand or result with strides, the strides of its rows. Measurements of in-place
 * calls are stored under this text. */
static void
describe_strides (GString *to, const void *attrs)
{
  const LoomAttentionAttrs *a = attrs;
  const LoomAttentionSizes *s = &a->sizes;

  if (!a->in_place)
    return;
  g_string_append_printf (to,
                          " in-place %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT
                          "/%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT,
                          s->n, s->heads, s->groups, s->queries, s->keys, s->width, s->depth);
  for (int i = 0; i < LOOM_ATTENTION_N_OPERANDS; i++)
    g_string_append_printf (to, " %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT,
                            a->rows[i].start, a->rows[i].sample, a->rows[i].head, a->rows[i].row);
}

/* Two products of all queries with all keys (five in the gradient), and five operations for each logit. q is operand
 * `first`. */
static double
flops_of (const LoomAttentionAttrs *a, const LoomTensorDesc *in, int first, double products_q, double products_v)
{
  LoomAttentionRows rows[LOOM_ATTENTION_N_OPERANDS];
  const LoomAttentionSizes s = loom_attention_strides (a, in, first, rows);
  const double pairs = (double)(s.n * s.heads * s.queries) * (double)s.keys * (a->causal ? 0.5 : 1.0);

  return pairs * (2.0 * products_q * (double)s.width + 2.0 * products_v * (double)s.depth + 5.0);
}

static double
flops_attention (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return flops_of (attrs, in, 0, 1, 1);
}

static double
flops_attention_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return flops_of (attrs, in, 1, 3, 2);
}

/* The sizes and strides of a call in place are listed by describe_strides(). */
static const LoomAttr size_attrs[]
    = { LOOM_ATTR (NULL, INT, LoomAttentionSizes, n),      LOOM_ATTR (NULL, INT, LoomAttentionSizes, heads),
        LOOM_ATTR (NULL, INT, LoomAttentionSizes, groups), LOOM_ATTR (NULL, INT, LoomAttentionSizes, queries),
        LOOM_ATTR (NULL, INT, LoomAttentionSizes, keys),   LOOM_ATTR (NULL, INT, LoomAttentionSizes, width),
        LOOM_ATTR (NULL, INT, LoomAttentionSizes, depth),  LOOM_ATTR_LAST };
static const LoomAttr row_attrs[]
    = { LOOM_ATTR (NULL, INT, LoomAttentionRows, start), LOOM_ATTR (NULL, INT, LoomAttentionRows, sample),
        LOOM_ATTR (NULL, INT, LoomAttentionRows, head), LOOM_ATTR (NULL, INT, LoomAttentionRows, row), LOOM_ATTR_LAST };
static const LoomAttr attention_attrs[]
    = { LOOM_ATTR ("scale", NUMBER, LoomAttentionAttrs, scale),
        LOOM_ATTR ("causal", FLAG, LoomAttentionAttrs, causal),
        LOOM_ATTR ("mask", FLAG, LoomAttentionAttrs, has_mask),
        LOOM_ATTR ("dropout", NUMBER, LoomAttentionAttrs, dropout, LOOM_ATTR_UNLESS (0)),
        LOOM_ATTR ("stream", BITS, LoomAttentionAttrs, stream, LOOM_ATTR_UNLESS (0)),
        LOOM_ATTR (NULL, FLAG, LoomAttentionAttrs, in_place),
        LOOM_ATTR (NULL, GROUP, LoomAttentionAttrs, sizes, LOOM_ATTR_IF (LoomAttentionAttrs, in_place),
                   .fields = size_attrs),
        LOOM_ATTR_ARRAY (NULL, GROUP, LoomAttentionAttrs, rows, LOOM_ATTR_IF (LoomAttentionAttrs, in_place),
                         .fields = row_attrs),
        LOOM_ATTR_LAST };

static gboolean
draws_attention (const void *attrs)
{
  return ((const LoomAttentionAttrs *)attrs)->dropout > 0;
}

/* ---- ranks -------------------------------------------------------------- */

/* Samples are on the first axis and heads on the second, and each is independent. An operand common to all samples or
 * heads is whole, and its gradient is a sum. Heads of queries that share a head of keys stay together. */
static void
shard_attention (LoomShardingCall *call)
{
  int axis = -1;
  gint64 most = 0;

  for (guint k = 0; k < call->n_in && axis < 0; k++)
    if (call->have[k].kind == LOOM_SHARDING_SPLIT && call->have[k].axis < 2 && call->have[k].blocks <= 1)
      axis = call->have[k].axis;
  for (guint k = 0; k < call->n_in && axis >= 0; k++)
    if (call->in[k].dtype != LOOM_N_DTYPES && call->in[k].rank > 0)
      {
        if (call->in[k].dim[axis] != 1 && call->in[k].dim[axis] % call->samples != 0)
          return;
        most = MAX (most, call->in[k].dim[axis]);
      }
  if (axis < 0)
    return;
  for (guint k = 0; k < call->n_in; k++)
    if (call->in[k].dtype != LOOM_N_DTYPES && call->in[k].rank > 0 && (call->in[k].dim[axis] != 1 || most == 1))
      call->want[k] = (LoomSharding){ .kind = LOOM_SHARDING_SPLIT, .axis = axis };
  for (guint o = 0; o < call->n_out; o++)
    call->result[o] = call->out[o].dtype == LOOM_N_DTYPES || call->out[o].dim[axis] == most
                              || call->out[o].dim[axis] % call->samples == 0
                          ? (LoomSharding){ .kind = LOOM_SHARDING_SPLIT, .axis = axis }
                          : (LoomSharding){ .kind = LOOM_SHARDING_PARTIAL };
}

const LoomPrim loom_prim_attention
    = { LOOM_PRIM_ROW ("attention", COMPOSITE, 2),
        .separates_positions = loom_positions_attention,
        .sharding = shard_attention,
        .doc = "Values averaged by the softmax of scaled products of queries and keys; also log Σ exp of each query.",
        LOOM_PRIM_ATTRS (LoomAttentionAttrs, attention_attrs),
        .draws = draws_attention,
        .infer = infer_attention,
        .gradient = gradient_attention,
        .expand = expand_attention,
        .describe = describe_strides,
        .flops = flops_attention,
        .precision = LOOM_PRECISION_LOW };

const LoomPrim loom_prim_attention_grad = { LOOM_PRIM_ROW ("attention_grad", COMPOSITE, 3),
                                            .sharding = shard_attention,
                                            .doc = "The gradient of attention, which recomputes the weights.",
                                            LOOM_PRIM_ATTRS (LoomAttentionAttrs, attention_attrs),
                                            .draws = draws_attention,
                                            .infer = infer_attention_grad,
                                            .expand = expand_attention_grad,
                                            .describe = describe_strides,
                                            .flops = flops_attention_grad,
                                            .precision = LOOM_PRECISION_F32 };
