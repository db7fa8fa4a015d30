/* Softmin along a dimension. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "-1", .doc = "The dimension along which the results sum to 1." },
  { NULL },
};

const LoomOp loom_op_softmin = {
  .name = "softmin",
  .title = "Softmin",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-softmax-symbolic",
  .doc = "Applies softmax to the negated input.",
  .details = "The smallest element gets the largest probability, for example the nearest neighbour if the input holds "
             "distances.",
  .formula = "yᵢ = e⁻ˣⁱ / Σⱼ e⁻ˣʲ",
  .reference = "torch.nn.Softmin",
  .source = "Bridle, “Probabilistic Interpretation of Feedforward Classification Network Outputs”, in "
            "“Neurocomputing”, Springer 1990",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_softmax,
  .lower = loom_op_lower_softmin,
  .flops = loom_op_softmax_flops,
  .samples = loom_op_samples_softmax,
};
