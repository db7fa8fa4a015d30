/* Channel shuffle: mixes the channels of groups, as torch.nn.ChannelShuffle (Zhang et al. 2018). */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const LoomPortSpec inputs[] = {
  { "input", "A tensor [batch, channels, …]." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("groups", INT, "2"), LOOM_RANGE (1, 1e6),
    .doc = "The number of groups that the channels are divided into." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 groups = loom_infer_int (ctx, "groups");
  LoomDim each;

  if (!loom_op_rank (ctx, 0, "input", 3, LOOM_SHAPE_MAX_RANK - 1, "batch × channels × …", "Put a reshape before it."))
    return;
  if (!loom_dim_div (x->shape.dim[1], loom_dim (groups), &each) && !loom_dim_is_unknown (x->shape.dim[1]))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "groups", "The channels must be a multiple of groups, %" PRId64 ".",
                        groups);
      return;
    }
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

/* [N, groups, channels, …] → [N, channels, groups, …] */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  gint64 groups = loom_infer_int (loom_lower_infer (ctx), "groups"), dims[LOOM_MAX_RANK], rest = 1;
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomValue x;

  for (int k = 2; k < rank; k++)
    rest *= dims[k];
  x = loom_reshape (p, loom_lower_input (ctx, 0), 4, (gint64[]){ dims[0], groups, dims[1] / groups, rest });
  x = loom_permute (p, x, (const int[]){ 0, 2, 1, 3 });
  loom_lower_output (ctx, 0, loom_reshape (p, x, rank, dims));
}

static const LoomSample samples[] = {
  { .params = "groups=2", .inputs = { "f32:B,6,2,3" } },   { .params = "groups=3", .inputs = { "f32:1,3,4" } },
  { .params = "groups=1", .inputs = { "f32:2,2,1,2,1" } }, { .params = "groups=2", .inputs = { "i64:2,4,1,2" } },
  { .params = "groups=2", .inputs = { "f32:0,4,1,1" } },   { NULL },
};

const LoomOp loom_op_channel_shuffle = {
  .name = "channel_shuffle",
  .title = "Channel shuffle",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-pixel-shuffle-symbolic",
  .synonyms = "shufflenet mix groups",
  .doc = "Reorders channels so that the next grouped convolution sees channels of every group.",
  .details = "The channels are divided into groups; the first channels of all groups come first, then the second ones, "
             "and so on. Without it, stacked grouped convolutions would never exchange information between groups.",
  .formula = "[g·n, …] → [g, n, …] → [n, g, …] → [n·g, …]",
  .reference = "torch.nn.ChannelShuffle",
  .source = "Zhang, Zhou, Lin and Sun, “ShuffleNet: An Extremely Efficient Convolutional Neural Network for Mobile "
            "Devices”, CVPR 2018, arXiv:1707.01083",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
