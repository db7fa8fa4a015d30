/* Long short-term memory, as torch.nn.LSTM (Hochreiter and Schmidhuber 1997; the forget gate Gers et al. 2000; the
 * projection Sak et al. 2014). */
#include "engine/ops/family-recurrent.h"

static const LoomPortSpec inputs[] = {
  LOOM_RECURRENT_INPUT,
  { "c_0", "The initial cell state [layers · directions, B, hidden_size]; zeros if not wired.", LOOM_PORT_OPTIONAL },
  LOOM_RECURRENT_LENGTHS,
  LOOM_RECURRENT_FIRST,
  LOOM_RECURRENT_LATER (LOOM_RECURRENT_LAYER),
  { "weight_hr_l0", "Ties the weights of the projection [proj_size, hidden_size], likewise.", LOOM_PORT_WEIGHT },
  LOOM_RECURRENT_WEIGHT ("weight_hr", 0, "_reverse"),
  LOOM_RECURRENT_LATER (LOOM_RECURRENT_PROJECTION),
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_RECURRENT_PARAMS,
  { LOOM_PARAM ("proj_size", INT, "0"), LOOM_RANGE (0, 1e6), .unit = "features", .advanced = TRUE,
    .doc = "If not 0, the hidden state is projected to this size." },
  { NULL },
};

/* The gates in PyTorch's order: input, forget, cell, output. */
static void
step (LoomRecurrentStep *s)
{
  LoomProgram *p = s->p;
  LoomValue gates = loom_recurrent_gates (s);
  LoomValue i = loom_unary (p, LOOM_SCALAR_SIGMOID, loom_recurrent_gate (s, gates, 0));
  LoomValue f = loom_unary (p, LOOM_SCALAR_SIGMOID, loom_recurrent_gate (s, gates, 1));
  LoomValue g = loom_unary (p, LOOM_SCALAR_TANH, loom_recurrent_gate (s, gates, 2));
  LoomValue o = loom_unary (p, LOOM_SCALAR_SIGMOID, loom_recurrent_gate (s, gates, 3));

  s->c = loom_binary (p, LOOM_SCALAR_ADD, loom_binary (p, LOOM_SCALAR_MUL, f, s->c),
                      loom_binary (p, LOOM_SCALAR_MUL, i, g));
  s->h = loom_binary (p, LOOM_SCALAR_MUL, o, loom_unary (p, LOOM_SCALAR_TANH, s->c));
}

const LoomRecurrentCell loom_recurrent_lstm = { .gates = 4, .has_cell = TRUE, .step = step };

static const LoomSample samples[] = {
  { .params = "hidden_size=4", .inputs = { "f32:T,B,3" } },
  { .params = "hidden_size=3 batch_first=true num_layers=2 bidirectional=true",
    .inputs = { "f32:B,T,2", "f32:4,B,3", "f32:4,B,3" } },
  { .params = "hidden_size=3 proj_size=2 bias=false", .inputs = { "f32:T,B,2" } },
  { .params = "hidden_size=3", .inputs = { "f32:T,B,2", "", "", "i64:B" }, .range = "class:6" },
  { NULL },
};

const LoomOp loom_op_lstm = {
  .name = "lstm",
  .title = "LSTM",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-lstm-symbolic",
  .synonyms = "long short-term memory recurrent sequence",
  .doc = "Applies a long short-term memory (LSTM) to a sequence.",
  .details
  = "In addition to the hidden state it has a cell state, which input, forget and output gates update and read. The "
    "cell state is updated by addition, so gradients vanish more slowly over long sequences than in a plain RNN.",
  .formula = "cₜ = fₜ ⊙ cₜ₋₁ + iₜ ⊙ gₜ,  hₜ = oₜ ⊙ tanh(cₜ)",
  .reference = "torch.nn.LSTM",
  .inputs = inputs,
  .outputs = loom_op_port_recurrent_cell,
  .params = params,
  .infer = loom_op_infer_recurrent,
  .lower = loom_op_lower_recurrent,
  .flops = loom_op_recurrent_flops,
  .samples = samples,
  .summary = loom_op_recurrent_summary,
};
