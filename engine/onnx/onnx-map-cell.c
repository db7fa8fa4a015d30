/* Imports a direction of a recurrent layer that PyTorch's layers cannot express: a loop (scan) over a composed cell.
 *
 * Gates, peepholes and the order of operations are those of the ONNX specification. It clips “the input of
 * activations”; onnxruntime, and so this file, clips that of the gates and of the candidate, but not that of the last
 * activation. */
#include "engine/onnx/onnx-constant.h"
#include "engine/onnx/onnx-recurrent.h"

#include <string.h>

typedef struct
{
  OnnxCtx *c; /* outside the loop */
  OnnxCtx in; /* inside the loop */
  const OnnxRecurrent *r;
  guint direction;
  const OnnxWire *x, *h, *cell; /* inside the loop */
} Cell;

static const OnnxWire *
within (Cell *k, OnnxPart *part, const char *name)
{
  if (part->wire != NULL)
    return onnx_scope_capture (k->in.all, name, part->wire);
  return part->tensor != NULL ? onnx_tensor_wire (&k->in, part->tensor, name, TRUE) : NULL;
}

/* x · Wᵀ + b, of blocks of W or R and of B. */
static const OnnxWire *
product (Cell *k, const OnnxWire *x, guint input, guint n, const guint *order)
{
  static const char *const names[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
  const OnnxRecurrent *r = k->r;
  guint bias_order[4];

  /* The biases of the state follow those of the input. */
  for (guint i = 0; i < n; i++)
    bias_order[i] = order[i] + (input == ONNX_RNN_R ? r->gates : 0);
  OnnxPart weight = onnx_recurrent_part (k->c, r, input, k->direction, n, order);
  OnnxPart bias = onnx_recurrent_part (k->c, r, ONNX_RNN_B, k->direction, n, bias_order);
  guint second = input == ONNX_RNN_R;
  const OnnxWire *w = weight.wire != NULL ? within (k, &weight, names[second]) : NULL;
  const OnnxWire *b = bias.wire != NULL ? within (k, &bias, names[2 + second]) : NULL;
  const OnnxWire *y = onnx_emit (&k->in, "linear", ONNX_IN (x, w, b), "out_features",
                                 onnx_text (k->c, "%" G_GINT64_FORMAT, n * r->hidden), "bias",
                                 onnx_has (k->c, ONNX_RNN_B) ? NULL : "false", NULL);

  if (weight.tensor != NULL)
    onnx_own (&k->in, y, "weight", weight.tensor);
  if (bias.tensor != NULL)
    onnx_own (&k->in, y, "bias", bias.tensor);
  onnx_recurrent_clear (&weight);
  onnx_recurrent_clear (&bias);
  return y;
}

/* Block i of [B, blocks · hidden]. */
static const OnnxWire *
block (Cell *k, const OnnxWire *x, guint i)
{
  return onnx_slice (&k->in, x, 1, i * k->r->hidden, (i + 1) * k->r->hidden, 1);
}

/* activation 0: of the gates, 1: of the candidate, 2: of the cell. */
static const OnnxWire *
activate (Cell *k, guint place, const OnnxWire *x)
{
  const OnnxActivation *a = &k->r->act[k->direction][place];
  OnnxCtx *c = &k->in;

  if (k->r->has_clip && place < 2)
    x = onnx_clamp (c, x, -k->r->clip, k->r->clip);
  if (g_str_equal (a->name, "LeakyRelu"))
    return onnx_emit (c, "leaky_relu", ONNX_IN (x), "negative_slope", onnx_number (c, a->alpha), NULL);
  if (g_str_equal (a->name, "Elu"))
    return onnx_emit (c, "elu", ONNX_IN (x), "alpha", onnx_number (c, a->alpha), NULL);
  if (g_str_equal (a->name, "ThresholdedRelu"))
    return onnx_emit (c, "threshold", ONNX_IN (x), "threshold", onnx_number (c, a->alpha), "value", "0", NULL);
  if (g_str_equal (a->name, "ScaledTanh"))
    return onnx_with_number (c, "mul", onnx_unary (c, "tanh", onnx_with_number (c, "mul", x, a->beta)), a->alpha);
  if (g_str_equal (a->name, "Affine") || g_str_equal (a->name, "HardSigmoid"))
    {
      x = onnx_with_number (c, "add", onnx_with_number (c, "mul", x, a->alpha), a->beta);
      return *a->name == 'A' ? x : onnx_clamp (c, x, 0, 1);
    }
  g_autofree char *name = g_ascii_strdown (a->name, -1);
  return onnx_unary (c, onnx_text (c, "%s", name), x);
}

static const OnnxWire *
binary (Cell *k, const char *op, const OnnxWire *a, const OnnxWire *b)
{
  return onnx_binary (&k->in, op, a, b);
}

/* (1 - z) · n + z · h */
static const OnnxWire *
mix (Cell *k, const OnnxWire *z, const OnnxWire *fresh)
{
  const OnnxWire *share = binary (k, "mul", z, binary (k, "sub", k->h, fresh));

  return binary (k, "add", fresh, share);
}

/* ---- cells ------------------------------------------------------------------- */

static void
rnn_cell (Cell *k)
{
  static const guint order[] = { 0 };
  const OnnxWire *x = product (k, k->x, ONNX_RNN_W, 1, order), *h = product (k, k->h, ONNX_RNN_R, 1, order);

  k->h = activate (k, 0, binary (k, "add", x, h));
}

/* z r h. Without linear_before_reset the reset gate is applied to the state itself. */
static void
gru_cell (Cell *k)
{
  static const guint all[] = { 0, 1, 2 }, last[] = { 2 };
  const OnnxWire *x = product (k, k->x, ONNX_RNN_W, 3, all);
  const OnnxWire *h = product (k, k->h, ONNX_RNN_R, k->r->after ? 3 : 2, all), *z, *reset, *fresh;

  z = activate (k, 0, binary (k, "add", block (k, x, 0), block (k, h, 0)));
  reset = activate (k, 0, binary (k, "add", block (k, x, 1), block (k, h, 1)));
  if (k->r->after)
    fresh = binary (k, "mul", reset, block (k, h, 2));
  else
    fresh = product (k, binary (k, "mul", reset, k->h), ONNX_RNN_R, 1, last);
  k->h = mix (k, z, activate (k, 1, binary (k, "add", block (k, x, 2), fresh)));
}

/* The contribution of the cell to a gate by its peephole: P has blocks for i, o and f. */
static const OnnxWire *
peep (Cell *k, const OnnxWire *gate, guint i, const OnnxWire *cell)
{
  OnnxPart part = onnx_recurrent_part (k->c, k->r, ONNX_RNN_P, k->direction, 1, &i);
  const OnnxWire *p = within (k, &part, "peephole");

  onnx_recurrent_clear (&part);
  return p != NULL ? binary (k, "add", gate, binary (k, "mul", cell, p)) : gate;
}

/* i o f c. The output gate reads the new cell. */
static void
lstm_cell (Cell *k)
{
  static const guint all[] = { 0, 1, 2, 3 };
  const OnnxWire *x = product (k, k->x, ONNX_RNN_W, 4, all), *h = product (k, k->h, ONNX_RNN_R, 4, all);
  const OnnxWire *gates = binary (k, "add", x, h), *i, *f, *o, *fresh;

  i = activate (k, 0, peep (k, block (k, gates, 0), 0, k->cell));
  if (k->r->couples)
    f = onnx_with_number (&k->in, "add", onnx_unary (&k->in, "neg", i), 1);
  else
    f = activate (k, 0, peep (k, block (k, gates, 2), 2, k->cell));
  fresh = activate (k, 1, block (k, gates, 3));
  k->cell = binary (k, "add", binary (k, "mul", f, k->cell), binary (k, "mul", i, fresh));
  o = activate (k, 0, peep (k, block (k, gates, 1), 1, k->cell));
  k->h = binary (k, "mul", o, activate (k, 2, k->cell));
}

/* ---- the loop ------------------------------------------------------------------ */

static const OnnxWire *
carried (Cell *k, const char *name, LoomDim batch, const OnnxWire *first)
{
  LoomType type = { .dtype = k->r->x->type.dtype, .shape = { .rank = 2, .dim = { batch, loom_dim (k->r->hidden) } } };
  const OnnxWire *wire = onnx_scope_input (k->in.all, name, &type);

  if (first == NULL && loom_dim_is_unknown (batch))
    onnx_fail (k->c, "the number of samples is not known; wire its initial state.");
  else if (first == NULL)
    onnx_node_set (wire->node, "shape", onnx_dims (k->c, &type.shape));
  return wire;
}

void
onnx_draw_cell (OnnxCtx *c, const OnnxRecurrent *r, guint direction, const OnnxWire *out[3])
{
  OnnxImport *scope = onnx_scope_new (c->all, r->gates == 4 ? "lstm_cell" : r->gates == 3 ? "gru_cell" : "rnn_cell");
  Cell k = { .c = c, .in = onnx_scope_ctx (c, scope), .r = r, .direction = direction };
  const LoomShape *shape = &r->x->type.shape;
  int time = r->batch_first ? 1 : 0;
  LoomDim batch = shape->dim[1 - time];
  LoomType row = { .dtype = r->x->type.dtype, .shape = { .rank = 2, .dim = { batch, shape->dim[2] } } };
  const OnnxWire *in[3] = { r->x, onnx_recurrent_state (c, r, ONNX_RNN_H, direction) }, *h, *cell = NULL;

  k.x = onnx_scope_input (scope, "x", &row);
  k.h = h = carried (&k, "h", batch, in[1]);
  if (r->gates == 4)
    {
      in[2] = onnx_recurrent_state (c, r, ONNX_RNN_C, direction);
      k.cell = cell = carried (&k, "c", batch, in[2]);
      lstm_cell (&k);
    }
  else if (r->gates == 3)
    gru_cell (&k);
  else
    rnn_cell (&k);
  onnx_scope_output (&k.in, "y", k.h, NULL);
  onnx_scope_output (&k.in, "h_n", k.h, h);
  if (cell != NULL)
    onnx_scope_output (&k.in, "c_n", k.cell, cell);
  c->failed = c->failed || k.in.failed;
  const OnnxNode *node = onnx_emit_loop (c, scope,
                                         &(OnnxLoop){ .in = in,
                                                      .is_sequence = (gboolean[]){ TRUE, FALSE, FALSE },
                                                      .lengths = r->lengths,
                                                      .axis = time,
                                                      .reverse = r->directions == 1 ? r->reverse : direction == 1 });
  for (guint i = 0; node != NULL && i < node->n_out; i++)
    out[i] = &node->out[i];
}
