/* Elman's recurrent network, as torch.nn.RNN (Elman, "Finding structure in time", 1990). */
#include "engine/ops/family-recurrent.h"

static const LoomPortSpec inputs[] = {
  LOOM_RECURRENT_INPUT,
  LOOM_RECURRENT_LENGTHS,
  LOOM_RECURRENT_FIRST,
  LOOM_RECURRENT_LATER (LOOM_RECURRENT_LAYER),
  { NULL },
};

static const char *const nonlinearities[] = { "tanh", "relu", NULL };

static const LoomParamSpec params[] = {
  LOOM_RECURRENT_PARAMS,
  { LOOM_PARAM ("nonlinearity", ENUM, "tanh"), .choices = nonlinearities, .doc = "The activation of the new state." },
  { NULL },
};

static void
step (LoomRecurrentStep *s)
{
  s->h = loom_unary (s->p, s->activation, loom_recurrent_gates (s));
}

const LoomRecurrentCell loom_recurrent_rnn = { .gates = 1, .step = step };

static const LoomSample samples[] = {
  { .params = "hidden_size=4", .inputs = { "f32:T,B,3" } },
  { .params = "hidden_size=3 batch_first=true num_layers=2 bidirectional=true",
    .inputs = { "f32:B,T,2", "f32:4,B,3" } },
  { .params = "hidden_size=2 bias=false", .inputs = { "f32:1,B,1" } },
  { .params = "hidden_size=3", .inputs = { "f32:T,B,2", "", "i64:B" }, .range = "class:6" },
  { NULL },
};

const LoomOp loom_op_rnn = {
  .name = "rnn",
  .title = "RNN",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-rnn-symbolic",
  .synonyms = "recurrent elman sequence",
  .doc = "Applies an Elman RNN to a sequence.",
  .details
  = "The state of each step is computed from the input and the previous state, with the same weights at every step, so "
    "sequences can have any length. Over many steps gradients vanish or explode; lstm and gru reduce this.",
  .formula = "hₜ = tanh(xₜ Wᵢₕᵀ + bᵢₕ + hₜ₋₁ Wₕₕᵀ + bₕₕ)",
  .reference = "torch.nn.RNN",
  .inputs = inputs,
  .outputs = loom_op_port_recurrent,
  .params = params,
  .infer = loom_op_infer_recurrent,
  .lower = loom_op_lower_recurrent,
  .flops = loom_op_recurrent_flops,
  .samples = samples,
  .summary = loom_op_recurrent_summary,
};
