/* Tanh: y = tanh x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_tanh = {
  .name = "tanh",
  .title = "Tanh",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-tanh-symbolic",
  .synonyms = "hyperbolic tangent",
  .usual = TRUE,
  .doc = "Applies the hyperbolic tangent: maps all numbers to the range from −1 to 1.",
  .details
  = "Zero-centred, unlike the sigmoid, and common in recurrent cells. Its derivative is nearly 0 for large |x|. Also "
    "written as (e²ˣ − 1) / (e²ˣ + 1), or with the sigmoid σ as 2 σ(2x) − 1.",
  .formula = "y = tanh x = (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ)",
  .reference = "torch.nn.Tanh",
  .source
  = "LeCun, Bottou, Orr and Müller, “Efficient BackProp”, in “Neural Networks: Tricks of the Trade”, Springer 1998",
  LOOM_OP_FUNCTION (TANH, float, any),
};
