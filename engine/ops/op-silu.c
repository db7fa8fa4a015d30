/* SiLU, also called swish: y = x·σ(x). */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0);

  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_MUL, x, loom_unary (p, LOOM_SCALAR_SIGMOID, x)));
}

const LoomOp loom_op_silu = {
  .name = "silu",
  .title = "SiLU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-silu-symbolic",
  .synonyms = "swish",
  .doc = "Multiplies each element by its sigmoid.",
  .details = "A smooth activation similar to ReLU, slightly negative for negative inputs. Used in convolutional "
             "networks and in the gated layers of language models. Also called swish.",
  .formula = "y = x · σ(x)",
  .reference = "torch.nn.SiLU",
  .source = "Elfwing, Uchibe and Doya, “Sigmoid-Weighted Linear Units for Neural Network Function Approximation in "
            "Reinforcement Learning”, 2017, arXiv:1702.03118",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .lower = lower,
  .flops = loom_op_smooth_flops,
  .samples = loom_op_samples_any,
};
