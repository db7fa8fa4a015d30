/* ReLU: y = max(x, 0). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_relu = {
  .name = "relu",
  .title = "ReLU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-relu-symbolic",
  .synonyms = "rectifier rectified",
  .usual = TRUE,
  .doc = "Applies the rectified linear unit: negative elements become 0, and others stay unchanged.",
  .details
  = "The usual activation between two layers. The gradient is passed on unchanged for positive elements and is 0 for "
    "all others, so a unit whose input is negative for every sample stops learning.",
  .formula = "y = max(x, 0)",
  .reference = "torch.nn.ReLU",
  .source = "Nair and Hinton, “Rectified Linear Units Improve Restricted Boltzmann Machines”, ICML 2010",
  LOOM_OP_FUNCTION (RELU, same, away0),
};
