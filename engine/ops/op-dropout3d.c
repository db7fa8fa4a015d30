/* Dropout of whole channels of volumes, as torch.nn.Dropout3d (Tompson et al. 2015). */
#include "engine/ops/op-layers.h"

static void
infer (LoomInfer *ctx)
{
  loom_op_infer_dropped (ctx, 3);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:2,3,2,2,2" } },
  { .params = "p=0.25", .inputs = { "f32:2,3,2,2,2" } },
  { .params = "p=0", .inputs = { "f32:2,3,2,2,2" } },
  { .params = "p=1", .inputs = { "f32:2,3,2,2,2" } },
  { NULL },
};

const LoomOp loom_op_dropout3d = {
  .name = "dropout3d",
  .title = "Dropout 3D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-dropout2d-symbolic",
  .doc = "Sets random channels of volumes to zero during training.",
  .details = "Neighbouring elements of a channel are correlated, so dropping single elements has little effect. Each "
             "channel of each sample is dropped with probability p, and the others are scaled by 1 / (1 - p). In "
             "evaluation the input is unchanged.",
  .formula = "y = m · x / (1 − p), one m ~ Bernoulli(1 − p) per channel",
  .reference = "torch.nn.Dropout3d",
  .source = "Tompson, Goroshin, Jain, LeCun and Bregler, “Efficient Object Localization Using Convolutional Networks”, "
            "CVPR 2015, arXiv:1411.4280",
  .inputs = loom_op_port_volumes,
  .outputs = loom_op_port_dropped,
  .params = loom_op_param_dropped,
  .infer = infer,
  .lower = loom_op_lower_dropout,
  .flops = loom_op_dropped_flops,
  .samples = samples,
};
