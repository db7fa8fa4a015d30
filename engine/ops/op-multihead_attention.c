/* Multi-head attention, as torch.nn.MultiheadAttention. */
#include "engine/ops/family-attention.h"

#include <inttypes.h>
#include <math.h>

enum
{
  QUERY,
  KEY,
  VALUE,
  PADDING,
  MASK
};

static const LoomPortSpec inputs[] = {
  { "query", "The queries [T, B, E]; [B, T, E] with batch_first; or [T, E] without a batch." },
  { "key", "The keys [S, B, kdim], [B, S, kdim] or [S, kdim]; if not wired, the queries.", LOOM_PORT_OPTIONAL },
  { "value", "The values [S, B, vdim], [B, S, vdim] or [S, vdim]; if not wired, the keys.", LOOM_PORT_OPTIONAL },
  { "key_padding_mask",
    "A mask of padding keys [B, S]: bool, true for keys to ignore, or a float that is added to the attention scores.",
    LOOM_PORT_OPTIONAL },
  { "attn_mask",
    "A mask of attention [T, S] or [B · heads, T, S]: bool, true for pairs to ignore (the opposite of "
    "scaled_dot_product_attention, as in PyTorch), or a float that is added to the attention scores.",
    LOOM_PORT_OPTIONAL },
  { "in_proj_weight", "Ties the concatenated input projections of query, key and value to another tensor [3 · E, E].",
    LOOM_PORT_WEIGHT },
  { "q_proj_weight", "Ties the input projection of the query [E, E], separate if kdim or vdim differs from E.",
    LOOM_PORT_WEIGHT },
  { "k_proj_weight", "Ties the input projection of the key [E, kdim].", LOOM_PORT_WEIGHT },
  { "v_proj_weight", "Ties the input projection of the value [E, vdim].", LOOM_PORT_WEIGHT },
  { "in_proj_bias", "Ties the biases of query, key and value [3 · E].", LOOM_PORT_WEIGHT },
  { "out_proj.weight", "Ties the weights of the output projection [E, E].", LOOM_PORT_WEIGHT },
  { "out_proj.bias", "Ties the bias of the output projection [E].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomPortSpec outputs[] = {
  { "out", "The attention output, with the shape of the query." },
  { "weights", "The attention weights [B, T, S], averaged over heads, or [B, heads, T, S].", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("num_heads", INT, "4"), LOOM_RANGE (1, 4096), .unit = "heads",
    .doc = "The number of heads, each with E / num_heads features." },
  { LOOM_PARAM ("is_causal", BOOL, "false"), .doc = "Whether query i attends only to keys 0 to i (a causal mask)." },
  { LOOM_PARAM ("dropout", FLOAT, "0"), LOOM_RANGE (0, 1),
    .doc = "The dropout probability of the attention weights, in training." },
  { LOOM_PARAM ("bias", BOOL, "true"), .doc = "Whether all four projections have a learnable bias." },
  { LOOM_PARAM ("batch_first", BOOL, "false"), .doc = "Whether the batch is the first dimension: [B, T, E]." },
  { LOOM_PARAM ("average_attn_weights", BOOL, "true"), .doc = "Whether the port weights is averaged over the heads.",
    .advanced = TRUE },
  { NULL },
};

/* ---- inference ---------------------------------------------------------------- */

/* The type of the key or value, or of the input that replaces it if it is not wired. */
static const LoomType *
type_of (const LoomInfer *ctx, guint i)
{
  const LoomType *type = loom_infer_input (ctx, i);

  return type != NULL || i == QUERY ? type : type_of (ctx, i - 1);
}

/* The batch and sequence dimensions of a shape of rank 2 (no batch, -1) or 3. */
static int
batch_axis (const LoomInfer *ctx, int rank)
{
  return rank == 2 ? -1 : loom_infer_bool (ctx, "batch_first") ? 0 : 1;
}

static int
place_axis (const LoomInfer *ctx, int rank)
{
  return rank == 3 && loom_infer_bool (ctx, "batch_first") ? 1 : 0;
}

static LoomDim
batch_of (const LoomInfer *ctx, const LoomType *type)
{
  int axis = batch_axis (ctx, type->shape.rank);

  return axis < 0 ? loom_dim (1) : type->shape.dim[axis];
}

static LoomDim
places_of (const LoomInfer *ctx, const LoomType *type)
{
  return type->shape.dim[place_axis (ctx, type->shape.rank)];
}

/* FALSE after a fault: the key must have the batch of the query, the value the batch and length of the key. */
static gboolean
check_source (LoomInfer *ctx, guint i, const char *port)
{
  const LoomType *q = loom_infer_input (ctx, QUERY), *k = type_of (ctx, KEY), *x = type_of (ctx, i);
  g_autofree char *have = NULL, *first = NULL;

  if (x->shape.rank == q->shape.rank && loom_dim_compatible (batch_of (ctx, x), batch_of (ctx, q))
      && (i == KEY || loom_dim_compatible (places_of (ctx, x), places_of (ctx, k))))
    return TRUE;
  have = loom_shape_to_string (&x->shape);
  first = loom_shape_to_string (i == KEY ? &q->shape : &k->shape);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port, "%s %s and %s do not match: %s.", i == KEY ? "A query" : "A key",
                    first, have, i == KEY ? "both need the same batch size" : "each key needs one value");
  return FALSE;
}

/* FALSE after a fault: a mask of one of two shapes, which may be the same. */
static gboolean
check_mask (LoomInfer *ctx, guint i, const char *port, const LoomShape *one, const LoomShape *other, const char *what)
{
  const LoomType *q = loom_infer_input (ctx, QUERY), *mask = loom_infer_input (ctx, i);
  g_autofree char *have = NULL, *want = NULL;

  if (mask == NULL)
    return TRUE;
  if ((mask->dtype == LOOM_BOOL || mask->dtype == q->dtype)
      && (loom_shape_compatible (&mask->shape, one) || loom_shape_compatible (&mask->shape, other)))
    return TRUE;
  have = loom_shape_to_string (&mask->shape);
  want = loom_shape_to_string (one);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port, "%s must be %s, of bool or %s, but got %s %s.", what, want,
                    loom_dtype_name (q->dtype), loom_dtype_name (mask->dtype), have);
  return FALSE;
}

static gboolean
check_masks (LoomInfer *ctx, gint64 heads)
{
  const LoomType *q = loom_infer_input (ctx, QUERY), *k = type_of (ctx, KEY);
  LoomDim samples = batch_of (ctx, q), queries = places_of (ctx, q), keys = places_of (ctx, k);
  LoomShape padding = { .rank = 2, .dim = { samples, keys } }, pairs = { .rank = 2, .dim = { queries, keys } };
  LoomShape each = { .rank = 3, .dim = { loom_dim_mul (samples, loom_dim (heads)), queries, keys } };

  if (q->shape.rank == 2)
    padding = (LoomShape){ .rank = 1, .dim = { keys } };
  return check_mask (ctx, PADDING, "key_padding_mask", &padding, &padding, "key_padding_mask")
         && check_mask (ctx, MASK, "attn_mask", &pairs, &each, "attn_mask");
}

/* One matrix for all three projections if they have the same size. PyTorch initialises them with Glorot and Bengio's
 * rule (2010), the output projection like every linear layer, and all biases with 0. */
/* Heads are independent from the input projections to the sum of the output projection. */
static const LoomWeightSplit of_all[] = { { "heads", 0, 3, "heads", "num_heads" }, { NULL } };
static const LoomWeightSplit of_one[] = { { "heads", 0, 0, "heads", "num_heads" }, { NULL } };
static const LoomWeightSplit of_last[] = { { "heads", 1, 0, "heads", "num_heads" }, { NULL } };

static void
declare_weights (LoomInfer *ctx, gint64 features, gint64 key, gint64 value)
{
  static const char *const names[] = { "q_proj_weight", "k_proj_weight", "v_proj_weight" };
  gint64 sizes[] = { features, key, value };
  LoomInit zeros = { LOOM_INIT_ZEROS };

  if (key == features && value == features)
    {
      double bound = sqrt (6.0 / (double)(4 * features));

      loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "in_proj_weight",
                                                 .shape = loom_shape (2, (gint64[]){ 3 * features, features }),
                                                 .init = { LOOM_INIT_UNIFORM, -bound, bound },
                                                 .dtype = LOOM_F32,
                                                 .splits = of_all });
    }
  else
    for (int i = 0; i < 3; i++)
      {
        double bound = sqrt (6.0 / (double)(features + sizes[i]));

        loom_infer_weight (ctx, &(LoomWeightSpec){ .name = names[i],
                                                   .shape = loom_shape (2, (gint64[]){ features, sizes[i] }),
                                                   .init = { LOOM_INIT_UNIFORM, -bound, bound },
                                                   .dtype = LOOM_F32,
                                                   .splits = of_one });
      }
  if (loom_infer_bool (ctx, "bias"))
    loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "in_proj_bias",
                                               .shape = loom_shape (1, (gint64[]){ 3 * features }),
                                               .init = zeros,
                                               .dtype = LOOM_F32,
                                               .splits = of_all });
  loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "out_proj.weight",
                                             .shape = loom_shape (2, (gint64[]){ features, features }),
                                             .init = loom_init_fan_in (features),
                                             .dtype = LOOM_F32,
                                             .splits = of_last });
  if (loom_infer_bool (ctx, "bias"))
    loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "out_proj.bias",
                                               .shape = loom_shape (1, (gint64[]){ features }),
                                               .init = zeros,
                                               .dtype = LOOM_F32 });
}

static void
infer (LoomInfer *ctx)
{
  static const char *const names[] = { "query", "key", "value" };
  const LoomType *q = loom_infer_input (ctx, QUERY), *k, *v;
  gint64 heads = loom_infer_int (ctx, "num_heads"), features, key, value;
  LoomShape weights = { 0 };

  for (guint i = QUERY; i <= VALUE; i++)
    if (loom_infer_input (ctx, i) != NULL
        && (!loom_op_needs_weight_type (ctx, i, names[i])
            || !loom_op_rank (ctx, i, names[i], 2, 3, "positions with features",
                              "Use reshape or unsqueeze before it.")))
      return;
  k = type_of (ctx, KEY);
  v = type_of (ctx, VALUE);
  if (!loom_op_plain_dim (ctx, q->shape.dim[q->shape.rank - 1], "each query", &features)
      || !loom_op_plain_dim (ctx, k->shape.dim[k->shape.rank - 1], "each key", &key)
      || !loom_op_plain_dim (ctx, v->shape.dim[v->shape.rank - 1], "each value", &value)
      || !check_source (ctx, KEY, "key") || !check_source (ctx, VALUE, "value") || !check_masks (ctx, heads))
    return;
  if (features % heads != 0)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "num_heads",
                        "The features are divided between the heads, so num_heads must divide %" PRId64
                        "; it is %" PRId64 ".",
                        features, heads);
      return;
    }
  declare_weights (ctx, features, key, value);
  loom_infer_output (ctx, 0, q->dtype, &q->shape);
  if (q->shape.rank == 3)
    weights.dim[weights.rank++] = batch_of (ctx, q);
  if (!loom_infer_bool (ctx, "average_attn_weights"))
    weights.dim[weights.rank++] = loom_dim (heads);
  weights.dim[weights.rank++] = places_of (ctx, q);
  weights.dim[weights.rank++] = places_of (ctx, k);
  loom_infer_output (ctx, 1, q->dtype, &weights);
}

/* ---- lowering ------------------------------------------------------------------ */

typedef struct
{
  LoomLower *ctx;
  LoomProgram *p;
  gint64 samples, queries, keys, features, heads; /* B, T, S, E, H */
  gboolean batch_first;
} Sizes;

/* The rows [B·S, …] of an input, in their order, times columns `from` … of `count` heads of the weights [ …, in ],
 * as [B, H, S, E / H] by kind: one product, split into `kinds` pieces. */
static void
project (const Sizes *s, LoomValue x, LoomValue weight, LoomValue bias, gint64 places, guint kinds, LoomValue *out)
{
  LoomProgram *p = s->p;
  LoomMatmulAttrs attrs = { .trans_b = true, .has_bias = bias != 0, .act = LOOM_SCALAR_ID };
  LoomTensorDesc d = loom_op_desc (s->ctx, x);
  gint64 in = d.dim[d.rank - 1], width = s->features / s->heads;
  LoomValue operands[3] = { loom_reshape (p, x, 2, (gint64[]){ s->samples * places, in }), weight, bias };
  LoomValue y = loom_emit (p, loom_prim ("matmul"), &attrs, 3, operands, NULL);

  /* [B, S, kinds, H, E / H], or with the first two swapped */
  y = loom_reshape (
      p, y, 5,
      (gint64[]){ s->batch_first ? s->samples : places, s->batch_first ? places : s->samples, kinds, s->heads, width });
  for (guint i = 0; i < kinds; i++)
    {
      LoomValue part = kinds > 1 ? loom_op_slice_axis (p, y, 2, i, 1, 1) : y;

      part = loom_reshape (
          p, part, 4,
          (gint64[]){ s->batch_first ? s->samples : places, s->batch_first ? places : s->samples, s->heads, width });
      out[i] = loom_permute (p, part, s->batch_first ? (int[]){ 0, 2, 1, 3 } : (int[]){ 1, 2, 0, 3 });
    }
}

/* Queries, keys and values [B, H, S, E / H]; projections of the same tensor are one product. */
static void
project_all (const Sizes *s, const LoomValue *source, LoomValue *out)
{
  static const char *const names[] = { "q_proj_weight", "k_proj_weight", "v_proj_weight" };
  LoomProgram *p = s->p;
  LoomValue weight = loom_lower_weight (s->ctx, "in_proj_weight"), bias = loom_lower_weight (s->ctx, "in_proj_bias");
  guint kinds;

  for (guint i = 0; i < 3; i += kinds)
    {
      LoomValue w = weight, b = bias;

      for (kinds = 1; weight != 0 && i + kinds < 3 && source[i + kinds] == source[i]; kinds++)
        ;
      if (weight == 0)
        w = loom_lower_weight (s->ctx, names[i]);
      else if (kinds < 3)
        w = loom_op_slice_axis (p, weight, 0, i * s->features, kinds * s->features, 1);
      if (bias != 0 && kinds < 3)
        b = loom_op_slice_axis (p, bias, 0, i * s->features, kinds * s->features, 1);
      project (s, source[i], w, b, i == 0 ? s->queries : s->keys, kinds, out + i);
    }
}

/* The addend of a mask: -∞ where a bool is true. */
static LoomValue
as_number (const Sizes *s, LoomValue mask, LoomDType dtype)
{
  if (loom_op_desc (s->ctx, mask).dtype != LOOM_BOOL)
    return mask;
  return loom_ternary (s->p, LOOM_SCALAR_SELECT, mask, loom_const (s->p, dtype, -INFINITY),
                       loom_const (s->p, dtype, 0));
}

/* Both masks in one, as LoomAttention needs it: bool that is true for keys to keep, or floats; 0 for none. */
static LoomValue
mask_of (const Sizes *s, LoomDType dtype)
{
  LoomProgram *p = s->p;
  LoomValue padding = loom_lower_input (s->ctx, PADDING), pairs = loom_lower_input (s->ctx, MASK), both;

  if (padding != 0)
    padding = loom_reshape (p, padding, 4, (gint64[]){ s->samples, 1, 1, s->keys });
  if (pairs != 0)
    {
      gboolean each = loom_op_desc (s->ctx, pairs).rank == 3;

      pairs = loom_reshape (p, pairs, 4, (gint64[]){ each ? s->samples : 1, each ? s->heads : 1, s->queries, s->keys });
    }
  if (padding == 0 && pairs == 0)
    return 0;
  if ((padding == 0 || loom_op_desc (s->ctx, padding).dtype == LOOM_BOOL)
      && (pairs == 0 || loom_op_desc (s->ctx, pairs).dtype == LOOM_BOOL))
    {
      both = padding == 0 ? pairs : pairs == 0 ? padding : loom_binary (p, LOOM_SCALAR_OR, padding, pairs);
      return loom_unary (p, LOOM_SCALAR_NOT, both);
    }
  if (padding == 0 || pairs == 0)
    return padding == 0 ? pairs : padding;
  return loom_binary (p, LOOM_SCALAR_ADD, as_number (s, padding, dtype), as_number (s, pairs, dtype));
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue source[3], heads[3], weights, y, in[3];
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomTensorDesc key;
  Sizes s = { .ctx = ctx, .p = p, .heads = loom_infer_int (infer, "num_heads"), .features = dims[rank - 1] };
  LoomAttention a = { .causal = loom_infer_bool (infer, "is_causal"), .dropout = loom_infer_float (infer, "dropout") };
  LoomMatmulAttrs attrs = { .trans_b = true, .act = LOOM_SCALAR_ID };

  source[0] = loom_lower_input (ctx, QUERY);
  for (guint i = 1; i < 3; i++)
    source[i] = loom_lower_input (ctx, i) != 0 ? loom_lower_input (ctx, i) : source[i - 1];
  key = loom_op_desc (ctx, source[1]);
  s.batch_first = rank == 3 && loom_infer_bool (infer, "batch_first");
  s.samples = rank == 3 ? dims[batch_axis (infer, rank)] : 1;
  s.queries = dims[place_axis (infer, rank)];
  s.keys = key.dim[place_axis (infer, rank)];

  project_all (&s, source, heads);
  a.q = heads[0];
  a.k = heads[1];
  a.v = heads[2];
  a.mask = mask_of (&s, loom_op_desc (ctx, a.q).dtype);
  a.scale = 1 / sqrt ((double)s.features / (double)s.heads);
  y = loom_op_attend (ctx, &a, &weights); /* [B, H, T, E / H] */

  y = loom_permute (p, y, s.batch_first ? (int[]){ 0, 2, 1, 3 } : (int[]){ 2, 0, 1, 3 });
  in[0] = loom_reshape (p, y, 2, (gint64[]){ s.samples * s.queries, s.features });
  in[1] = loom_lower_weight (ctx, "out_proj.weight");
  in[2] = loom_lower_weight (ctx, "out_proj.bias");
  attrs.has_bias = in[2] != 0;
  loom_lower_output (ctx, 0, loom_reshape (p, loom_emit (p, loom_prim ("matmul"), &attrs, 3, in, NULL), rank, dims));
  if (loom_infer_bool (infer, "average_attn_weights"))
    {
      LoomValue sum = loom_reduce (p, LOOM_REDUCE_SUM, weights, 1u << 1, FALSE);

      weights = loom_binary (p, LOOM_SCALAR_MUL, sum, loom_op_const_like (ctx, sum, 1.0 / (double)s.heads));
    }
  rank = loom_op_output_dims (ctx, 1, dims);
  loom_lower_output (ctx, 1, loom_reshape (p, weights, rank, dims));
}

static double
flops (const LoomInfer *ctx)
{
  const LoomType *q = loom_infer_input (ctx, QUERY), *k = type_of (ctx, KEY), *v = type_of (ctx, VALUE);
  double features = (double)q->shape.dim[q->shape.rank - 1].coef, rows = loom_op_output_count (ctx, 0) / features;
  double keys = (double)places_of (ctx, k).coef, heads = (double)loom_infer_int (ctx, "num_heads");
  double samples = (double)batch_of (ctx, q).coef;
  double layers
      = 2 * features
        * (2 * rows * features
           + samples * keys * (double)(k->shape.dim[k->shape.rank - 1].coef + v->shape.dim[v->shape.rank - 1].coef));

  return layers + heads * loom_op_attention_flops (rows, keys, features / heads, features / heads);
}

static char *
summary (const LoomInfer *ctx)
{
  return g_strdup_printf ("%" G_GINT64_FORMAT " heads%s", loom_infer_int (ctx, "num_heads"),
                          loom_infer_bool (ctx, "is_causal") ? " · causal" : "");
}

static const LoomSample samples[] = {
  { .params = "num_heads=2 batch_first=true", .inputs = { "f32:B,T,4" } },
  { .params = "num_heads=2 is_causal=true", .inputs = { "f32:T,B,6" } },
  { .params = "num_heads=2 batch_first=true", .inputs = { "f32:B,T,4", "f32:B,6,3", "f32:B,6,5" } },
  { .params = "num_heads=3 average_attn_weights=false", .inputs = { "f32:T,B,6", "f32:6,B,6", "", "", "f32:T,6" } },
  { .params = "num_heads=1 bias=false", .inputs = { "f32:T,4", "f32:6,4" } },
  { .params = "num_heads=2 dropout=0.25 batch_first=true", .inputs = { "f32:B,T,4" } },
  { NULL },
};

const LoomOp loom_op_multihead_attention = {
  .name = "multihead_attention",
  .title = "Multi-head attention",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-multihead-attention-symbolic",
  .synonyms = "mha self-attention cross-attention transformer",
  .doc = "Applies multi-head attention, including its input and output projections.",
  .details = "Each head computes scaled dot-product attention on its slice of the projected queries, keys and values; "
             "an output projection combines the heads. With only a query it is self-attention, with a key from another "
             "sequence cross-attention. The port weights returns the attention weights.",
  .formula = "y = W⁰ [head₁; …; headₕ],  headᵢ = softmax(qᵢ kᵢᵀ / √(E/h)) vᵢ",
  .reference = "torch.nn.MultiheadAttention",
  .source = "Vaswani et al., “Attention Is All You Need”, NeurIPS 2017, section 3.2.2",
  .inputs = inputs,
  .outputs = outputs,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
  .summary = summary,
};
