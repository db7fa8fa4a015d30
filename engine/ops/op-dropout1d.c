/* Dropout of whole channels of sequences, as torch.nn.Dropout1d (Tompson et al. 2015). */
#include "engine/ops/op-layers.h"

static void
infer (LoomInfer *ctx)
{
  loom_op_infer_dropped (ctx, 1);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,5" } },
  { .params = "p=0.25", .inputs = { "f32:B,3,5" } },
  { .params = "p=0", .inputs = { "f32:B,3,5" } },
  { .params = "p=1", .inputs = { "f32:B,3,5" } },
  { NULL },
};

const LoomOp loom_op_dropout1d = {
  .name = "dropout1d",
  .title = "Dropout 1D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-dropout2d-symbolic",
  .doc = "Sets random channels of sequences to zero during training.",
  .details = "Neighbouring elements of a channel are correlated, so dropping single elements has little effect. Each "
             "channel of each sample is dropped with probability p, and the others are scaled by 1 / (1 - p). In "
             "evaluation the input is unchanged.",
  .formula = "y = m · x / (1 − p), one m ~ Bernoulli(1 − p) per channel",
  .reference = "torch.nn.Dropout1d",
  .source = "Tompson, Goroshin, Jain, LeCun and Bregler, “Efficient Object Localization Using Convolutional Networks”, "
            "CVPR 2015, arXiv:1411.4280",
  .inputs = loom_op_port_signals,
  .outputs = loom_op_port_dropped,
  .params = loom_op_param_dropped,
  .infer = infer,
  .lower = loom_op_lower_dropout,
  .flops = loom_op_dropped_flops,
  .samples = samples,
};
