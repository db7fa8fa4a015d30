/* Imports Attention (operator sets 23 to 25), by its definition: logits are scaled, capped, masked and normalised.
 *
 * Without a cap, and if the attention weights are not an output, it becomes scaled_dot_product_attention, which has a
 * fused kernel; otherwise it is composed of operators. A query with all keys masked returns zeros in both. */
#include "engine/onnx/onnx-private.h"

#include <math.h>

enum
{
  QUERY,
  KEY,
  VALUE,
  MASK,
  PAST_KEY,
  PAST_VALUE,
  LENGTHS
};

typedef struct
{
  const OnnxWire *q, *k, *v; /* [B, heads, T, E], [B, heads, S, E], [B, heads, S, D] */
  gboolean is_flat;          /* heads and features are one dimension of the inputs */
  gboolean is_causal;        /* causal without past keys, which the layer supports */
  double scale, cap;
  LoomDim fresh;              /* number of keys without past ones */
  const OnnxWire *may, *bias; /* masks: bool, and added to logits; NULL: none */
} Attention;

/* [B, T, heads · E] → [B, heads, T, E] */
static const OnnxWire *
split_heads (OnnxCtx *c, const OnnxWire *x, const char *attribute)
{
  gint64 heads = onnx_attr_int (c, attribute, 0), width = onnx_dim (c, x, 2);

  if (c->failed)
    return x;
  if (heads < 1 || width % heads != 0)
    {
      onnx_fail (c, "its “%s” is %" G_GINT64_FORMAT ", which does not divide %" G_GINT64_FORMAT " features.", attribute,
                 heads, width);
      return x;
    }
  x = onnx_emit (c, "unflatten", ONNX_IN (x), "dim", "2", "sizes",
                 onnx_text (c, "%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT, heads, width / heads), NULL);
  return onnx_permute (c, x, (gint64[]){ 0, 2, 1, 3 });
}

static const OnnxWire *
with_past (OnnxCtx *c, guint i, const OnnxWire *now)
{
  return onnx_has (c, i) ? onnx_emit (c, "concat", ONNX_IN (onnx_in (c, i), now), "dim", "2", NULL) : now;
}

static gboolean
read_attention (OnnxCtx *c, Attention *a)
{
  a->q = onnx_in (c, QUERY);
  a->k = onnx_in (c, KEY);
  a->v = onnx_in (c, VALUE);
  a->is_flat = a->q->type.shape.rank == 3;
  if (!c->failed
      && (a->q->type.shape.rank < 3 || a->q->type.shape.rank > 4 || a->k->type.shape.rank != a->q->type.shape.rank
          || a->v->type.shape.rank != a->q->type.shape.rank))
    onnx_fail (c, "its queries, keys and values have %d, %d and %d dimensions, but all three need three or four.",
               a->q->type.shape.rank, a->k->type.shape.rank, a->v->type.shape.rank);
  if (!c->failed && a->is_flat)
    {
      a->q = split_heads (c, a->q, "q_num_heads");
      a->k = split_heads (c, a->k, "kv_num_heads");
      a->v = split_heads (c, a->v, "kv_num_heads");
    }
  a->fresh = a->k->type.shape.dim[2];
  a->k = with_past (c, PAST_KEY, a->k);
  a->v = with_past (c, PAST_VALUE, a->v);
  a->cap = onnx_attr_float (c, "softcap", 0);
  if (onnx_has_attr (c, "scale"))
    a->scale = onnx_attr_float (c, "scale", 1);
  return !c->failed;
}

/* ---- masks ------------------------------------------------------------------ */

static const OnnxWire *
both (OnnxCtx *c, const OnnxWire *a, const OnnxWire *b)
{
  return a != NULL ? onnx_binary (c, "logical_and", a, b) : b;
}

/* start, start + 1 …, one for each query or key of x. */
static const OnnxWire *
positions (OnnxCtx *c, const OnnxWire *x, gint64 start)
{
  return onnx_emit (c, "arange", ONNX_IN (x), "start", onnx_text (c, "%" G_GINT64_FORMAT, start), "dim", "2", "dtype",
                    "i64", NULL);
}

/* The number of valid keys of each sample, [B, 1, 1, 1]. */
static const OnnxWire *
lengths_of (OnnxCtx *c)
{
  return onnx_emit (c, "unsqueeze", ONNX_IN (onnx_cast (c, onnx_in (c, LENGTHS), LOOM_I64)), "dim", "1,2,3", NULL);
}

static const OnnxWire *
backwards (OnnxCtx *c, const OnnxWire *x)
{
  return onnx_emit (c, "flip", ONNX_IN (x), "dims", "0", NULL);
}

/* The distance from key j to query i, [T, S] or [B, 1, T, S]: i + offset - j, where offset is the number of keys before
 * the first query: past keys, or each sample's length without its T queries. */
static const OnnxWire *
distance (OnnxCtx *c, const Attention *a)
{
  const OnnxWire *rows, *columns;
  LoomDim past = onnx_has (c, PAST_KEY) ? onnx_in (c, PAST_KEY)->type.shape.dim[2] : loom_dim (0);

  if (onnx_has (c, LENGTHS))
    {
      /* (length - j) - (T - i) */
      columns = onnx_binary (c, "sub", lengths_of (c), positions (c, a->k, 0));
      rows = backwards (c, positions (c, a->q, 1));
    }
  else if (loom_dim_is_known (past))
    {
      rows = onnx_unsqueeze (c, positions (c, a->q, past.coef), 1);
      return onnx_binary (c, "sub", rows, positions (c, a->k, 0));
    }
  else
    {
      /* (S - 1 - j) - (T - 1 - i), if there are T new keys, whatever keys precede them. */
      if (!loom_dim_equal (a->q->type.shape.dim[2], a->fresh))
        onnx_fail (c, "the position of its queries is not known. Give past_key a fixed length, or use as many keys as "
                      "queries.");
      columns = backwards (c, positions (c, a->k, 0));
      rows = backwards (c, positions (c, a->q, 0));
    }
  return onnx_binary (c, "sub", columns, onnx_unsqueeze (c, rows, 1));
}

/* Keys after the end of a mask are not read. */
static const OnnxWire *
lengthened (OnnxCtx *c, const OnnxWire *mask, const OnnxWire *keys)
{
  LoomShape rest = mask->type.shape;
  LoomDim have, want = keys->type.shape.dim[2];

  if (c->failed || rest.rank == 0)
    return mask;
  have = rest.dim[rest.rank - 1];
  if (!loom_dim_is_known (have) || !loom_dim_is_known (want) || have.coef >= want.coef || have.coef == 1)
    return mask;
  rest.dim[rest.rank - 1] = loom_dim (want.coef - have.coef);
  const OnnxWire *none = onnx_emit (c, "constant", 0, NULL, "value", "0", "shape", onnx_dims (c, &rest), "dtype",
                                    loom_dtype_name (mask->type.dtype), NULL);
  if (mask->type.dtype != LOOM_BOOL)
    none = onnx_unary (c, "log", none);
  return onnx_emit (c, "concat", ONNX_IN (mask, none), "dim", "-1", NULL);
}

static void
read_masks (OnnxCtx *c, Attention *a)
{
  gint64 left = onnx_attr_int (c, "left_window_size", -1), right = onnx_attr_int (c, "right_window_size", -1);
  gboolean causal = onnx_attr_int (c, "is_causal", 0) != 0;

  a->is_causal = causal && !onnx_has (c, PAST_KEY) && !onnx_has (c, LENGTHS) && left < 0 && right < 0;
  if (onnx_has (c, MASK))
    {
      const OnnxWire *mask = lengthened (c, onnx_in (c, MASK), a->k);

      if (mask->type.dtype == LOOM_BOOL)
        a->may = mask;
      else
        a->bias = mask;
    }
  if (onnx_has (c, LENGTHS))
    a->may = both (c, a->may, onnx_binary (c, "lt", positions (c, a->k, 0), lengths_of (c)));
  if ((causal && !a->is_causal) || left >= 0 || right >= 0)
    {
      const OnnxWire *far = distance (c, a);

      if (causal)
        a->may = both (c, a->may, onnx_with_number (c, "ge", far, 0));
      if (left >= 0)
        a->may = both (c, a->may, onnx_with_number (c, "le", far, (double)left));
      if (right >= 0)
        a->may = both (c, a->may, onnx_with_number (c, "ge", far, (double)-right));
    }
}

/* Combines all masks into one that is added: the logarithm of 1 is 0, and that of 0 is -∞. */
static const OnnxWire *
bias_of (OnnxCtx *c, const Attention *a)
{
  const OnnxWire *may = a->may, *bias;

  if (a->is_causal)
    may = both (c, may, onnx_with_number (c, "ge", distance (c, a), 0));
  if (may == NULL)
    return a->bias;
  bias = onnx_unary (c, "log", onnx_cast (c, may, a->q->type.dtype));
  return a->bias != NULL ? onnx_binary (c, "add", a->bias, bias) : bias;
}

/* ---- as a layer, or composed -------------------------------------------------- */

static const OnnxWire *
attend (OnnxCtx *c, const Attention *a)
{
  gboolean shares = !loom_dim_equal (a->q->type.shape.dim[1], a->k->type.shape.dim[1]);
  const OnnxWire *mask = a->may;

  if (a->bias != NULL)
    {
      Attention others = *a;
      others.is_causal = FALSE;
      mask = bias_of (c, &others);
    }
  return onnx_emit (c, "scaled_dot_product_attention", ONNX_IN (a->q, a->k, a->v, mask), "is_causal",
                    a->is_causal ? "true" : NULL, "scale",
                    onnx_has_attr (c, "scale") ? onnx_number (c, a->scale) : NULL, "enable_gqa", shares ? "true" : NULL,
                    NULL);
}

/* Repeats each head of keys or values for the heads of queries that share it. */
static const OnnxWire *
shared (OnnxCtx *c, const OnnxWire *x, gint64 times)
{
  return times == 1 ? x
                    : onnx_emit (c, "repeat_interleave", ONNX_IN (x), "repeats",
                                 onnx_text (c, "%" G_GINT64_FORMAT, times), "dim", "1", NULL);
}

/* logits[]: as computed, capped, masked, and the attention weights. */
static const OnnxWire *
draw (OnnxCtx *c, const Attention *a, const OnnxWire *logits[4])
{
  gint64 heads = onnx_dim (c, a->q, 1), groups = onnx_dim (c, a->k, 1), width = onnx_dim (c, a->q, 3);
  const OnnxWire *bias = bias_of (c, a), *k;

  if (c->failed || groups < 1 || heads % groups != 0)
    {
      onnx_fail (c, "%" G_GINT64_FORMAT " heads of queries cannot share %" G_GINT64_FORMAT " of keys.", heads, groups);
      return a->v;
    }
  k = onnx_permute (c, shared (c, a->k, heads / groups), (gint64[]){ 0, 1, 3, 2 });
  logits[0] = onnx_with_number (c, "mul", onnx_binary (c, "matmul", a->q, k),
                                onnx_has_attr (c, "scale") ? a->scale : 1 / sqrt ((double)width));
  logits[1] = logits[0];
  if (a->cap > 0)
    logits[1] = onnx_with_number (c, "mul", onnx_unary (c, "tanh", onnx_with_number (c, "mul", logits[0], 1 / a->cap)),
                                  a->cap);
  logits[2] = bias != NULL ? onnx_binary (c, "add", logits[1], bias) : logits[1];
  logits[3] = onnx_emit (c, "softmax", ONNX_IN (logits[2]), "dim", "-1", NULL);
  if (bias != NULL)
    {
      const OnnxWire *most = onnx_emit (c, "amax", ONNX_IN (bias), "dim", "-1", "keepdim", "true", NULL);

      logits[3] = onnx_emit (c, "where", ONNX_IN (onnx_unary (c, "isinf", most), NULL, logits[3]), "input", "0", NULL);
    }
  return onnx_binary (c, "matmul", logits[3], shared (c, a->v, heads / groups));
}

static void
map_attention (OnnxCtx *c)
{
  gint64 mode = onnx_attr_int (c, "qk_matmul_output_mode", 0);
  const OnnxWire *logits[4], *y;
  Attention a = { 0 };

  if (!read_attention (c, &a))
    return;
  if (mode < 0 || mode > 3)
    onnx_fail (c, "its qk_matmul_output_mode %" G_GINT64_FORMAT " does not exist.", mode);
  read_masks (c, &a);
  if (a.cap > 0 || (onnx_has_output (c, 3) && mode < 3))
    {
      y = draw (c, &a, logits);
      if (onnx_has_output (c, 3))
        onnx_out (c, 3, logits[mode]);
    }
  else
    {
      y = attend (c, &a);
      if (onnx_has_output (c, 3))
        onnx_out (c, 3, onnx_sibling (c, y, "weights"));
    }
  if (a.is_flat)
    y = onnx_emit (c, "flatten", ONNX_IN (onnx_permute (c, y, (gint64[]){ 0, 2, 1, 3 })), "start_dim", "2", NULL);
  onnx_out (c, 0, y);
  onnx_out (c, 1, a.k);
  onnx_out (c, 2, a.v);
}

/* ---- FlexAttention ------------------------------------------------------------- */

/* The result of a graph of the node for one tensor, which every node may read; x itself without the graph. */
static const OnnxWire *
modified (OnnxCtx *c, const char *attribute, const OnnxWire *x)
{
  const Onnx__GraphProto *graph = onnx_has_attr (c, attribute) ? onnx_graph_of (c, attribute) : NULL;

  if (graph == NULL || c->failed)
    return x;
  if (graph->n_input != 1 || graph->n_output != 1)
    {
      onnx_fail (c, "its “%s” needs one input and one output.", attribute);
      return x;
    }
  OnnxImport *scope = onnx_scope_new (c->all, NULL);
  OnnxCtx within = onnx_scope_ctx (c, scope);
  OnnxValue *value = onnx_declare (scope, graph->input[0]->name);

  value->wire = x;
  value->elem_type = onnx_port_type (graph->input[0]);
  onnx_add_tensors (scope, graph);
  onnx_map_nodes (scope, graph);
  x = onnx_reach_wire (&within, graph->output[0]->name);
  c->failed = c->failed || within.failed;
  return x;
}

/* softmax (scores (q kᵀ · scale)) v, with a graph that changes the scores, and one for the weights. */
static void
map_flex_attention (OnnxCtx *c)
{
  Attention a = { .q = onnx_in (c, QUERY), .k = onnx_in (c, KEY), .v = onnx_in (c, VALUE) };
  gint64 heads = onnx_dim (c, a.q, 1), groups = onnx_dim (c, a.k, 1), width = onnx_dim (c, a.q, 3);
  const OnnxWire *y;

  onnx_attr_int (c, "softmax_precision", 1); /* that of the graph */
  if (c->failed || groups < 1 || heads % groups != 0)
    {
      onnx_fail (c, "%" G_GINT64_FORMAT " heads of queries cannot share %" G_GINT64_FORMAT " of keys.", heads, groups);
      return;
    }
  y = onnx_binary (c, "matmul", a.q, onnx_permute (c, shared (c, a.k, heads / groups), (gint64[]){ 0, 1, 3, 2 }));
  y = onnx_with_number (c, "mul", y, onnx_attr_float (c, "scale", 1 / sqrt ((double)width)));
  y = onnx_emit (c, "softmax", ONNX_IN (modified (c, "score_mod", y)), "dim", "-1", NULL);
  onnx_out (c, 0, onnx_binary (c, "matmul", modified (c, "prob_mod", y), shared (c, a.v, heads / groups)));
}

const OnnxMap onnx_map_attention[] = {
  { "FlexAttention", "softmax", map_flex_attention, .domain = "ai.onnx.preview" },
  { "Attention", NULL, map_attention },
  { "RotaryEmbedding", "mul", onnx_map_rotary },
  { NULL },
};
