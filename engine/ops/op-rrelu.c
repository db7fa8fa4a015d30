/* Randomised leaky ReLU, as torch.nn.RReLU (Xu et al. 2015). */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("lower", FLOAT, "0.125"), .doc = "The lower bound of the slope for negative inputs." },
  { LOOM_PARAM ("upper", FLOAT, "0.3333333333333333"), .doc = "The upper bound of the slope for negative inputs." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  if (loom_infer_float (ctx, "lower") > loom_infer_float (ctx, "upper"))
    loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "lower", "The lower bound of the slope is above the upper bound.");
  else if (loom_op_needs_float (ctx, 0, "input", "scales negative elements"))
    loom_op_infer_same (ctx);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), slope;
  double low = loom_infer_float (infer_ctx, "lower"), high = loom_infer_float (infer_ctx, "upper");
  LoomTensorDesc d = loom_op_desc (ctx, x);

  slope = loom_op_const_like (ctx, x, (low + high) / 2);
  if (loom_lower_is_training (ctx))
    slope = loom_ternary (p, LOOM_SCALAR_FMA,
                          loom_cast (p, loom_lower_random (ctx, LOOM_RANDOM_UNIFORM, 0, d.rank, d.dim), d.dtype),
                          loom_op_const_like (ctx, x, high - low), loom_op_const_like (ctx, x, low));
  loom_lower_output (ctx, 0,
                     loom_ternary (p, LOOM_SCALAR_SELECT,
                                   loom_binary (p, LOOM_SCALAR_GT, x, loom_op_const_like (ctx, x, 0)), x,
                                   loom_binary (p, LOOM_SCALAR_MUL, x, slope)));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3" }, .range = "away0" },
  { .params = "lower=0.1 upper=0.1", .inputs = { "f32:2,3,4" }, .range = "away0" },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_rrelu = {
  .name = "rrelu",
  .title = "Randomised leaky ReLU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-leaky-relu-symbolic",
  .doc = "Applies a leaky ReLU whose slope is random for each element in training.",
  .details
  = "The random slopes act as a regulariser, like dropout. In evaluation the slope is the mean of lower and upper.",
  .formula = "y = x for x > 0, else a · x, a ~ U(lower, upper)",
  .reference = "torch.nn.RReLU",
  .source = "Xu, Wang, Chen and Li, “Empirical Evaluation of Rectified Activations in Convolutional Network”, 2015, "
            "arXiv:1505.00853",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
