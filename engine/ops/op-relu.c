/* ReLU: y = max(x, 0). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_relu = {
  .name = "relu",
  .title = "ReLU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-relu-symbolic",
  .synonyms = "rectifier rectified",
  .usual = TRUE,
  .doc = "Applies the rectified linear unit: negative elements become zero.",
  .details = "The default activation between two layers. The gradient passes unchanged for positive inputs and is 0 "
             "elsewhere, so a unit that is negative for every sample learns nothing more.",
  .formula = "y = max(x, 0)",
  .reference = "torch.nn.ReLU",
  .source = "Nair and Hinton, “Rectified Linear Units Improve Restricted Boltzmann Machines”, ICML 2010",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .scalar = LOOM_SCALAR_RELU,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_away0,
};
