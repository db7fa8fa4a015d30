/* Softmax along a dimension. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "-1", .doc = "The dimension along which the results sum to 1." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  loom_op_lower_softmax (ctx, FALSE);
}

const LoomOp loom_op_softmax = {
  .name = "softmax",
  .title = "Softmax",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-softmax-symbolic",
  .synonyms = "probability attention",
  .usual = TRUE,
  .output_kind = LOOM_OUTPUT_PROBABILITIES,
  .doc = "Converts logits to probabilities that sum to 1 along a dimension.",
  .details = "All results are positive, and the largest logit has the largest probability. Attention weights are "
             "computed with it. Do not use it before cross_entropy, which takes logits.",
  .formula = "yᵢ = eˣⁱ / Σⱼ eˣʲ",
  .first = LOOM_FIRST_SOFTMAX,
  .reference = "torch.nn.Softmax",
  .source = "Bridle, “Probabilistic Interpretation of Feedforward Classification Network Outputs”, in "
            "“Neurocomputing”, Springer 1990",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_softmax,
  .lower = lower,
  .flops = loom_op_softmax_flops,
  .samples = loom_op_samples_softmax,
};
