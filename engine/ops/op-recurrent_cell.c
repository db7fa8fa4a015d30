/* One step of a recurrent layer, as torch.nn.RNNCell, LSTMCell and GRUCell: for loops that a scan or a module draws.
 *
 * A row for each kind; the formulas are those of the layers (op-rnn.c, op-lstm.c, op-gru.c). */
#include "engine/ops/family-recurrent.h"

#include <math.h>

#define STATE "h_0", "The hidden state [batch, hidden_size]; zeros if not wired.", LOOM_PORT_OPTIONAL
#define WEIGHTS                                                                                                        \
  { "weight_ih", "Ties the input projection to another tensor.", LOOM_PORT_WEIGHT },                                   \
      { "weight_hh", "Ties the projection of the state to another tensor.", LOOM_PORT_WEIGHT },                        \
      { "bias_ih", "Ties the bias of the input projection to another tensor.", LOOM_PORT_WEIGHT },                     \
  {                                                                                                                    \
    "bias_hh", "Ties the bias of the state projection to another tensor.", LOOM_PORT_WEIGHT                            \
  }

static const LoomPortSpec inputs[]
    = { { "input", "The input of the step [batch, features]." }, { STATE }, WEIGHTS, { NULL } };
static const LoomPortSpec inputs_of_lstm[]
    = { { "input", "The input of the step [batch, features]." },
        { STATE },
        { "c_0", "The cell state [batch, hidden_size]; zeros if not wired.", LOOM_PORT_OPTIONAL },
        WEIGHTS,
        { NULL } };

static const LoomPortSpec outputs[] = { { "h_1", "The hidden state after the step [batch, hidden_size]." }, { NULL } };
static const LoomPortSpec outputs_of_lstm[]
    = { { "h_1", "The hidden state after the step [batch, hidden_size]." },
        { "c_1", "The cell state after the step [batch, hidden_size].", LOOM_PORT_OPTIONAL },
        { NULL } };

#define PARAMS                                                                                                         \
  { LOOM_PARAM_FRESH ("hidden_size", INT, "64"), LOOM_RANGE (1, 1e6), .unit = "features",                              \
    .doc = "The size of the hidden state." },                                                                          \
  {                                                                                                                    \
    LOOM_PARAM ("bias", BOOL, "true"), .doc = "Whether the gates have learnable biases."                               \
  }

static const char *const nonlinearities[] = { "tanh", "relu", NULL };
static const LoomParamSpec params[] = { PARAMS, { NULL } };
static const LoomParamSpec params_of_rnn[] = { PARAMS,
                                               { LOOM_PARAM ("nonlinearity", ENUM, "tanh"), .choices = nonlinearities,
                                                 .doc = "The activation of the new state." },
                                               { NULL } };

static gboolean
check_state (LoomInfer *ctx, guint i, const char *port, const LoomShape *want)
{
  const LoomType *have = loom_infer_input (ctx, i);
  g_autofree char *given = NULL, *wanted = NULL;

  if (have == NULL || (have->dtype == loom_infer_input (ctx, 0)->dtype && loom_shape_compatible (&have->shape, want)))
    return TRUE;
  given = loom_shape_to_string (&have->shape);
  wanted = loom_shape_to_string (want);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port,
                    "The state must be %s [batch, hidden_size] in the type of the input, but got %s %s.", wanted,
                    loom_dtype_name (have->dtype), given);
  return FALSE;
}

static void
infer (LoomInfer *ctx)
{
  const LoomRecurrentCell *cell = loom_recurrent_cell (ctx);
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 hidden = loom_infer_int (ctx, "hidden_size"), gates = cell->gates * hidden, features;
  double bound = 1 / sqrt ((double)hidden);
  LoomShape state = { .rank = 2 };
  /* PyTorch initialises all of them uniformly in ±1/√hidden_size. */
  LoomWeightSpec spec = { .init = { LOOM_INIT_UNIFORM, -bound, bound }, .dtype = LOOM_F32 };

  if (!loom_op_rank (ctx, 0, "input", 2, 2, "batch × features", "A sequence goes into the layer without _cell.")
      || !loom_op_needs_weight_type (ctx, 0, "input")
      || !loom_op_plain_dim (ctx, x->shape.dim[1], "each input feature", &features))
    return;
  state.dim[0] = x->shape.dim[0];
  state.dim[1] = loom_dim (hidden);
  if (!check_state (ctx, 1, "h_0", &state) || (cell->has_cell && !check_state (ctx, 2, "c_0", &state)))
    return;
  spec.name = "weight_ih";
  spec.shape = loom_shape (2, (gint64[]){ gates, features });
  loom_infer_weight (ctx, &spec);
  spec.name = "weight_hh";
  spec.shape = loom_shape (2, (gint64[]){ gates, hidden });
  loom_infer_weight (ctx, &spec);
  if (loom_infer_bool (ctx, "bias"))
    {
      spec.shape = loom_shape (1, &gates);
      spec.name = "bias_ih";
      loom_infer_weight (ctx, &spec);
      spec.name = "bias_hh";
      loom_infer_weight (ctx, &spec);
    }
  loom_infer_output (ctx, 0, x->dtype, &state);
  if (cell->has_cell)
    loom_infer_output (ctx, 1, x->dtype, &state);
}

static LoomValue
state_of (LoomLower *ctx, guint i, const gint64 *dims, LoomDType dtype)
{
  LoomValue state = loom_lower_input (ctx, i);

  return state != 0 ? state : loom_fill (loom_lower_program (ctx), dtype, 2, dims, 0);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  const LoomRecurrentCell *cell = loom_recurrent_cell (infer_ctx);
  LoomProgram *p = loom_lower_program (ctx);
  gint64 dims[LOOM_MAX_RANK];
  LoomValue x = loom_lower_input (ctx, 0), bias = loom_lower_weight (ctx, "bias_ih"), in[3];
  LoomDType dtype = loom_op_desc (ctx, x).dtype;
  LoomMatmulAttrs attrs = { .trans_b = true, .has_bias = bias != 0, .act = LOOM_SCALAR_ID };
  LoomRecurrentStep step = { .p = p, .w = loom_lower_weight (ctx, "weight_hh"), .activation = LOOM_SCALAR_TANH };

  loom_op_output_dims (ctx, 0, dims);
  step.batch = dims[0];
  step.hidden = dims[1];
  step.h = state_of (ctx, 1, dims, dtype);
  if (cell->has_cell)
    step.c = state_of (ctx, 2, dims, dtype);
  if (bias != 0 && cell->splits_biases)
    step.bias = loom_lower_weight (ctx, "bias_hh");
  else if (bias != 0)
    bias = loom_binary (p, LOOM_SCALAR_ADD, bias, loom_lower_weight (ctx, "bias_hh"));
  if (cell == &loom_recurrent_rnn && g_str_equal (loom_infer_string (infer_ctx, "nonlinearity"), "relu"))
    step.activation = LOOM_SCALAR_RELU;
  in[0] = x;
  in[1] = loom_lower_weight (ctx, "weight_ih");
  in[2] = bias;
  step.x = loom_emit (p, loom_prim ("matmul"), &attrs, 3, in, NULL);
  cell->step (&step);
  loom_lower_output (ctx, 0, step.h);
  if (cell->has_cell)
    loom_lower_output (ctx, 1, step.c);
}

static double
flops (const LoomInfer *ctx)
{
  const LoomShape *x = &loom_infer_input (ctx, 0)->shape;
  double gates = loom_recurrent_cell (ctx)->gates * (double)loom_infer_int (ctx, "hidden_size");

  return (double)x->dim[0].coef * gates * (2 * (double)(x->dim[1].coef + loom_infer_int (ctx, "hidden_size")) + 4);
}

static char *
summary (const LoomInfer *ctx)
{
  return g_strdup_printf ("%" G_GINT64_FORMAT " features", loom_infer_int (ctx, "hidden_size"));
}

static const LoomSample samples[] = {
  { .params = "hidden_size=4", .inputs = { "f32:B,3" } },
  { .params = "hidden_size=3", .inputs = { "f32:B,2", "f32:B,3" } },
  { .params = "hidden_size=2 bias=false", .inputs = { "f32:1,1" } },
  { .params = "hidden_size=2", .inputs = { "f32:0,3" } },
  { NULL },
};
static const LoomSample samples_of_rnn[] = {
  { .params = "hidden_size=4", .inputs = { "f32:B,3" } },
  { .params = "hidden_size=3 nonlinearity=relu", .inputs = { "f32:B,2", "f32:B,3" } },
  { .params = "hidden_size=2 bias=false", .inputs = { "f32:1,1" } },
  { NULL },
};
static const LoomSample samples_of_lstm[] = {
  { .params = "hidden_size=4", .inputs = { "f32:B,3" } },
  { .params = "hidden_size=3", .inputs = { "f32:B,2", "f32:B,3", "f32:B,3" } },
  { .params = "hidden_size=2 bias=false", .inputs = { "f32:1,1", "", "f32:1,2" } },
  { NULL },
};

#define CELL .category = LOOM_CATEGORY_LAYERS, .infer = infer, .lower = lower, .flops = flops, .summary = summary

const LoomOp loom_op_rnn_cell = {
  .name = "rnn_cell",
  .title = "RNN cell",
  .icon = "loom-rnn-symbolic",
  .doc = "Computes one step of an Elman RNN.",
  .details = "For loops of your own, such as a decoder that reads its own output. The layer rnn runs over a sequence.",
  .formula = "h' = tanh(x Wᵢₕᵀ + bᵢₕ + h Wₕₕᵀ + bₕₕ)",
  .reference = "torch.nn.RNNCell",
  .inputs = inputs,
  .outputs = outputs,
  .params = params_of_rnn,
  .samples = samples_of_rnn,
  CELL,
};

const LoomOp loom_op_lstm_cell = {
  .name = "lstm_cell",
  .title = "LSTM cell",
  .icon = "loom-lstm-symbolic",
  .doc = "Computes one step of a long short-term memory.",
  .details = "For loops of your own, such as a decoder that reads its own output. The layer lstm runs over a sequence.",
  .formula = "c' = f ⊙ c + i ⊙ g,  h' = o ⊙ tanh(c')",
  .reference = "torch.nn.LSTMCell",
  .inputs = inputs_of_lstm,
  .outputs = outputs_of_lstm,
  .params = params,
  .samples = samples_of_lstm,
  CELL,
};

const LoomOp loom_op_gru_cell = {
  .name = "gru_cell",
  .title = "GRU cell",
  .icon = "loom-gru-symbolic",
  .doc = "Computes one step of a gated recurrent unit.",
  .details = "For loops of your own, such as a decoder that reads its own output. The layer gru runs over a sequence.",
  .formula = "h' = (1 − z) ⊙ n + z ⊙ h",
  .reference = "torch.nn.GRUCell",
  .inputs = inputs,
  .outputs = outputs,
  .params = params,
  .samples = samples,
  CELL,
};
