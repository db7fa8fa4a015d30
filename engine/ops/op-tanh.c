/* Tanh: y = tanh x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_tanh = {
  .name = "tanh",
  .title = "Tanh",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-tanh-symbolic",
  .synonyms = "hyperbolic tangent",
  .usual = TRUE,
  .doc = "Squeezes any number into the range from -1 to 1.",
  .details = "Like a sigmoid, but centred on zero, which keeps the next layer’s inputs balanced. Common inside "
             "recurrent cells; flat far from zero, where little is learnt.",
  .formula = "y = tanh x",
  .reference = "torch.nn.Tanh",
  .source
  = "LeCun, Bottou, Orr and Müller, “Efficient BackProp”, in “Neural Networks: Tricks of the Trade”, Springer 1998",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_TANH,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
