/* Exports rnn, gru and lstm as ONNX's layers of these names, one after another, with the gates in ONNX's order.
 *
 * ONNX has no projection, so an lstm with one is exported by its lowering, as a loop. So is a layer with lengths and a
 * dynamic batch or number of steps: OpenVINO 2026.4 silently ignores sequence_lens in this case and computes other
 * numbers. */
#include "engine/onnx/onnx-export-private.h"

#include <string.h>

#define CALL(op, ...) onnx_call (w->all, op, ONNX_VARS (__VA_ARGS__))

typedef struct
{
  const char *op; /* ONNX's */
  guint gates;
  guint order[4]; /* by ONNX's gate: PyTorch's gate */
} Layer;

/* PyTorch's i f g o are ONNX's i o f c, and PyTorch's r z n are ONNX's z r h. */
static const Layer layers[] = {
  { "RNN", 1, { 0 } },
  { "GRU", 3, { 1, 0, 2 } },
  { "LSTM", 4, { 0, 3, 1, 2 } },
};

static const Layer *
layer_of (const OnnxWrite *w)
{
  for (guint i = 0; i < G_N_ELEMENTS (layers); i++)
    if (g_ascii_strcasecmp (layers[i].op, w->node->op->name) == 0)
      return &layers[i];
  g_assert_not_reached ();
}

/* Sorts the gates of [gates · hidden, …] in ONNX's order: a tensor during the export, any other value in the model. */
static OnnxVar *
sorted (OnnxWrite *w, const Layer *layer, OnnxVar *v, gint64 hidden, const char *name)
{
  gint64 rows = layer->gates * hidden;

  if (layer->gates == 1 || v == NULL)
    return v;
  if (v->tensor == NULL)
    {
      g_autofree gint64 *index = g_new (gint64, rows);
      for (gint64 i = 0; i < rows; i++)
        index[i] = layer->order[i / hidden] * hidden + i % hidden;
      OnnxOutNode *node = onnx_add_node (w->all, "Gather", ONNX_VARS (v, onnx_ints_var (w->all, (guint)rows, index)));
      onnx_node_set_int (w->all, node, "axis", 0);
      return onnx_node_result (w->all, node, 0);
    }
  g_autoptr (LoomTensor) t = loom_tensor_new (v->tensor->dtype, v->tensor->rank, v->tensor->dim, NULL);
  g_autofree char *wanted = g_strdup_printf ("%s.%s/%s", w->node->path, name, layer->op);
  gsize block = v->tensor->bytes / layer->gates;
  for (guint k = 0; k < layer->gates; k++)
    memcpy ((char *)t->data + k * block, (const char *)v->tensor->data + layer->order[k] * block, block);
  return onnx_tensor_var (w->all, t, wanted);
}

static OnnxVar *
concat (OnnxWrite *w, guint n, OnnxVar **parts, gint64 axis)
{
  if (n == 1)
    return parts[0];
  OnnxOutNode *node = onnx_add_node (w->all, "Concat", n, parts);
  onnx_node_set_int (w->all, node, "axis", axis);
  return onnx_node_result (w->all, node, 0);
}

/* [directions, rows, …] of a weight, or of the two biases one after another; NULL if there is none. */
static OnnxVar *
weights_of (OnnxWrite *w, const Layer *layer, const char *first, const char *second, guint number, gint64 hidden)
{
  guint directions = loom_infer_bool (w->infer, "bidirectional") ? 2 : 1;
  OnnxVar *each[2];

  for (guint d = 0; d < directions; d++)
    {
      const char *names[] = { first, second };
      OnnxVar *parts[2];

      for (guint i = 0; i < (second != NULL ? 2 : 1); i++)
        {
          g_autofree char *name = g_strdup_printf ("%s_l%u%s", names[i], number, d > 0 ? "_reverse" : "");
          parts[i] = sorted (w, layer, onnx_write_weight (w, name), hidden, name);
          if (parts[i] == NULL)
            return NULL;
        }
      each[d] = onnx_with_axes (w->all, "Unsqueeze", concat (w, second != NULL ? 2 : 1, parts, 0), 1, (gint64[]){ 0 });
    }
  return concat (w, directions, each, 0);
}

/* The states of one layer, from those of all layers, along axis 0. */
static OnnxVar *
state_of (OnnxWrite *w, const char *port, guint number, guint n_layers)
{
  int at = loom_net_find_input (w->node, port);
  OnnxVar *all = at >= 0 ? onnx_write_in (w, (guint)at) : NULL;
  gint64 directions = loom_infer_bool (w->infer, "bidirectional") ? 2 : 1, from = number * directions;

  if (all == NULL || n_layers == 1)
    return all;
  return CALL ("Slice", all, onnx_ints_var (w->all, 1, &from),
               onnx_ints_var (w->all, 1, (gint64[]){ from + directions }), onnx_ints_var (w->all, 1, (gint64[]){ 0 }));
}

/* [T, directions, B, hidden] → [T, B, directions · hidden] */
static OnnxVar *
side_by_side (OnnxWrite *w, OnnxVar *y, guint directions)
{
  if (directions == 1)
    return onnx_with_axes (w->all, "Squeeze", y, 1, (gint64[]){ 1 });
  y = onnx_transpose (w->all, y, 4, (gint64[]){ 0, 2, 1, 3 });
  return CALL ("Reshape", y, onnx_ints_var (w->all, 3, (gint64[]){ 0, 0, -1 }));
}

static gboolean
write_recurrent (OnnxWrite *w)
{
  const Layer *layer = layer_of (w);
  gint64 hidden = onnx_write_int (w, "hidden_size");
  guint n_layers = (guint)onnx_write_int (w, "num_layers"), n_states = layer->gates == 4 ? 2 : 1;
  guint directions = loom_infer_bool (w->infer, "bidirectional") ? 2 : 1;
  gboolean batch_first = loom_infer_bool (w->infer, "batch_first");
  int lengths_at = loom_net_find_input (w->node, "lengths");
  OnnxVar *x = onnx_write_in (w, 0), *lengths = lengths_at >= 0 ? onnx_write_in (w, (guint)lengths_at) : NULL;
  OnnxVar *states[2][64];

  if ((n_states == 2 && onnx_write_int (w, "proj_size") > 0)
      || (lengths != NULL && !loom_shape_is_concrete (&onnx_write_type (w, 0)->shape)))
    return FALSE;
  g_assert (n_layers <= G_N_ELEMENTS (states[0]));
  if (batch_first)
    x = onnx_transpose (w->all, x, 3, (gint64[]){ 1, 0, 2 });
  lengths = lengths != NULL ? onnx_to_type (w->all, lengths, LOOM_I64, LOOM_I32) : NULL;
  for (guint l = 0; l < n_layers; l++)
    {
      OnnxVar *in[7] = { x,
                         weights_of (w, layer, "weight_ih", NULL, l, hidden),
                         weights_of (w, layer, "weight_hh", NULL, l, hidden),
                         weights_of (w, layer, "bias_ih", "bias_hh", l, hidden),
                         lengths,
                         state_of (w, "h_0", l, n_layers),
                         n_states == 2 ? state_of (w, "c_0", l, n_layers) : NULL };
      if (in[1] == NULL || in[2] == NULL)
        return TRUE; /* a weight has no numbers, which was reported */
      OnnxOutNode *node = onnx_add_node (w->all, layer->op, G_N_ELEMENTS (in), in);
      onnx_node_set_int (w->all, node, "hidden_size", hidden);
      if (directions == 2)
        onnx_node_set_string (w->all, node, "direction", "bidirectional");
      if (layer->gates == 3)
        onnx_node_set_int (w->all, node, "linear_before_reset", 1);
      if (layer->gates == 1 && g_str_equal (loom_infer_string (w->infer, "nonlinearity"), "relu"))
        onnx_node_set_strings (w->all, node, "activations", directions, (const char *const[]){ "Relu", "Relu" });
      x = side_by_side (w, onnx_node_result (w->all, node, 0), directions);
      for (guint s = 0; s < n_states; s++)
        states[s][l] = onnx_node_result (w->all, node, s + 1);
    }
  onnx_write_out (w, 0, batch_first ? onnx_transpose (w->all, x, 3, (gint64[]){ 1, 0, 2 }) : x);
  for (guint s = 0; s < n_states; s++)
    onnx_write_out (w, s + 1, concat (w, n_layers, states[s], 0));
  return TRUE;
}

const OnnxWriter onnx_write_recurrent[] = {
  { "rnn", write_recurrent },
  { "gru", write_recurrent },
  { "lstm", write_recurrent },
  { NULL },
};
