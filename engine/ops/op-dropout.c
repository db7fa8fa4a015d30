/* Dropout: in training, random elements become zero and the others are scaled up. */
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
  .doc = "Sets random elements to zero during training.",
  .details
  = "Each element is dropped with probability p, and the others are scaled by 1 / (1 - p), which keeps the expected "
    "value. This reduces overfitting, because no unit can rely on another one. In evaluation the input is unchanged.",
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
