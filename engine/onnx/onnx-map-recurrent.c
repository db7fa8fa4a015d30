/* Imports RNN, GRU and LSTM.
 *
 * A layer of PyTorch's form becomes that layer, with the gates in PyTorch's order: the same activations, no clipping,
 * the reset gate after the product. onnx-map-cell.c composes all others as a loop over a cell. */
#include "engine/onnx/onnx-constant.h"
#include "engine/onnx/onnx-recurrent.h"

#include <stdlib.h>
#include <string.h>

#define MAX_HIDDEN 1000000

/* ---- attributes ------------------------------------------------------------ */

/* ONNX's activations with their defaults, which are also those of the operators of these names. */
static const struct
{
  const char *name;
  gboolean has_alpha, has_beta;
  double alpha, beta;
} activations[] = {
  { "Sigmoid" },
  { "Tanh" },
  { "Relu" },
  { "Softsign" },
  { "Softplus" },
  { "Affine", TRUE, TRUE, 1, 0 },
  { "LeakyRelu", TRUE, FALSE, 0.01 },
  { "ThresholdedRelu", TRUE, FALSE, 1 },
  { "ScaledTanh", TRUE, TRUE, 1, 1 },
  { "HardSigmoid", TRUE, TRUE, 0.2, 0.5 },
  { "Elu", TRUE, FALSE, 1 },
};

/* The next number of activation_alpha or activation_beta; activations with parameters use them in order. */
static double
next_number (OnnxCtx *c, const char *attribute, gsize *at, gboolean takes, double def)
{
  const Onnx__AttributeProto *a = onnx_attr (c, attribute);

  if (!takes || a == NULL || *at >= a->n_floats)
    return def;
  return a->floats[(*at)++];
}

static void
read_activations (OnnxCtx *c, OnnxRecurrent *r)
{
  static const char *const defaults[] = { "Sigmoid", "Tanh", "Tanh" };
  const Onnx__AttributeProto *a = onnx_attr (c, "activations");
  guint n = r->gates == 4 ? 3 : r->gates == 3 ? 2 : 1;
  gsize alpha = 0, beta = 0;

  if (a != NULL && a->n_strings != 0 && a->n_strings != n * r->directions)
    {
      onnx_fail (c, "it names %u activations, but needs %u.", (guint)a->n_strings, n * r->directions);
      return;
    }
  for (guint i = 0; i < n * r->directions; i++)
    {
      g_autofree char *name = a != NULL && a->n_strings > 0
                                  ? g_strndup ((const char *)a->strings[i].data, a->strings[i].len)
                                  : g_strdup (r->gates == 1 ? "Tanh" : defaults[i % n]);
      OnnxActivation *act = &r->act[i / n][i % n];

      for (guint k = 0; k < G_N_ELEMENTS (activations); k++)
        if (g_ascii_strcasecmp (activations[k].name, name) == 0)
          {
            act->name = activations[k].name;
            act->alpha = next_number (c, "activation_alpha", &alpha, activations[k].has_alpha, activations[k].alpha);
            act->beta = next_number (c, "activation_beta", &beta, activations[k].has_beta, activations[k].beta);
          }
      if (act->name == NULL)
        {
          onnx_fail (c, "its activation “%s” is not supported.", name);
          return;
        }
    }
}

/* FALSE after a fault: [directions, blocks · hidden] and the remaining dimensions. */
static gboolean
check_shape (OnnxCtx *c, const OnnxRecurrent *r, guint i, const char *name, guint blocks, int rank)
{
  const LoomTensor *t = onnx_const_or_null (c, i);
  LoomShape shape = t != NULL ? loom_tensor_shape (t) : onnx_has (c, i) ? onnx_in (c, i)->type.shape : (LoomShape){ 0 };
  g_autofree char *have = loom_shape_to_string (&shape);

  if (c->failed || !onnx_has (c, i))
    return !c->failed;
  if (shape.rank == rank && loom_dim_compatible (shape.dim[0], loom_dim (r->directions))
      && loom_dim_compatible (shape.dim[1], loom_dim ((gint64)blocks * r->hidden)))
    return TRUE;
  onnx_fail (c, "its “%s” is %s, which does not fit %u directions and hidden_size %" G_GINT64_FORMAT ".", name, have,
             r->directions, r->hidden);
  return FALSE;
}

static void
read_direction (OnnxCtx *c, OnnxRecurrent *r)
{
  const char *direction = onnx_attr_word (c, "direction", "forward", "reverse", "bidirectional");

  r->directions = g_str_equal (direction, "bidirectional") ? 2 : 1;
  r->reverse = g_str_equal (direction, "reverse");
}

/* Lengths that all are the full length are omitted. */
static void
read_lengths (OnnxCtx *c, OnnxRecurrent *r)
{
  const LoomTensor *t = onnx_is_constant (c, ONNX_RNN_LENGTHS) ? onnx_const_or_null (c, ONNX_RNN_LENGTHS) : NULL;
  LoomDim steps = r->x->type.shape.dim[r->batch_first ? 1 : 0];
  gboolean whole = t != NULL && loom_dim_is_known (steps);

  if (!onnx_has (c, ONNX_RNN_LENGTHS))
    return;
  for (gint64 i = 0; whole && i < t->count; i++)
    whole = onnx_tensor_int (t, i) == steps.coef;
  if (!whole)
    r->lengths = onnx_cast (c, onnx_in (c, ONNX_RNN_LENGTHS), LOOM_I64);
}

static gboolean
read_layer (OnnxCtx *c, OnnxRecurrent *r)
{
  const LoomTensor *w = onnx_const_or_null (c, ONNX_RNN_R);

  r->x = onnx_in (c, ONNX_RNN_X);
  if (c->failed)
    return FALSE;
  r->hidden = onnx_attr_int (c, "hidden_size", 0);
  if (r->hidden == 0 && onnx_has (c, ONNX_RNN_R))
    r->hidden = w != NULL && w->rank == 3 ? w->dim[2] : onnx_dim (c, onnx_in (c, ONNX_RNN_R), 2);
  if (r->hidden < 1 || r->hidden > MAX_HIDDEN)
    onnx_fail (c, "its hidden_size is %" G_GINT64_FORMAT ".", r->hidden);
  if (r->x->type.shape.rank != 3)
    onnx_fail (c, "its input has %d dimensions, but needs three: steps, samples and features.", r->x->type.shape.rank);
  r->batch_first = onnx_attr_int (c, "layout", 0) != 0;
  r->has_clip = onnx_has_attr (c, "clip");
  r->clip = onnx_attr_float (c, "clip", 0);
  r->after = onnx_attr_int (c, "linear_before_reset", 0) != 0;
  r->couples = onnx_attr_int (c, "input_forget", 0) != 0;
  read_direction (c, r);
  if (c->failed)
    return FALSE;
  read_activations (c, r);
  read_lengths (c, r);
  return !c->failed && check_shape (c, r, ONNX_RNN_W, "W", r->gates, 3)
         && check_shape (c, r, ONNX_RNN_R, "R", r->gates, 3) && check_shape (c, r, ONNX_RNN_B, "B", 2 * r->gates, 2)
         && check_shape (c, r, ONNX_RNN_P, "P", 3, 2);
}

/* ---- weights ------------------------------------------------------------------ */

/* Rows of numbers of the model: the blocks of one direction. */
static LoomTensor *
cut (const LoomTensor *t, guint direction, gint64 hidden, guint n, const guint *order)
{
  gint64 columns = t->rank == 3 ? t->dim[2] : 1, dims[2] = { n * hidden, columns };
  LoomTensor *part = loom_tensor_new (t->dtype, t->rank - 1, dims, NULL);
  gsize row = (gsize)columns * loom_dtype_size (t->dtype);

  for (guint k = 0; part != NULL && k < n; k++)
    memcpy ((char *)part->data + k * (gsize)hidden * row,
            (const char *)t->data + ((gsize)direction * (gsize)t->dim[1] + order[k] * (gsize)hidden) * row,
            (gsize)hidden * row);
  return part;
}

OnnxPart
onnx_recurrent_part (OnnxCtx *c, const OnnxRecurrent *r, guint i, guint direction, guint n, const guint *order)
{
  const LoomTensor *t = onnx_is_constant (c, i) ? onnx_const_or_null (c, i) : NULL;
  const OnnxWire *pieces[8], *wire;
  gboolean in_order = TRUE;

  if (!onnx_has (c, i) || c->failed)
    return (OnnxPart){ 0 };
  if (t != NULL && loom_dtype_is_float (t->dtype))
    return (OnnxPart){ .tensor = cut (t, direction, r->hidden, n, order) };
  const OnnxWire *whole = onnx_in (c, i);
  wire = onnx_emit (c, "select", ONNX_IN (whole), "dim", "0", "index", onnx_text (c, "%u", direction), NULL);
  for (guint k = 1; k < n; k++)
    in_order = in_order && order[k] == order[0] + k;
  for (guint k = 0; k < n && !in_order; k++)
    pieces[k] = onnx_slice (c, wire, 0, order[k] * r->hidden, (order[k] + 1) * r->hidden, 1);
  if (!in_order)
    wire = onnx_emit (c, "concat", n, pieces, "dim", "0", NULL);
  else if (order[0] > 0 || !loom_dim_equal (wire->type.shape.dim[0], loom_dim (n * r->hidden)))
    wire = onnx_slice (c, wire, 0, order[0] * r->hidden, (order[0] + n) * r->hidden, 1);
  /* Other nodes are not written then, because none reads them. */
  return (OnnxPart){ .wire = onnx_rows_source (wire) };
}

void
onnx_recurrent_clear (OnnxPart *part)
{
  g_clear_pointer (&part->tensor, loom_tensor_unref);
}

/* Exporters write the zeros that PyTorch begins with, for the samples of their example, also as an initialiser that is
 * no tensor of the state dict. */
static gboolean
has_state (OnnxCtx *c, guint i)
{
  const OnnxValue *value = onnx_has (c, i) ? onnx_reach (c, c->node->input[i]) : NULL;
  const gboolean is_computed = value != NULL && value->constant != NULL && g_hash_table_size (c->all->kinds) > 0
                               && onnx_state_name (c->all, value) == NULL;

  return onnx_has (c, i) && !onnx_is_zero (c, c->node->input[i])
         && !(is_computed && onnx_tensor_is_filled (value->constant, 0));
}

const OnnxWire *
onnx_recurrent_state (OnnxCtx *c, const OnnxRecurrent *r, guint i, guint direction)
{
  if (!has_state (c, i))
    return NULL;
  return onnx_emit (c, "select", ONNX_IN (onnx_in (c, i)), "dim", r->batch_first ? "1" : "0", "index",
                    onnx_text (c, "%u", direction), NULL);
}

/* ---- PyTorch's layer -------------------------------------------------------------- */

static guint
port_of (const LoomOp *op, const char *name)
{
  guint i = 0;

  while (op->inputs[i].name != NULL && !g_str_equal (op->inputs[i].name, name))
    i++;
  return i;
}

static gboolean
acts_as (const OnnxRecurrent *r, guint place, const char *name)
{
  for (guint d = 0; d < r->directions; d++)
    if (!g_str_equal (r->act[d][place].name, name))
      return FALSE;
  return TRUE;
}

/* Reading a sequence backwards from each sample's end is more than reversing it. */
static gboolean
is_layer (OnnxCtx *c, const OnnxRecurrent *r)
{
  if (r->has_clip || r->couples || onnx_has (c, ONNX_RNN_P) || (r->reverse && r->lengths != NULL))
    return FALSE;
  if (r->gates == 1)
    return acts_as (r, 0, "Tanh") || acts_as (r, 0, "Relu");
  return acts_as (r, 0, "Sigmoid") && acts_as (r, 1, "Tanh") && (r->gates == 3 ? r->after : acts_as (r, 2, "Tanh"));
}

/* ONNX's gates in PyTorch's order: i o f c → i f c o, z r h → r z h. */
static const guint *
order_of (const OnnxRecurrent *r)
{
  static const guint lstm[] = { 0, 2, 3, 1, 4, 6, 7, 5 }, gru[] = { 1, 0, 2, 4, 3, 5 }, rnn[] = { 0, 1 };

  return r->gates == 4 ? lstm : r->gates == 3 ? gru : rnn;
}

static const OnnxWire *
reversed (OnnxCtx *c, const OnnxRecurrent *r, const OnnxWire *x)
{
  return r->reverse ? onnx_emit (c, "flip", ONNX_IN (x), "dims", r->batch_first ? "1" : "0", NULL) : x;
}

/* [B, directions, hidden] ↔ [directions, B, hidden], where the layout has samples first. */
static const OnnxWire *
swapped (OnnxCtx *c, const OnnxRecurrent *r, const OnnxWire *x)
{
  return r->batch_first ? onnx_permute (c, x, (gint64[]){ 1, 0, 2 }) : x;
}

/* The weight of this name in the state dict, which two calls of a layer share; NULL: the name has other numbers, or is
 * that of an input. */
static const OnnxWire *
named_weight (OnnxCtx *c, const char *name, LoomTensor *tensor)
{
  OnnxValue *value = onnx_own_value (c->all, name);

  if (value == NULL)
    {
      value = onnx_declare (c->all, name);
      value->constant = loom_tensor_ref (tensor);
      value->is_weight = TRUE;
    }
  return value->constant != NULL && loom_tensor_equal_bits (value->constant, tensor) ? onnx_value_weight (c, value)
                                                                                     : NULL;
}

static void
put_layer (OnnxCtx *c, const OnnxRecurrent *r)
{
  const LoomOp *op = loom_op (r->op);
  guint n = port_of (op, "bias_hh_l0_reverse") + 1;
  g_autofree const OnnxWire **in = g_new0 (const OnnxWire *, n + 1);
  struct
  {
    const char *port;
    OnnxPart part;
  } parts[8];
  guint n_parts = 0;

  in[0] = reversed (c, r, r->x);
  if (has_state (c, ONNX_RNN_H))
    in[1] = swapped (c, r, onnx_in (c, ONNX_RNN_H));
  if (r->gates == 4 && has_state (c, ONNX_RNN_C))
    in[2] = swapped (c, r, onnx_in (c, ONNX_RNN_C));
  in[port_of (op, "lengths")] = r->lengths;
  for (guint d = 0; d < r->directions; d++)
    for (guint k = 0; k < 4; k++)
      {
        static const char *const names[] = { "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0" };
        const char *port = onnx_text (c, "%s%s", names[k], d > 0 ? "_reverse" : "");
        OnnxPart part
            = onnx_recurrent_part (c, r, ONNX_RNN_W + MIN (k, 2), d, r->gates, order_of (r) + (k == 3 ? r->gates : 0));

        g_autofree char *name = part.tensor != NULL ? onnx_called_recurrent (c->all, c->node, port) : NULL;

        if (name != NULL)
          part.wire = named_weight (c, name, part.tensor);
        if (part.wire != NULL)
          in[port_of (op, port)] = part.wire;
        parts[n_parts].port = port;
        parts[n_parts++].part = part;
      }
  const OnnxWire *y
      = onnx_emit (c, r->op, n, in, "hidden_size", onnx_text (c, "%" G_GINT64_FORMAT, r->hidden), "bias",
                   onnx_has (c, ONNX_RNN_B) ? NULL : "false", "batch_first", r->batch_first ? "true" : NULL,
                   "bidirectional", r->directions > 1 ? "true" : NULL, r->gates == 1 ? "nonlinearity" : "bias",
                   r->gates == 1 && acts_as (r, 0, "Relu") ? "relu" : NULL, NULL);
  for (guint k = 0; k < n_parts; k++)
    {
      if (parts[k].part.wire == NULL && parts[k].part.tensor != NULL)
        onnx_add_weight (c, y->node, parts[k].port, parts[k].part.tensor, NULL);
      onnx_recurrent_clear (&parts[k].part);
    }
  if (c->failed)
    return;
  if (onnx_has_output (c, 1))
    onnx_out (c, 1, swapped (c, r, onnx_sibling (c, y, "h_n")));
  if (r->gates == 4 && onnx_has_output (c, 2))
    onnx_out (c, 2, swapped (c, r, onnx_sibling (c, y, "c_n")));
  if (!onnx_has_output (c, 0))
    return;
  /* Both directions are one dimension here, and two in ONNX. */
  y = reversed (c, r, y);
  if (r->directions == 1)
    y = onnx_emit (c, "unsqueeze", ONNX_IN (y), "dim", r->batch_first ? "2" : "1", NULL);
  else
    {
      y = onnx_emit (c, "unflatten", ONNX_IN (y), "dim", "2", "sizes", onnx_text (c, "2,%" G_GINT64_FORMAT, r->hidden),
                     NULL);
      if (!r->batch_first)
        y = onnx_permute (c, y, (gint64[]){ 0, 2, 1, 3 });
    }
  onnx_out (c, 0, y);
}

/* ---- a loop over a cell ------------------------------------------------------------ */

static void
put_cells (OnnxCtx *c, const OnnxRecurrent *r)
{
  const OnnxWire *out[2][3] = { 0 };

  for (guint d = 0; d < r->directions && !c->failed; d++)
    onnx_draw_cell (c, r, d, out[d]);
  for (guint k = 0; k < (r->gates == 4 ? 3 : 2) && !c->failed; k++)
    if (onnx_has_output (c, k))
      {
        const OnnxWire *both[2] = { out[0][k], out[1][k] };
        const char *dim = r->batch_first ? (k == 0 ? "2" : "1") : k == 0 ? "1" : "0";

        onnx_out (c, k,
                  r->directions == 1 ? onnx_emit (c, "unsqueeze", ONNX_IN (both[0]), "dim", dim, NULL)
                                     : onnx_emit (c, "stack", 2, both, "dim", dim, NULL));
      }
}

static void
map_layer (OnnxCtx *c, OnnxRecurrent r)
{
  if (!read_layer (c, &r))
    return;
  if (is_layer (c, &r))
    put_layer (c, &r);
  else
    put_cells (c, &r);
}

static void
map_rnn (OnnxCtx *c)
{
  map_layer (c, (OnnxRecurrent){ .gates = 1, .op = "rnn" });
}

static void
map_gru (OnnxCtx *c)
{
  map_layer (c, (OnnxRecurrent){ .gates = 3, .op = "gru" });
}

static void
map_lstm (OnnxCtx *c)
{
  map_layer (c, (OnnxRecurrent){ .gates = 4, .op = "lstm" });
}

/* ---- com.microsoft ----------------------------------------------------------------- */

/* [directions, features, gates · hidden] integers as floats [directions, gates · hidden, features]. There is a scale
 * and a zero point for each direction, or for each column too. NULL: they do not fit. */
static LoomTensor *
turned_weight (const LoomTensor *t, const LoomTensor *scale, const LoomTensor *zero)
{
  const gint64 columns = t->rank == 3 ? t->dim[2] : 0, rows = t->rank == 3 ? t->dim[1] : 0;
  const gint64 n = t->rank == 3 ? t->dim[0] * columns : 0;
  LoomTensor *y;

  if (n == 0 || (scale->count != t->dim[0] && scale->count != n) || zero->count != scale->count)
    return NULL;
  y = loom_tensor_new (LOOM_F32, 3, (gint64[]){ t->dim[0], columns, rows }, NULL);
  for (gint64 i = 0; y != NULL && i < t->count; i++)
    {
      const gint64 column = i % columns, row = i / columns % rows, direction = i / columns / rows;
      const gint64 at = scale->count == n ? direction * columns + column : direction;
      const double centred = loom_tensor_get (t, i) - loom_tensor_get (zero, at);

      ((float *)y->data)[(direction * columns + column) * rows + row]
          = (float)centred * (float)loom_tensor_get (scale, at);
    }
  return y;
}

/* Lets input i of the node be the floats of its integers. */
static void
widen_weight (OnnxCtx *c, guint i, guint scales)
{
  const LoomTensor *t = onnx_const (c, i, i == ONNX_RNN_W ? "W" : "R"), *scale = onnx_const (c, scales, "scale"),
                   *zero = onnx_const (c, scales + 1, "zero point");
  LoomTensor *y = c->failed ? NULL : turned_weight (t, scale, zero);
  char **name = &c->node->input[i];
  const char *wide;
  OnnxValue *value;

  if (y == NULL)
    {
      onnx_fail (c, "its weights, scales and zero points do not fit.");
      return;
    }
  wide = onnx_text (c, "%s.%s.floats", *c->node->output[0] ? c->node->output[0] : "y", *name);
  value = onnx_declare (c->all, wide);
  if (value->constant != NULL)
    loom_tensor_unref (value->constant);
  value->constant = y;
  value->is_weight = TRUE;
  /* The model was unpacked with malloc(). */
  *name = realloc (*name, strlen (wide) + 1);
  strcpy (*name, wide);
}

/* Inputs 8 to 11 are scales and zero points of W and R. The layer is computed, and trained, in floats: onnxruntime also
 * rounds x and the state to 8 bits in each step. */
static void
map_quantized_lstm (OnnxCtx *c)
{
  if (onnx_n_inputs (c) < 12)
    {
      onnx_fail (c, "its scales and zero points are missing.");
      return;
    }
  widen_weight (c, ONNX_RNN_W, 8);
  widen_weight (c, ONNX_RNN_R, 10);
  if (!c->failed)
    map_lstm (c);
  if (!c->failed)
    g_ptr_array_add (c->all->notes,
                     g_strdup ("The weights of DynamicQuantizeLSTM became floats, and its products are computed in "
                               "floats: results differ from onnxruntime's by what 8 bits round."));
}

const OnnxMap onnx_map_recurrent[] = {
  { "DynamicQuantizeLSTM", NULL, map_quantized_lstm, .domain = "com.microsoft" },
  { "RNN", NULL, map_rnn },
  { "GRU", NULL, map_gru },
  { "LSTM", NULL, map_lstm },
  { NULL },
};
