/* Imports operators of the domain com.microsoft: fused ones that onnxruntime's optimiser writes, and its quantised
 * layers. Each is composed of the operators that were fused, so it trains as they do.
 *
 * Source: onnxruntime, docs/ContribOperators.md. */
#include "engine/onnx/onnx-private.h"

#include <string.h>

/* The activation that `attribute` names, with its parameters in the order of ONNX's operator; without a name x itself.
 */
static const OnnxWire *
activate (OnnxCtx *c, const OnnxWire *x, const char *attribute, const double *parameter)
{
  const char *name = onnx_attr_string (c, attribute, "");

  if (g_str_equal (name, ""))
    return x;
  if (g_str_equal (name, "Relu"))
    return onnx_unary (c, "relu", x);
  if (g_str_equal (name, "Tanh"))
    return onnx_unary (c, "tanh", x);
  if (g_str_equal (name, "Sigmoid"))
    return onnx_unary (c, "sigmoid", x);
  if (g_str_equal (name, "LeakyRelu"))
    return onnx_emit (c, "leaky_relu", ONNX_IN (x), "negative_slope", onnx_number (c, parameter[0]), NULL);
  if (g_str_equal (name, "Clip"))
    return onnx_clamp (c, x, parameter[0], parameter[1]);
  if (g_str_equal (name, "HardSigmoid"))
    {
      x = onnx_with_number (c, "add", onnx_with_number (c, "mul", x, parameter[0]), parameter[1]);
      return onnx_clamp (c, x, 0, 1);
    }
  onnx_fail (c, "its “%s” is “%s”, which is not supported.", attribute, name);
  return x;
}

/* A convolution, the sum with input 3, and an activation. */
static void
map_fused_conv (OnnxCtx *c)
{
  const OnnxWire *y = onnx_conv (c);
  double parameter[2] = { 0 };

  onnx_attr_floats (c, "activation_params", parameter, 2);
  if (onnx_has (c, 3))
    y = onnx_binary (c, "add", y, onnx_in (c, 3));
  onnx_out (c, 0, activate (c, y, "activation", parameter));
}

static void
map_fused_gemm (OnnxCtx *c)
{
  double parameter[2] = { onnx_attr_float (c, "activation_alpha", 0), onnx_attr_float (c, "activation_beta", 0) };

  onnx_out (c, 0, activate (c, onnx_gemm (c), "activation", parameter));
}

/* The dimensions of an operand in the order of a product: `transBatch` moves dimension 0 before the last one, `trans`
 * swaps the last two. */
static const OnnxWire *
operand (OnnxCtx *c, guint i, const char *trans, const char *batch)
{
  const OnnxWire *x = onnx_in (c, i);
  int rank = x->type.shape.rank;
  gint64 order[LOOM_SHAPE_MAX_RANK];

  for (int k = 0; k < rank; k++)
    order[k] = k;
  if (onnx_attr_int (c, batch, 0) && rank > 2)
    {
      for (int k = 0; k + 2 < rank; k++)
        order[k] = k + 1;
      order[rank - 2] = 0;
    }
  if (onnx_attr_int (c, trans, 0) && rank > 1)
    {
      gint64 last = order[rank - 1];

      order[rank - 1] = order[rank - 2];
      order[rank - 2] = last;
    }
  for (int k = 0; k < rank; k++)
    if (order[k] != k)
      return onnx_permute (c, x, order);
  return x;
}

static void
map_fused_matmul (OnnxCtx *c)
{
  double alpha = onnx_attr_float (c, "alpha", 1);
  const OnnxWire *a = operand (c, 0, "transA", "transBatchA"), *b = operand (c, 1, "transB", "transBatchB");
  const OnnxWire *y = onnx_binary (c, "matmul", a, b);

  onnx_out (c, 0, alpha != 1 ? onnx_with_number (c, "mul", y, alpha) : y);
}

static const OnnxWire *
gelu (OnnxCtx *c, const OnnxWire *x, gboolean is_fast)
{
  return onnx_emit (c, "gelu", ONNX_IN (x), "approximate", is_fast ? "tanh" : NULL, NULL);
}

/* Gelu, and FastGelu, which may add a bias before. BiasGelu does. */
static void
map_gelu (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);

  if (onnx_has (c, 1))
    x = onnx_binary (c, "add", x, onnx_in (c, 1));
  onnx_out (c, 0, gelu (c, x, g_str_has_prefix (c->node->op_type, "Fast")));
}

/* x · sigmoid (alpha · x) */
static void
map_quick_gelu (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  double alpha = onnx_attr_float (c, "alpha", 1.702);

  onnx_out (c, 0,
            alpha == 1 ? onnx_unary (c, "silu", x)
                       : onnx_binary (c, "mul", x, onnx_unary (c, "sigmoid", onnx_with_number (c, "mul", x, alpha))));
}

/* The sum of an input, a skip connection and a bias, normalised over the last dimension. Output 3 is the sum. */
static void
map_skip_norm (OnnxCtx *c)
{
  gboolean is_simple = strstr (c->node->op_type, "Simplified") != NULL;
  guint bias = is_simple ? 3 : 4;
  const OnnxWire *x = onnx_binary (c, "add", onnx_in (c, 0), onnx_in (c, 1)), *w = onnx_weight (c, 2), *b = NULL;
  int rank = x->type.shape.rank;
  const char *eps = onnx_number (c, onnx_attr_float (c, "epsilon", 1e-12));
  LoomShape tail = { .rank = 1 };

  if (c->failed || rank < 1)
    {
      onnx_fail (c, "its input has no dimension to normalise.");
      return;
    }
  tail.dim[0] = x->type.shape.dim[rank - 1];
  if (onnx_has (c, bias))
    x = onnx_binary (c, "add", x, onnx_in (c, bias));
  if (!is_simple && onnx_has (c, 3))
    b = onnx_weight (c, 3);
  if (is_simple)
    onnx_out (c, 0,
              onnx_emit (c, "rms_norm", ONNX_IN (x, w), "normalized_shape", onnx_dims (c, &tail), "eps", eps, NULL));
  else
    onnx_out (c, 0,
              onnx_emit (c, "layer_norm", ONNX_IN (x, w, b), "normalized_shape", onnx_dims (c, &tail), "eps", eps,
                         "bias", b != NULL ? NULL : "false", NULL));
  if (onnx_has_output (c, 1) || onnx_has_output (c, 2))
    onnx_fail (c, "its mean and inverse deviation are outputs of training, which are not supported.");
  if (onnx_has_output (c, 3))
    onnx_out (c, 3, x);
}

/* ---- attention ---------------------------------------------------------- */

/* [B, T, heads · E] → [B, heads, T, E] */
static const OnnxWire *
split_heads (OnnxCtx *c, const OnnxWire *x, gint64 heads)
{
  gint64 width = x->type.shape.rank == 3 ? onnx_dim (c, x, 2) : 0;

  if (!c->failed && (heads < 1 || width < 1 || width % heads != 0))
    onnx_fail (c, "its “num_heads” is %" G_GINT64_FORMAT ", which does not divide %" G_GINT64_FORMAT " features.",
               heads, width);
  if (c->failed)
    return x;
  x = onnx_emit (c, "unflatten", ONNX_IN (x), "dim", "2", "sizes",
                 onnx_text (c, "%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT, heads, width / heads), NULL);
  return onnx_permute (c, x, (gint64[]){ 0, 2, 1, 3 });
}

/* A mask of keys, [B, S] with 1 for valid ones, as a bias of logits, [B, 1, 1, S]; and the bias of input `added`. */
static const OnnxWire *
bias_of (OnnxCtx *c, guint mask, guint added)
{
  const OnnxWire *bias = NULL;

  if (onnx_has (c, mask))
    {
      const OnnxWire *valid = onnx_in (c, mask);

      if (!c->failed && valid->type.shape.rank != 2)
        onnx_fail (c, "its mask has %d dimensions; only a mask of keys, [batch, keys], is supported.",
                   valid->type.shape.rank);
      if (c->failed)
        return NULL;
      bias = onnx_emit (c, "unsqueeze", ONNX_IN (onnx_cast (c, valid, LOOM_F32)), "dim", "1,2", NULL);
      bias = onnx_with_number (c, "mul", onnx_with_number (c, "sub", bias, 1),
                               -onnx_attr_float (c, "mask_filter_value", -10000));
    }
  if (onnx_has (c, added))
    bias = bias != NULL ? onnx_binary (c, "add", bias, onnx_in (c, added)) : onnx_in (c, added);
  return bias;
}

static const OnnxWire *
attend (OnnxCtx *c, const OnnxWire *q, const OnnxWire *k, const OnnxWire *v, const OnnxWire *bias)
{
  gboolean is_causal = onnx_attr_int (c, "unidirectional", 0) != 0;
  double scale = onnx_attr_float (c, "scale", 0);
  const OnnxWire *y;

  if (is_causal && bias != NULL)
    onnx_fail (c, "it is causal and has a mask, which together are not supported.");
  y = onnx_emit (c, "scaled_dot_product_attention", ONNX_IN (q, k, v, bias), "is_causal", is_causal ? "true" : NULL,
                 "scale", scale > 0 ? onnx_number (c, scale) : NULL, NULL);
  return onnx_emit (c, "flatten", ONNX_IN (onnx_permute (c, y, (gint64[]){ 0, 2, 1, 3 })), "start_dim", "2", NULL);
}

/* One product for queries, keys and values: x [B, T, I], weight [I, 3H], bias [3H]. */
static void
map_attention (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_in (c, 1), *part[3];
  gint64 heads = onnx_attr_int (c, "num_heads", 0), sizes[3] = { 0 }, from = 0;

  if (onnx_has (c, 4))
    onnx_fail (c, "it has past keys and values, which are not supported. Export the model without a cache.");
  if (onnx_attr_int (c, "do_rotary", 0))
    onnx_fail (c, "it rotates its queries and keys, which is not supported.");
  if (onnx_attr_ints (c, "qkv_hidden_sizes", sizes, 3) != 3)
    for (guint i = 0; i < 3; i++)
      sizes[i] = onnx_dim (c, w, 1) / 3;
  x = onnx_binary (c, "matmul", x, w);
  if (onnx_has (c, 2))
    x = onnx_binary (c, "add", x, onnx_in (c, 2));
  for (guint i = 0; i < 3; i++)
    {
      part[i] = split_heads (c, onnx_slice (c, x, 2, from, from + sizes[i], 1), heads);
      from += sizes[i];
    }
  onnx_out (c, 0, attend (c, part[0], part[1], part[2], bias_of (c, 3, 5)));
}

/* Queries [B, T, H], keys [B, S, H], values [B, S, V], a bias of all three and a mask of keys. */
static void
map_multi_head_attention (OnnxCtx *c)
{
  gint64 heads = onnx_attr_int (c, "num_heads", 0), from = 0;
  const OnnxWire *part[3];

  for (guint i = 6; i < 10; i++)
    if (onnx_has (c, i))
      onnx_fail (c, "it has past keys and values, which are not supported. Export the model without a cache.");
  if (!onnx_has (c, 1) || !onnx_has (c, 2))
    onnx_fail (c, "its queries, keys and values are packed into one input, which is not supported.");
  for (guint i = 0; i < 3 && !c->failed; i++)
    {
      part[i] = onnx_in (c, i);
      if (onnx_has (c, 3) && part[i]->type.shape.rank == 3)
        {
          gint64 width = onnx_dim (c, part[i], 2);

          part[i] = onnx_binary (c, "add", part[i], onnx_slice (c, onnx_in (c, 3), 0, from, from + width, 1));
          from += width;
        }
      if (part[i]->type.shape.rank != 4 || i == 0)
        part[i] = split_heads (c, part[i], heads);
    }
  if (!c->failed)
    onnx_out (c, 0, attend (c, part[0], part[1], part[2], bias_of (c, 4, 5)));
}

/* The sum of a token's, a position's and a segment's embedding, normalised. */
static void
map_embed_norm (OnnxCtx *c)
{
  const OnnxWire *ids = onnx_in (c, 0), *word = onnx_in (c, 2), *place = onnx_in (c, 3), *x, *at;
  const OnnxWire *w = onnx_weight (c, 5), *b = onnx_weight (c, 6);
  LoomShape tail = { .rank = 1 };

  if (!c->failed && (ids->type.shape.rank != 2 || word->type.shape.rank != 2 || place->type.shape.rank != 2))
    onnx_fail (c, "it needs ids [batch, positions] and tables [rows, features].");
  if (c->failed)
    return;
  tail.dim[0] = word->type.shape.dim[1];
  x = onnx_pick (c, word, 0, ids);
  at = onnx_has (c, 8) ? onnx_in (c, 8) : onnx_emit (c, "arange", ONNX_IN (ids), "dim", "1", "dtype", "i64", NULL);
  x = onnx_binary (c, "add", x, onnx_pick (c, place, 0, at));
  if (onnx_has (c, 1) && onnx_has (c, 4))
    x = onnx_binary (c, "add", x, onnx_pick (c, onnx_in (c, 4), 0, onnx_in (c, 1)));
  onnx_out (c, 0,
            onnx_emit (c, "layer_norm", ONNX_IN (x, w, b), "normalized_shape", onnx_dims (c, &tail), "eps",
                       onnx_number (c, onnx_attr_float (c, "epsilon", 1e-12)), NULL));
  if (onnx_has_output (c, 2))
    onnx_out (c, 2, x);
}

#define MICROSOFT .domain = "com.microsoft"

const OnnxMap onnx_map_contrib[] = {
  { "FusedConv", "conv2d", map_fused_conv, MICROSOFT },
  { "FusedGemm", "linear", map_fused_gemm, MICROSOFT },
  { "FusedMatMul", "matmul", map_fused_matmul, MICROSOFT },
  { "TransposeMatMul", "matmul", map_fused_matmul, MICROSOFT },
  { "Gelu", "gelu", map_gelu, MICROSOFT },
  { "BiasGelu", "gelu", map_gelu, MICROSOFT },
  { "FastGelu", "gelu", map_gelu, MICROSOFT },
  { "QuickGelu", "sigmoid", map_quick_gelu, MICROSOFT },
  { "SkipLayerNormalization", "layer_norm", map_skip_norm, MICROSOFT },
  { "SkipSimplifiedLayerNormalization", "rms_norm", map_skip_norm, MICROSOFT },
  { "Attention", "scaled_dot_product_attention", map_attention, MICROSOFT },
  { "MultiHeadAttention", "scaled_dot_product_attention", map_multi_head_attention, MICROSOFT },
  { "EmbedLayerNormalization", "layer_norm", map_embed_norm, MICROSOFT },
  { "RotaryEmbedding", "mul", onnx_map_rotary, MICROSOFT },
  { NULL },
};
