/* Gated recurrent unit, as torch.nn.GRU (Cho et al. 2014, with the reset gate after the product). */
#include "engine/ops/family-recurrent.h"

static const LoomPortSpec inputs[] = {
  LOOM_RECURRENT_INPUT,
  LOOM_RECURRENT_LENGTHS,
  LOOM_RECURRENT_FIRST,
  LOOM_RECURRENT_LATER (LOOM_RECURRENT_LAYER),
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_RECURRENT_PARAMS,
  { NULL },
};

/* The gates in PyTorch's order: reset, update, new. The reset gate multiplies the projection of the state, its bias
 * included. */
static void
step (LoomRecurrentStep *s)
{
  LoomProgram *p = s->p;
  LoomMatmulAttrs attrs = { .trans_b = true, .has_bias = s->bias != 0, .act = LOOM_SCALAR_ID };
  LoomValue in[3] = { s->h, s->w, s->bias }, own = loom_emit (p, loom_prim ("matmul"), &attrs, 3, in, NULL);
  LoomValue gate[2], fresh;

  for (guint k = 0; k < 2; k++)
    gate[k] = loom_unary (
        p, LOOM_SCALAR_SIGMOID,
        loom_binary (p, LOOM_SCALAR_ADD, loom_recurrent_gate (s, s->x, k), loom_recurrent_gate (s, own, k)));
  fresh = loom_binary (p, LOOM_SCALAR_MUL, gate[0], loom_recurrent_gate (s, own, 2));
  fresh = loom_unary (p, LOOM_SCALAR_TANH, loom_binary (p, LOOM_SCALAR_ADD, loom_recurrent_gate (s, s->x, 2), fresh));
  /* (1 - z)·n + z·h = n + z·(h - n) */
  s->h = loom_binary (p, LOOM_SCALAR_ADD, fresh,
                      loom_binary (p, LOOM_SCALAR_MUL, gate[1], loom_binary (p, LOOM_SCALAR_SUB, s->h, fresh)));
}

const LoomRecurrentCell loom_recurrent_gru = { .gates = 3, .splits_biases = TRUE, .step = step };

static const LoomSample samples[] = {
  { .params = "hidden_size=4", .inputs = { "f32:T,B,3" } },
  { .params = "hidden_size=3 batch_first=true num_layers=2 bidirectional=true",
    .inputs = { "f32:B,T,2", "f32:4,B,3" } },
  { .params = "hidden_size=2 bias=false", .inputs = { "f32:T,B,1" } },
  { .params = "hidden_size=3", .inputs = { "f32:T,B,2", "", "i64:B" }, .range = "class:6" },
  { NULL },
};

const LoomOp loom_op_gru = {
  .name = "gru",
  .title = "GRU",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-gru-symbolic",
  .synonyms = "gated recurrent unit sequence",
  .doc = "Applies a gated recurrent unit to a sequence.",
  .details = "The update gate z interpolates between the previous state and a new one; the reset gate determines how "
             "much of the previous state enters the new one. It has three quarters of the weights of an LSTM, often "
             "with similar results.",
  .formula = "hₜ = (1 − zₜ) ⊙ nₜ + zₜ ⊙ hₜ₋₁",
  .reference = "torch.nn.GRU",
  .inputs = inputs,
  .outputs = loom_op_port_recurrent,
  .params = params,
  .infer = loom_op_infer_recurrent,
  .lower = loom_op_lower_recurrent,
  .flops = loom_op_recurrent_flops,
  .samples = samples,
  .summary = loom_op_recurrent_summary,
};
