/* Imports operators with a state that decoding carries from token to token: TensorScatter, LinearAttention and
 * CausalConvWithState. */
#include "engine/onnx/onnx-private.h"
#include "engine/onnx/onnx-window.h"

#include <math.h>

/* Inputs: the cache, the update along an axis, and the position at which the update of each sample begins. */
static void
map_tensor_scatter (OnnxCtx *c)
{
  const OnnxWire *cache = onnx_in (c, 0), *update = onnx_in (c, 1), *at;
  int rank = cache->type.shape.rank, axis = onnx_axis (c, onnx_attr_int (c, "axis", -2), MAX (rank, 1));
  gboolean circular = g_str_equal (onnx_attr_word (c, "mode", "linear", "circular"), "circular");
  LoomShape line = { .rank = rank }, starts = { .rank = rank };

  if (c->failed || update->type.shape.rank != rank || axis == 0)
    {
      onnx_fail (c, "its update does not fit its cache.");
      return;
    }
  for (int i = 0; i < rank; i++)
    {
      line.dim[i] = i == axis ? update->type.shape.dim[i] : loom_dim (1);
      starts.dim[i] = i == 0 ? update->type.shape.dim[i] : loom_dim (1);
    }
  at = onnx_reshape (c, onnx_count (c, update->type.shape.dim[axis]), &line);
  if (onnx_has (c, 2))
    at = onnx_binary (c, "add", at, onnx_reshape (c, onnx_cast (c, onnx_in (c, 2), LOOM_I64), &starts));
  if (circular)
    at = onnx_with_number (c, "remainder", at, (double)onnx_dim (c, cache, axis));
  at = onnx_emit (c, "expand", ONNX_IN (at), "shape", onnx_dims (c, &update->type.shape), NULL);
  onnx_out (c, 0, onnx_emit (c, "scatter", ONNX_IN (cache, at, update), "dim", onnx_text (c, "%d", axis), NULL));
}

/* ---- LinearAttention ------------------------------------------------------------------ */

enum
{
  QUERY,
  KEY,
  VALUE,
  STATE,
  DECAY,
  BETA,
  N_INPUTS
};

typedef struct
{
  gint64 groups, shared, width; /* heads of keys; heads of queries for each; features of a key */
  gboolean gated, delta;
} Linear;

static const OnnxWire *
unflatten (OnnxCtx *c, const OnnxWire *x, guint n, const gint64 *sizes)
{
  return onnx_emit (c, "unflatten", ONNX_IN (x), "dim", "2", "sizes", onnx_list (c, n, sizes), NULL);
}

/* [B, T, heads · features] → [B, T, heads, features] */
static const OnnxWire *
heads (OnnxCtx *c, guint i, gint64 n)
{
  const OnnxWire *x = onnx_in (c, i);
  gint64 width = onnx_dim (c, x, 2);

  if (!c->failed && (n < 1 || width % n != 0))
    onnx_fail (c, "%" G_GINT64_FORMAT " heads do not divide %" G_GINT64_FORMAT " features.", n, width);
  return c->failed ? x : unflatten (c, x, 2, (gint64[]){ n, width / n });
}

/* A step of one token: state [B, heads, key, value], row[] without the sequence axis. Returns the output
 * [B, heads, shared, value]. */
static const OnnxWire *
step (OnnxCtx *c, const Linear *l, const OnnxWire *const *row, const OnnxWire **state)
{
  const OnnxWire *key = onnx_unsqueeze (c, row[KEY], 2), *value = onnx_unsqueeze (c, row[VALUE], 2);

  if (l->gated)
    *state = onnx_binary (c, "mul", *state, onnx_unsqueeze (c, onnx_unary (c, "exp", row[DECAY]), 3));
  if (l->delta)
    value = onnx_binary (c, "mul", onnx_unsqueeze (c, row[BETA], 3),
                         onnx_binary (c, "sub", value, onnx_binary (c, "matmul", key, *state)));
  *state = onnx_binary (c, "add", *state, onnx_binary (c, "mul", onnx_unsqueeze (c, row[KEY], 3), value));
  return onnx_binary (c, "matmul", row[QUERY], *state);
}

static void
linear_loop (OnnxCtx *c, const Linear *l, const OnnxWire *const in[N_INPUTS], const OnnxWire *out[2])
{
  static const char *const names[] = { "query", "key", "value", "state", "decay", "beta" };
  OnnxImport *scope = onnx_scope_new (c->all, "linear_attention");
  OnnxCtx within = onnx_scope_ctx (c, scope);
  const OnnxWire *row[N_INPUTS] = { NULL }, *outside[N_INPUTS], *state, *first;
  gboolean is_sequence[N_INPUTS];
  LoomType type = in[VALUE]->type;
  guint n = 0;

  type.shape = (LoomShape){ .rank = 4,
                            .dim = { in[VALUE]->type.shape.dim[0], loom_dim (l->groups), loom_dim (l->width),
                                     in[VALUE]->type.shape.dim[3] } };
  for (guint i = 0; i < N_INPUTS; i++)
    {
      LoomType own = in[i] != NULL ? in[i]->type : type;

      if (in[i] == NULL && i != STATE)
        continue;
      for (int d = 1; i != STATE && d + 1 < own.shape.rank; d++)
        own.shape.dim[d] = own.shape.dim[d + 1];
      own.shape.rank -= i != STATE;
      row[i] = onnx_scope_input (scope, names[i], i == STATE ? &type : &own);
      is_sequence[n] = i != STATE;
      outside[n++] = in[i];
    }
  first = state = row[STATE];
  if (in[STATE] == NULL)
    onnx_node_set (first->node, "shape", onnx_dims (c, &type.shape));
  onnx_scope_output (&within, "out", step (&within, l, row, &state), NULL);
  onnx_scope_output (&within, "present", state, first);
  c->failed = c->failed || within.failed;
  const OnnxNode *node = onnx_emit_loop (c, scope, &(OnnxLoop){ .in = outside, .is_sequence = is_sequence, .axis = 1 });
  for (guint i = 0; i < 2 && node != NULL; i++)
    out[i] = &node->out[i];
}

/* S = exp (decay) · S, then S += key ⊗ value, where a delta rule replaces the value by beta · (value - Sᵀ key); the
 * result is scale · Sᵀ query. Yang et al. 2024, “Gated Delta Networks”. */
static void
map_linear_attention (OnnxCtx *c)
{
  const char *rule = onnx_attr_word (c, "update_rule", "gated_delta", "gated", "delta", "linear");
  gint64 n = onnx_attr_int (c, "q_num_heads", 0), groups = onnx_attr_int (c, "kv_num_heads", 0);
  Linear l = { .groups = groups, .gated = g_str_has_prefix (rule, "gated"), .delta = g_str_has_suffix (rule, "delta") };
  const OnnxWire *in[N_INPUTS] = { NULL }, *out[2] = { NULL, NULL };
  double scale = onnx_attr_float (c, "scale", 0);

  onnx_attr_int (c, "chunk_size", 64); /* how a kernel divides the sequence */
  if (n < 1 || groups < 1 || n % groups != 0)
    onnx_fail (c, "%" G_GINT64_FORMAT " heads of queries cannot share %" G_GINT64_FORMAT " of keys.", n, groups);
  if (onnx_has (c, DECAY) != l.gated || onnx_has (c, BETA) != l.delta)
    onnx_fail (c, "its update rule “%s” needs other inputs.", rule);
  if (c->failed)
    return;
  l.shared = n / groups;
  in[KEY] = heads (c, KEY, groups);
  in[VALUE] = heads (c, VALUE, groups);
  in[QUERY] = heads (c, QUERY, n);
  if (c->failed)
    return;
  l.width = onnx_dim (c, in[KEY], 3);
  in[QUERY] = onnx_with_number (c, "mul", unflatten (c, onnx_in (c, QUERY), 3, (gint64[]){ groups, l.shared, l.width }),
                                scale != 0 ? scale : 1 / sqrt ((double)l.width));
  in[STATE] = onnx_has (c, STATE) ? onnx_in (c, STATE) : NULL;
  in[DECAY] = l.gated ? heads (c, DECAY, groups) : NULL;
  in[BETA] = l.delta ? onnx_unsqueeze (c, onnx_in (c, BETA), 3) : NULL; /* [B, T, heads or 1, 1] */
  linear_loop (c, &l, in, out);
  if (c->failed)
    return;
  onnx_out (c, 0, onnx_emit (c, "flatten", ONNX_IN (out[0]), "start_dim", "2", NULL));
  onnx_out (c, 1, out[1]);
}

/* ---- CausalConvWithState ---------------------------------------------------------------- */

/* Inputs: x [B, C, L], weight [C, 1, k], bias, the last k - 1 positions before x. */
static void
map_causal_conv (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_weight (c, 1), *y;
  const char *activation = onnx_attr_word (c, "activation", "none", "silu", "swish");
  gint64 k = onnx_dim (c, w, 2), channels = onnx_dim (c, x, 1), length;
  const char *n = onnx_text (c, "%" G_GINT64_FORMAT, channels);

  if (c->failed)
    return;
  if (onnx_has (c, 3))
    x = onnx_emit (c, "concat", ONNX_IN (onnx_in (c, 3), x), "dim", "2", NULL);
  else
    x = onnx_pad (c, x, (gint64[]){ 0, 0, k - 1 }, (gint64[]){ 0, 0, 0 }, "constant", "0");
  y = onnx_emit (c, "conv1d", ONNX_IN (x, w, onnx_has (c, 2) ? onnx_weight (c, 2) : NULL), "out_channels", n,
                 "kernel_size", onnx_text (c, "%" G_GINT64_FORMAT, k), "groups", n, "bias",
                 onnx_has (c, 2) ? NULL : "false", NULL);
  onnx_out (c, 0, g_str_equal (activation, "none") ? y : onnx_unary (c, "silu", y));
  if (!onnx_has_output (c, 1))
    return;
  length = k > 1 ? G_MAXINT32 : 0;
  onnx_out (c, 1, onnx_slice (c, x, 2, k > 1 ? 1 - k : 0, length, 1));
}

const OnnxMap onnx_map_state[] = {
  { "TensorScatter", "scatter", map_tensor_scatter },
  { "LinearAttention", "scan", map_linear_attention },
  { "CausalConvWithState", "conv1d", map_causal_conv },
  { NULL },
};
