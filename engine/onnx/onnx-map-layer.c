/* Imports layers with weights: convolutions and Gemm. A weight of the model becomes the layer's own. */
#include "engine/onnx/onnx-private.h"
#include "engine/onnx/onnx-window.h"

#include <string.h>

static const char *
count_text (OnnxCtx *c, gint64 n)
{
  return onnx_text (c, "%" G_GINT64_FORMAT, n);
}

gboolean
onnx_check_kernel (OnnxCtx *c, const OnnxWire *w)
{
  gint64 said[8];
  const guint n = onnx_attr_ints (c, "kernel_shape", said, 8);

  for (guint i = 0; i < n && !c->failed; i++)
    if ((int)n != w->type.shape.rank - 2 || said[i] != onnx_dim (c, w, (int)i + 2))
      onnx_fail (c, "its “kernel_shape” differs from that of its weights.");
  return !c->failed;
}

/* The number of dimensions of a filter, and its sizes in them; 0 after a failure. */
static int
read_kernel (OnnxCtx *c, const OnnxWire *x, const OnnxWire *w, OnnxWindow *window)
{
  int n = x->type.shape.rank - 2;

  if (c->failed)
    return 0;
  if (n < 1 || n > 3 || w->type.shape.rank != n + 2)
    {
      onnx_fail (c, "it has %d dimensions; only 1 to 3 after batch and channels are supported.", n);
      return 0;
    }
  for (int i = 0; i < n; i++)
    window->kernel[i] = onnx_dim (c, w, i + 2);
  return onnx_check_kernel (c, w) ? n : 0;
}

/* Exporters move zeros a few times. */
#define MAX_MOVES 64

gboolean
onnx_is_zero (OnnxCtx *c, const char *name)
{
  static const char *const moves[] = { "Expand", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze", NULL };
  const OnnxValue *value = onnx_reach (c, name);
  gboolean zero;

  /* A name may be another one in the scope of its reader, so the end is not certain. */
  for (guint depth = 0; depth < MAX_MOVES && value != NULL && value->constant == NULL && value->producer != NULL
                        && value->producer->n_input > 0 && g_strv_contains (moves, value->producer->op_type);
       depth++)
    value = onnx_reach (c, value->producer->input[0]);
  zero = value != NULL && value->constant != NULL && !value->is_weight;
  for (gint64 i = 0; zero && i < value->constant->count; i++)
    zero = loom_tensor_get (value->constant, i) == 0;
  return zero;
}

/* The bias of a convolution; NULL if it has none. PyTorch's exporter adds zeros in the number of the channels if it
 * does not optimise. */
static const OnnxWire *
conv_bias (OnnxCtx *c)
{
  return onnx_has (c, 2) && !onnx_is_zero (c, c->node->input[2]) ? onnx_weight (c, 2) : NULL;
}

const OnnxWire *
onnx_conv (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_weight (c, 1), *b = conv_bias (c);
  OnnxWindow window;
  int n = read_kernel (c, x, w, &window);

  if (n == 0 || !onnx_window_read (c, &window, x, n))
    return x;
  x = onnx_window_pad (c, &window, x, "0");
  return onnx_emit (c, onnx_text (c, "conv%dd", n), ONNX_IN (x, w, b), "out_channels",
                    count_text (c, onnx_dim (c, w, 0)), "kernel_size", onnx_list (c, n, window.kernel), "stride",
                    onnx_list (c, n, window.stride), "padding", onnx_window_padding (c, &window, TRUE), "dilation",
                    onnx_list (c, n, window.dilation), "groups", count_text (c, onnx_attr_int (c, "group", 1)), "bias",
                    b != NULL ? NULL : "false", NULL);
}

static void
map_conv (OnnxCtx *c)
{
  onnx_out (c, 0, onnx_conv (c));
}

/* The whole result has length (in - 1) stride + dilation (kernel - 1) + 1 + output_padding, from which pads are
 * removed. Equal pads are PyTorch's padding; others become a slice. */
static void
map_conv_transpose (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_weight (c, 1), *b = conv_bias (c), *y;
  gint64 extra[3] = { 0 }, shape[8] = { 0 }, full[3], groups = onnx_attr_int (c, "group", 1);
  OnnxWindow window;
  int n = read_kernel (c, x, w, &window);

  if (n == 0)
    return;
  onnx_attr_ints (c, "output_padding", extra, 3);
  guint n_shape = onnx_attr_ints (c, "output_shape", shape, 8);
  if (!onnx_window_read (c, &window, NULL, n))
    return;
  for (int i = 0; i < 8; i++)
    if (groups < 1 || groups > 1000000 || extra[i % 3] < 0 || extra[i % 3] > 1000000 || shape[i] < 0
        || shape[i] > G_MAXINT32)
      {
        onnx_fail (c, "its sizes are not valid.");
        return;
      }
  const char *mode = onnx_auto_pad (c);
  gboolean same = g_str_has_prefix (mode, "SAME"), fits = TRUE, known = TRUE;
  for (int i = 0; i < n; i++)
    {
      gboolean sized = n_shape >= (guint)n;
      full[i] = window.dilation[i] * (window.kernel[i] - 1) + 1 + extra[i];
      if (loom_dim_is_known (x->type.shape.dim[i + 2]))
        full[i] += (onnx_dim (c, x, i + 2) - 1) * window.stride[i];
      if (sized || same)
        {
          gint64 size = sized ? shape[n_shape - (guint)n + (guint)i] : onnx_dim (c, x, i + 2) * window.stride[i];
          gint64 total = (sized || same) ? (onnx_dim (c, x, i + 2) - 1) * window.stride[i] + full[i]
                                               - (onnx_dim (c, x, i + 2) - 1) * window.stride[i] - size
                                         : 0;
          if (total < 0)
            {
              extra[i] -= total;
              full[i] -= total;
              total = 0;
            }
          gint64 half = total / 2;
          window.begin[i] = g_str_equal (mode, "SAME_UPPER") ? half : total - half;
          window.end[i] = total - window.begin[i];
        }
      fits = fits && window.begin[i] == window.end[i];
      known = known && loom_dim_is_known (x->type.shape.dim[i + 2]);
    }
  if (!fits && !known)
    {
      onnx_fail (c, "unequal padding needs an input of fixed size.");
      return;
    }
  y = onnx_emit (c, onnx_text (c, "conv_transpose%dd", n), ONNX_IN (x, w, b), "out_channels",
                 count_text (c, onnx_dim (c, w, 1) * groups), "kernel_size", onnx_list (c, n, window.kernel), "stride",
                 onnx_list (c, n, window.stride), "padding", fits ? onnx_list (c, n, window.begin) : NULL,
                 "output_padding", onnx_list (c, n, extra), "dilation", onnx_list (c, n, window.dilation), "groups",
                 count_text (c, groups), "bias", b != NULL ? NULL : "false", NULL);
  for (int i = 0; !fits && i < n; i++)
    y = onnx_slice (c, y, i + 2, window.begin[i], full[i] - window.end[i], 1);
  onnx_out (c, 0, y);
}

/* ---- Gemm ------------------------------------------------------------- */

static gboolean
is_equal (const LoomTensor *a, const LoomTensor *b)
{
  gboolean differs = FALSE;

  if (a->rank != 2 || b->rank != 2 || a->dim[0] != b->dim[0] || a->dim[1] != b->dim[1])
    return FALSE;
  for (gint64 i = 0; i < a->count; i++)
    {
      if (loom_tensor_get (a, i) != loom_tensor_get (b, i))
        return FALSE;
      differs = differs || loom_tensor_get (a, i) != loom_tensor_get (a, 0);
    }
  return differs;
}

/* The layer's weight with the same numbers: exporters store a transposed copy for a layer that is tied to an embedding.
 * NULL if there is none. */
static OnnxValue *
tied_to (OnnxImport *home, const char *name, const LoomTensor *t)
{
  OnnxValue *found = NULL;
  GHashTableIter iter;
  gpointer each;

  if (g_hash_table_contains (home->kinds, name))
    return NULL;
  g_hash_table_iter_init (&iter, home->values);
  while (g_hash_table_iter_next (&iter, NULL, &each))
    {
      OnnxValue *value = each;

      if (value->is_weight && value->constant != NULL && value->wire != NULL && is_equal (value->constant, t)
          && (found == NULL || strcmp (value->name, found->name) < 0))
        found = value;
    }
  return found;
}

/* A weight of the model as [out, in], the layout of linear; it is transposed once and remembered. */
static const OnnxWire *
transposed_weight (OnnxCtx *c, guint i)
{
  g_autofree char *name = g_strconcat (c->node->input[i], "\ntransposed", NULL);
  OnnxImport *home = onnx_reach (c, c->node->input[i])->home;
  OnnxValue *value = onnx_own_value (home, name);
  const LoomTensor *t = onnx_const (c, i, "B");

  if (value == NULL && t != NULL)
    {
      g_autoptr (LoomTensor) turned = loom_tensor_new (t->dtype, 2, (gint64[]){ t->dim[1], t->dim[0] }, NULL);
      if (turned == NULL)
        return onnx_in (c, i);
      for (gint64 r = 0; r < t->dim[0]; r++)
        for (gint64 k = 0; k < t->dim[1]; k++)
          loom_tensor_set (turned, k * t->dim[0] + r, loom_tensor_get (t, r * t->dim[1] + k));
      value = tied_to (home, c->node->input[i], turned);
      if (value != NULL)
        return value->wire;
      const OnnxValue *from = onnx_reach (c, c->node->input[i]);
      value = onnx_declare (home, name);
      value->constant = g_steal_pointer (&turned);
      value->original = from->is_turned ? from->original : NULL;
    }
  if (value == NULL || value->wire != NULL)
    return value != NULL ? value->wire : onnx_in (c, i);
  OnnxWire *wire = g_new0 (OnnxWire, 1);
  *wire = (OnnxWire){ .port = "out", .type = { LOOM_F32, loom_tensor_shape (value->constant) }, .own = value };
  g_ptr_array_add (c->all->wires, wire);
  return wire;
}

static gboolean
is_free_weight (OnnxCtx *c, guint i, int rank)
{
  const OnnxValue *value = onnx_has (c, i) ? onnx_reach (c, c->node->input[i]) : NULL;

  return value != NULL && value->constant != NULL && value->wire == NULL && value->is_weight
         && loom_dtype_is_float (value->constant->dtype) && value->constant->rank == rank;
}

/* TRUE if a product is just that of a linear layer. */
static gboolean
is_linear (OnnxCtx *c)
{
  const LoomTensor *w = is_free_weight (c, 1, 2) ? onnx_const_or_null (c, 1) : NULL;
  gint64 out = w != NULL ? w->dim[onnx_attr_int (c, "transB", 0) ? 0 : 1] : 0;

  return w != NULL && onnx_attr_float (c, "alpha", 1) == 1 && !onnx_attr_int (c, "transA", 0) && out > 0
         && (!onnx_has (c, 2)
             || (onnx_attr_float (c, "beta", 1) == 1 && is_free_weight (c, 2, 1)
                 && onnx_const_or_null (c, 2)->count == out));
}

/* The linear layer of a weight, which is [out, in] if it is transposed by the node. A state dict that has it as
 * [in, out] keeps it in this layout. */
static const OnnxWire *
linear (OnnxCtx *c, const OnnxWire *x, gboolean trans_b, const OnnxWire *b)
{
  gboolean keeps = !trans_b && g_hash_table_contains (c->all->kinds, c->node->input[1]);
  const OnnxWire *w = trans_b || keeps ? onnx_weight (c, 1) : transposed_weight (c, 1);

  return onnx_emit (c, "linear", ONNX_IN (x, w, b), "out_features", count_text (c, onnx_dim (c, w, keeps ? 1 : 0)),
                    "bias", b != NULL ? NULL : "false", "weight_layout", keeps ? "in_out" : NULL, NULL);
}

static const OnnxWire *
flipped (OnnxCtx *c, const OnnxWire *x)
{
  return onnx_emit (c, "transpose", ONNX_IN (x), "dim0", "0", "dim1", "1", NULL);
}

const OnnxWire *
onnx_gemm (OnnxCtx *c)
{
  const OnnxWire *a = onnx_in (c, 0), *b, *y;
  double alpha = onnx_attr_float (c, "alpha", 1), beta = onnx_attr_float (c, "beta", 1);
  gboolean trans_b = onnx_attr_int (c, "transB", 0) != 0;

  if (c->failed)
    return a;
  if (is_linear (c))
    return linear (c, a, trans_b, onnx_has (c, 2) ? onnx_weight (c, 2) : NULL);
  b = onnx_in (c, 1);
  if (onnx_attr_int (c, "transA", 0))
    a = flipped (c, a);
  if (trans_b)
    b = flipped (c, b);
  y = onnx_binary (c, "matmul", a, b);
  if (alpha != 1)
    y = onnx_with_number (c, "mul", y, alpha);
  if (onnx_has (c, 2))
    {
      const OnnxWire *bias = onnx_in (c, 2);
      y = onnx_binary (c, "add", y, beta != 1 ? onnx_with_number (c, "mul", bias, beta) : bias);
    }
  return y;
}

static void
map_gemm (OnnxCtx *c)
{
  onnx_out (c, 0, onnx_gemm (c));
}

/* ---- MatMul and Add --------------------------------------------------- */

/* A product with a matrix of weights is a linear layer; exporters write it in this way for more than two dimensions. */
static void
map_matmul (OnnxCtx *c)
{
  const OnnxWire *a = onnx_in (c, 0);

  if (!c->failed && is_free_weight (c, 1, 2) && a->type.shape.rank > 0 && onnx_const_or_null (c, 1)->count > 0)
    onnx_out (c, 0, linear (c, a, FALSE, NULL));
  else
    onnx_out (c, 0, onnx_binary (c, "matmul", a, onnx_in (c, 1)));
}

/* The index of "bias" among a node's attributes, or −1. */
static int
find_no_bias (const OnnxNode *node)
{
  for (guint i = 0; i + 1 < node->attributes->len; i += 2)
    if (g_str_equal (node->attributes->pdata[i], "bias") && g_str_equal (node->attributes->pdata[i + 1], "false"))
      return (int)i;
  return -1;
}

gboolean
onnx_map_bias (OnnxCtx *c)
{
  for (guint k = 0; k < 2 && onnx_n_inputs (c) == 2 && !c->failed; k++)
    {
      const char *name = c->node->input[k];
      const OnnxValue *product = onnx_own_value (c->all, name);
      OnnxNode *node = product != NULL && product->wire != NULL ? product->wire->node : NULL;
      if (node == NULL || !g_str_equal (node->op->name, "linear") || !g_str_equal (product->wire->port, "out")
          || find_no_bias (node) < 0 || GPOINTER_TO_UINT (g_hash_table_lookup (c->all->uses, name)) != 1
          || !is_free_weight (c, 1 - k, 1))
        continue;
      OnnxValue *bias = onnx_reach (c, c->node->input[1 - k]);
      const LoomShape *shape = &node->out[0].type.shape;
      if (!loom_dim_equal (shape->dim[shape->rank - 1], loom_dim (bias->constant->count)))
        continue;
      g_ptr_array_remove_range (node->attributes, (guint)find_no_bias (node), 2);
      onnx_own_named (c, &node->out[0], "bias", bias);
      OnnxWire *wire = g_new0 (OnnxWire, 1);
      *wire = (OnnxWire){ .node = node,
                          .port = g_intern_static_string ("bias"),
                          .type = { LOOM_F32, loom_tensor_shape (bias->constant) } };
      g_ptr_array_add (c->all->wires, wire);
      bias->wire = wire;
      onnx_out (c, 0, &node->out[0]);
      return TRUE;
    }
  return FALSE;
}

const OnnxMap onnx_map_layer[] = {
  { "MatMul", "linear", map_matmul },
  { "Conv", "conv2d", map_conv },
  { "ConvTranspose", "conv_transpose2d", map_conv_transpose },
  { "Gemm", "linear", map_gemm },
  { NULL },
};
