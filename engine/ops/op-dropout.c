/* Dropout: in training, random elements become zero and the others grow to keep the mean. */
#include "engine/ops/op-layers.h"

static const LoomSample samples[] = {
  { .inputs = { "f32:B,8" } },
  { .params = "p=0.25", .inputs = { "f32:2,3,4,4" } },
  { .params = "p=0", .inputs = { "f32:B,3" } },
  { .params = "p=1", .inputs = { "f32:B,3" } },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_dropout = {
  .name = "dropout",
  .title = "Dropout",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-dropout-symbolic",
  .synonyms = "regularization",
  .usual = TRUE,
  .doc = "Silences random elements while training, so that no unit relies on another.",
  .details = "At every step each element is dropped with probability p and the rest is scaled up by 1 / (1 - "
             "p), so sums stay what they were on average. A network cannot lean on single units and overfits "
             "less. In evaluation it lets everything pass.",
  .formula = "y = m · x / (1 − p), m ~ Bernoulli(1 − p)",
  .reference = "torch.nn.Dropout",
  .source = "Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, “Dropout: A Simple Way to Prevent Neural "
            "Networks from Overfitting”, JMLR 15, 2014",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_dropped,
  .params = loom_op_param_dropped,
  .infer = loom_op_infer_dropout,
  .lower = loom_op_lower_dropout,
  .flops = loom_op_dropped_flops,
  .samples = samples,
};
