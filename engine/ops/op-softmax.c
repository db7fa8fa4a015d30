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
  .gives = LOOM_OUTPUT_PROBABILITIES,
  .doc = "Turns scores into shares that sum to 1.",
  .details = "The largest score gets the largest share, and all shares are positive: a soft choice that gradients can "
             "pass. Attention weights are made by it. Before cross_entropy leave it out, because that does it inside "
             "and more exactly.",
  .formula = "yᵢ = eˣⁱ / Σⱼ eˣʲ",
  .first = LOOM_FIRST_SHARE,
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
