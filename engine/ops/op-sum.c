/* Sum over all or some dimensions. */
#include "engine/ops/op-private.h"

/* Small integers and booleans are counted in i64, as PyTorch does. */
static void
infer (LoomInfer *ctx)
{
  loom_op_infer_reduced (ctx, LOOM_I64);
}

static void
lower (LoomLower *ctx)
{
  double count;

  loom_lower_output (ctx, 0, loom_op_sums (ctx, &count));
}

const LoomOp loom_op_sum = {
  .name = "sum",
  .title = "Sum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sum-symbolic",
  .synonyms = "add up total",
  .usual = TRUE,
  .doc = "Adds up all elements, or those along some dimensions.",
  .details = "Turns a tensor into one number, which is what a loss has to be, or folds dimensions away. Every element "
             "that was added gets the same gradient.",
  .formula = "y = Σ x",
  .first = LOOM_FIRST_SUM,
  .reference = "torch.sum",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_reduced,
};
