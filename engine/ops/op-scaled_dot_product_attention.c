/* Scaled dot-product attention, as torch.nn.functional.scaled_dot_product_attention. */
#include "engine/ops/family-attention.h"

#include <math.h>

enum
{
  QUERY,
  KEY,
  VALUE,
  MASK
};

static const LoomPortSpec inputs[] = {
  { "query", "The queries [ …, T, E]; the dimension before the last two is the heads." },
  { "key", "The keys [ …, S, E]." },
  { "value", "The values [ …, S, D]." },
  { "attn_mask",
    "The attention mask: bool, true for pairs of query and key that take part, or a float that is added to the "
    "attention scores; broadcasts to [ …, T, S].",
    LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomPortSpec outputs[] = {
  { "out", "The attention output [ …, T, D]." },
  { "weights", "The attention weights [ …, T, S]; computed only if this port is used.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("is_causal", BOOL, "false"), .doc = "Whether query i attends only to keys 0 to i (a causal mask)." },
  { LOOM_PARAM ("dropout_p", FLOAT, "0"), LOOM_RANGE (0, 1),
    .doc = "The dropout probability of the attention weights, in training." },
  { LOOM_PARAM ("scale", FLOAT, ""), .doc = "The factor of the scores; if not set, 1/√E.", .advanced = TRUE },
  { LOOM_PARAM ("enable_gqa", BOOL, "false"),
    .doc = "Whether keys and values may have fewer heads than queries (grouped-query attention); their number must "
           "divide that of the queries.",
    .advanced = TRUE },
  { NULL },
};

/* The dimensions before the last two of a key or a value must be those of the query; FALSE after a fault. */
static gboolean
check_leading (LoomInfer *ctx, guint i, const char *port)
{
  const LoomShape *q = &loom_infer_input (ctx, QUERY)->shape, *x = &loom_infer_input (ctx, i)->shape;
  gboolean may_share = loom_infer_bool (ctx, "enable_gqa");
  g_autofree char *one = loom_shape_to_string (q), *two = loom_shape_to_string (x);
  gboolean fits = x->rank == q->rank;
  LoomDim quotient;

  for (int d = 0; fits && d + 2 < q->rank; d++)
    fits = may_share && d == q->rank - 3 ? loom_dim_div (q->dim[d], x->dim[d], &quotient)
                                         : loom_dim_compatible (q->dim[d], x->dim[d]);
  if (!fits)
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port,
                      "Attention needs equal sizes before the last two for queries %s and %s %s%s.", one,
                      i == KEY ? "keys" : "values", two, may_share ? ", except for heads that share keys" : "");
  return fits;
}

static gboolean
check_equal (LoomInfer *ctx, guint i, guint k, int from_end, const char *port, const char *what)
{
  const LoomShape *a = &loom_infer_input (ctx, i)->shape, *b = &loom_infer_input (ctx, k)->shape;
  g_autofree char *one = NULL, *two = NULL;

  if (loom_dim_compatible (a->dim[a->rank - from_end], b->dim[b->rank - from_end]))
    return TRUE;
  one = loom_shape_to_string (a);
  two = loom_shape_to_string (b);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port, "%s, but got %s and %s.", what, one, two);
  return FALSE;
}

static void
infer (LoomInfer *ctx)
{
  static const char *const names[] = { "query", "key", "value" };
  const LoomType *q = loom_infer_input (ctx, QUERY), *k = loom_infer_input (ctx, KEY);
  const LoomType *v = loom_infer_input (ctx, VALUE), *mask = loom_infer_input (ctx, MASK);
  LoomShape weights = q->shape, out = q->shape, both;

  for (guint i = QUERY; i <= VALUE; i++)
    if (!loom_op_needs_float (ctx, i, names[i], "multiplies its inputs")
        || !loom_op_rank (ctx, i, names[i], 2, LOOM_SHAPE_MAX_RANK,
                          "positions with features in the last two dimensions", "Put an unsqueeze before it.")
        || (i > QUERY && !loom_op_same_dtype (ctx, QUERY, i, names[i])))
      return;
  if (!check_leading (ctx, KEY, "key") || !check_leading (ctx, VALUE, "value")
      || !check_equal (ctx, QUERY, KEY, 1, "key", "Queries and keys need the same number of features")
      || !check_equal (ctx, KEY, VALUE, 2, "value", "Each key needs one value")
      || (k->shape.rank > 2
          && !check_equal (ctx, KEY, VALUE, 3, "value", "Keys and values need the same number of heads")))
    return;
  weights.dim[weights.rank - 1] = k->shape.dim[k->shape.rank - 2];
  out.dim[out.rank - 1] = v->shape.dim[v->shape.rank - 1];
  if (mask != NULL
      && ((mask->dtype != LOOM_BOOL && mask->dtype != q->dtype) || !loom_shape_broadcast (&mask->shape, &weights, &both)
          || both.rank != weights.rank || !loom_shape_compatible (&both, &weights)))
    {
      g_autofree char *have = loom_shape_to_string (&mask->shape), *want = loom_shape_to_string (&weights);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "attn_mask",
                        "The attention mask must broadcast to %s, of bool or %s, but got %s %s.", want,
                        loom_dtype_name (q->dtype), loom_dtype_name (mask->dtype), have);
      return;
    }
  loom_infer_output (ctx, 0, q->dtype, &out);
  loom_infer_output (ctx, 1, q->dtype, &weights);
}

/* [ …, heads, rows, columns ] as rank 4. */
static LoomValue
as_heads (LoomLower *ctx, LoomValue v)
{
  LoomTensorDesc d = loom_op_desc (ctx, v);
  gint64 n = 1;

  for (int i = 0; i + 3 < d.rank; i++)
    n *= d.dim[i];
  return loom_reshape (loom_lower_program (ctx), v, 4,
                       (gint64[]){ n, d.rank > 2 ? d.dim[d.rank - 3] : 1, d.dim[d.rank - 2], d.dim[d.rank - 1] });
}

/* A mask in the form that LoomAttention needs: expanded along the keys, and along the batch if it is expanded along
 * some of its dimensions. */
static LoomValue
mask_of (LoomLower *ctx, LoomValue mask, int rank, const gint64 *scores)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomTensorDesc d = loom_op_desc (ctx, mask);
  gint64 dims[LOOM_MAX_RANK];
  gboolean each = FALSE;

  for (int i = 0; i < rank; i++)
    dims[i] = i < rank - d.rank ? 1 : d.dim[i - (rank - d.rank)];
  mask = loom_reshape (p, mask, rank, dims);
  for (int i = 0; i + 3 < rank; i++)
    each = each || dims[i] != 1;
  for (int i = 0; i + 3 < rank; i++)
    dims[i] = each ? scores[i] : dims[i];
  dims[rank - 1] = scores[rank - 1];
  return as_heads (ctx, loom_expand_to (p, mask, rank, dims));
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  gint64 dims[LOOM_MAX_RANK], scores[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomAttention a = { .q = as_heads (ctx, loom_lower_input (ctx, QUERY)),
                      .k = as_heads (ctx, loom_lower_input (ctx, KEY)),
                      .v = as_heads (ctx, loom_lower_input (ctx, VALUE)),
                      .causal = loom_infer_bool (infer, "is_causal"),
                      .dropout = loom_infer_float (infer, "dropout_p") };
  LoomValue weights, y;

  loom_op_output_dims (ctx, 1, scores);
  a.scale = loom_infer_is_set (infer, "scale") ? loom_infer_float (infer, "scale")
                                               : 1 / sqrt ((double)loom_op_desc (ctx, a.q).dim[3]);
  if (loom_lower_input (ctx, MASK) != 0)
    a.mask = mask_of (ctx, loom_lower_input (ctx, MASK), rank, scores);
  y = loom_op_attend (ctx, &a, &weights);
  loom_lower_output (ctx, 0, loom_reshape (p, y, rank, dims));
  loom_lower_output (ctx, 1, loom_reshape (p, weights, rank, scores));
}

static double
flops (const LoomInfer *ctx)
{
  const LoomShape *q = &loom_infer_input (ctx, QUERY)->shape, *v = &loom_infer_input (ctx, VALUE)->shape;
  double width = (double)q->dim[q->rank - 1].coef;

  return loom_op_attention_flops (loom_op_input_count (ctx, QUERY) / MAX (width, 1), (double)v->dim[v->rank - 2].coef,
                                  width, (double)v->dim[v->rank - 1].coef);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,2,T,3", "f32:B,2,T,3", "f32:B,2,T,3" }, .params = "is_causal=true" },
  { .inputs = { "f32:B,T,3", "f32:B,6,3", "f32:B,6,2" } },
  { .inputs = { "f32:T,3", "f32:6,3", "f32:6,2", "f32:T,6" }, .params = "scale=0.5" },
  { .inputs = { "f32:B,4,T,2", "f32:B,2,6,2", "f32:B,2,6,3", "f32:B,1,1,6" }, .params = "enable_gqa=true" },
  { .inputs = { "f32:B,2,T,3", "f32:B,2,T,3", "f32:B,2,T,3" }, .params = "dropout_p=0.25" },
  { .inputs = { "f32:2,1,2,3,4", "f32:2,1,2,5,4", "f32:2,1,2,5,4", "bool:1,2,3,1" }, .params = "is_causal=true" },
  { .inputs = { "f32:0,2,3,4", "f32:0,2,3,4", "f32:0,2,3,4" } },
  { NULL },
};

const LoomOp loom_op_scaled_dot_product_attention = {
  .name = "scaled_dot_product_attention",
  .title = "Attention",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-attention-symbolic",
  .synonyms = "sdpa self-attention cross-attention flash transformer",
  .doc = "Computes scaled dot-product attention.",
  .details = "The attention weights are the softmax over the keys of the scaled dot products of a query with all keys; "
             "the output is the sum of the values with these weights. It has no learnable weights; multihead_attention "
             "adds the projections. Unless the port weights is used, memory grows linearly with the sequence length "
             "for heads of up to 256 features.",
  .formula = "y = softmax(q kᵀ / √E) v",
  .reference = "torch.nn.functional.scaled_dot_product_attention",
  .source = "Vaswani et al., “Attention Is All You Need”, NeurIPS 2017, section 3.2.1",
  .inputs = inputs,
  .outputs = outputs,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
