/* Alpha dropout, as torch.nn.AlphaDropout (Klambauer et al. 2017, section 3). */
#include "engine/ops/op-layers.h"

static const LoomSample samples[] = {
  { .inputs = { "f32:B,8" } },
  { .params = "p=0.25", .inputs = { "f32:2,3,4" } },
  { .params = "p=0", .inputs = { "f32:B,3" } },
  { .params = "p=1", .inputs = { "f32:B,3" } },
  { NULL },
};

const LoomOp loom_op_alpha_dropout = {
  .name = "alpha_dropout",
  .title = "Alpha dropout",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-dropout-symbolic",
  .doc = "Applies dropout that keeps the mean and variance of SELU activations.",
  .details = "SELU networks keep their activations near mean 0 and variance 1, which zeros would disturb. Dropped "
             "elements are set to −λα, the limit of SELU for large negative inputs, and the result is scaled and "
             "shifted to restore mean and variance. In evaluation the input is unchanged.",
  .formula = "y = a · (m · x + (1 − m) · v) + b, v = −λα",
  .reference = "torch.nn.AlphaDropout",
  .source = "Klambauer, Unterthiner, Mayr and Hochreiter, “Self-Normalizing Neural Networks”, NIPS 2017, "
            "arXiv:1706.02515, section 3",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_dropped,
  .params = loom_op_param_dropped,
  .infer = loom_op_infer_dropout,
  .lower = loom_op_lower_alpha_dropout,
  .flops = loom_op_alpha_dropout_flops,
  .samples = samples,
};
