/* Sigmoid: y = 1 / (1 + e⁻ˣ). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_sigmoid = {
  .name = "sigmoid",
  .title = "Sigmoid",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-sigmoid-symbolic",
  .synonyms = "logistic",
  .usual = TRUE,
  .output_kind = LOOM_OUTPUT_BINARY_PROBABILITIES,
  .doc = "Applies the sigmoid: maps all numbers to the range from 0 to 1.",
  .details = "Used for probabilities and gates. Its derivative is nearly 0 for large |x|, so gradients vanish through "
             "many of them; between layers relu or gelu usually work better.",
  .formula = "y = 1 / (1 + e⁻ˣ)",
  .reference = "torch.nn.Sigmoid",
  .source
  = "LeCun, Bottou, Orr and Müller, “Efficient BackProp”, in “Neural Networks: Tricks of the Trade”, Springer 1998",
  LOOM_OP_FUNCTION (SIGMOID, float, any),
};
