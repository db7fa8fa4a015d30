/* Log softmax along a dimension. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "-1", .doc = "The dimension along which the probabilities sum to 1." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  loom_op_lower_softmax (ctx, TRUE);
}

const LoomOp loom_op_log_softmax = {
  .name = "log_softmax",
  .title = "Log softmax",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-log-softmax-symbolic",
  .doc = "Computes the logarithm of the softmax along a dimension.",
  .details
  = "More accurate than softmax followed by log: small probabilities underflow in f32, but their logarithms do not.",
  .formula = "yᵢ = xᵢ − ln Σⱼ eˣʲ",
  .reference = "torch.nn.LogSoftmax",
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
