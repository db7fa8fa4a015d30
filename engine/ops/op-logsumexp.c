/* Log-sum-exp over all or some dimensions: y = ln Σ eˣ. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), top, sum;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  guint32 axes = loom_op_axes_of (loom_lower_infer (ctx), "dim", d.rank);

  /* An empty sum has no maximum: it is 0 and its logarithm -∞. */
  if (loom_desc_count (&d) == 0)
    {
      sum = loom_op_reduce (ctx, LOOM_REDUCE_SUM, loom_unary (p, LOOM_SCALAR_EXP, x));
      loom_lower_output (ctx, 0, loom_unary (p, LOOM_SCALAR_LOG, sum));
      return;
    }
  /* An infinite maximum is not subtracted, because infinity minus infinity is NaN. */
  top = loom_detach (p, loom_reduce (p, LOOM_REDUCE_MAX, x, axes, TRUE));
  top = loom_ternary (p, LOOM_SCALAR_SELECT, loom_unary (p, LOOM_SCALAR_ISINF, top), loom_op_const_like (ctx, x, 0),
                      top);
  sum = loom_op_reduce (ctx, LOOM_REDUCE_SUM,
                        loom_unary (p, LOOM_SCALAR_EXP, loom_binary (p, LOOM_SCALAR_SUB, x, top)));
  d = loom_op_desc (ctx, sum);
  loom_lower_output (
      ctx, 0,
      loom_binary (p, LOOM_SCALAR_ADD, loom_unary (p, LOOM_SCALAR_LOG, sum), loom_reshape (p, top, d.rank, d.dim)));
}

const LoomOp loom_op_logsumexp = {
  .name = "logsumexp",
  .title = "Log-sum-exp",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Computes the logarithm of the sum of exponentials, without overflow.",
  .details = "A smooth maximum. The maximum is subtracted before the exponentials, so none overflows. The gradient is "
             "the softmax. Minus the logit of the target class it is the cross-entropy.",
  .formula = "y = ln Σ eˣ",
  .reference = "torch.logsumexp",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = loom_op_infer_reduced,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_reduced,
};
