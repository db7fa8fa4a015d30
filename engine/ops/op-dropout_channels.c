/* Dropout of whole channels of sequences, images and volumes, as torch.nn.Dropout1d, Dropout2d and Dropout3d (Tompson
 * et al. 2015).
 *
 * A row for each number of dimensions. */
#include "engine/ops/op-layers.h"

static void
infer (LoomInfer *ctx)
{
  loom_op_infer_dropped (ctx, loom_op_dimensions (ctx));
}

static const LoomSample samples[LOOM_MAX_SPACE][5] = {
  {
      { .inputs = { "f32:B,3,5" } },
      { .params = "p=0.25", .inputs = { "f32:B,3,5" } },
      { .params = "p=0", .inputs = { "f32:B,3,5" } },
      { .params = "p=1", .inputs = { "f32:B,3,5" } },
      { NULL },
  },
  {
      { .inputs = { "f32:B,3,2,4" } },
      { .params = "p=0.25", .inputs = { "f32:B,3,2,4" } },
      { .params = "p=0", .inputs = { "f32:B,3,2,4" } },
      { .params = "p=1", .inputs = { "f32:B,3,2,4" } },
      { NULL },
  },
  {
      { .inputs = { "f32:2,3,2,2,2" } },
      { .params = "p=0.25", .inputs = { "f32:2,3,2,2,2" } },
      { .params = "p=0", .inputs = { "f32:2,3,2,2,2" } },
      { .params = "p=1", .inputs = { "f32:2,3,2,2,2" } },
      { NULL },
  },
};

/* What the rows have in common. */
#define DROPOUT(n, things, parts)                                                                                        \
  .title = "Dropout " #n "D", .category = LOOM_CATEGORY_LAYERS, .icon = "loom-dropout2d-symbolic",                       \
  .formula = "y = m · x / (1 − p), one m ~ Bernoulli(1 − p) per channel", .reference = "torch.nn.Dropout" #n "d",        \
  .source                                                                                                                \
      = "Tompson, Goroshin, Jain, LeCun and Bregler, “Efficient Object Localization Using Convolutional Networks”, " \
        "CVPR 2015, arXiv:1411.4280",                                                                                    \
  .inputs = loom_op_port_space[n - 1], .outputs = loom_op_port_dropped, .params = loom_op_param_dropped,                 \
  .infer = infer, .lower = loom_op_lower_dropout, .flops = loom_op_dropped_flops, .samples = samples[n - 1],             \
  .doc = "Sets random channels of " things " to zero during training.",                                                  \
  .details                                                                                                               \
      = "Neighbouring " parts " of a channel are correlated, so dropping single elements has little effect. Each "       \
        "channel of each sample is dropped with probability p, and the others are scaled by 1 / (1 - p). In "            \
        "evaluation the input is unchanged."

const LoomOp loom_op_dropout1d = {
  .name = "dropout1d",
  DROPOUT (1, "sequences", "elements"),
};

const LoomOp loom_op_dropout2d = {
  .name = "dropout2d",
  DROPOUT (2, "images", "pixels"),
  .synonyms = "spatial regularization",
};

const LoomOp loom_op_dropout3d = {
  .name = "dropout3d",
  DROPOUT (3, "volumes", "elements"),
};
