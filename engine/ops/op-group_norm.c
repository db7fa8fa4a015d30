/* Group normalisation, as torch.nn.GroupNorm (Wu and He 2018). */
#include "engine/ops/op-layers.h"

#include <inttypes.h>

static const LoomPortSpec inputs[] = {
  { "input", "Features [batch, channels, …]." },
  { "weight", "Ties the scale γ to another tensor [channels].", LOOM_PORT_WEIGHT },
  { "bias", "Ties the shift β to another tensor [channels].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("num_groups", INT, "1"), LOOM_RANGE (1, 1e6), .unit = "groups",
    .doc = "The number of groups that the channels are divided into." },
  { LOOM_PARAM ("eps", FLOAT, "1e-05"), LOOM_RANGE (0, 1), .doc = "ε, added to the variance so that it is never 0.",
    .advanced = TRUE },
  { LOOM_PARAM ("affine", BOOL, "true"), .doc = "Whether each channel has a learnable scale and shift." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 c, groups = loom_infer_int (ctx, "num_groups");

  if (!loom_op_rank (ctx, 0, "input", 2, LOOM_SHAPE_MAX_RANK, "features, batch × channels × any sizes",
                     "Put a reshape before it.")
      || !loom_op_needs_float (ctx, 0, "input", NULL) || !loom_op_plain_dim (ctx, x->shape.dim[1], "each channel", &c))
    return;
  if (c % groups != 0)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "num_groups",
                        "%" PRId64 " channels cannot be divided into %" PRId64 " equal groups.", c, groups);
      return;
    }
  if (loom_infer_bool (ctx, "affine"))
    {
      LoomWeightSpec scale = {
        .name = "weight", .shape = loom_shape (1, &c), .init = { .kind = LOOM_INIT_CONSTANT, .a = 1 }, .dtype = LOOM_F32
      };
      LoomWeightSpec shift
          = { .name = "bias", .shape = scale.shape, .init = { .kind = LOOM_INIT_ZEROS }, .dtype = LOOM_F32 };

      loom_infer_weight (ctx, &scale);
      loom_infer_weight (ctx, &shift);
    }
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

/* The elements of a group are contiguous, so each group is a row of a layer norm. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomValue x = loom_lower_input (ctx, 0), y;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 rows = d.dim[0] * loom_infer_int (infer_ctx, "num_groups"), count = loom_desc_count (&d);

  y = loom_reshape (p, x, 2, (gint64[]){ rows, count / MAX (rows, 1) });
  y = loom_op_normalise (p, y, 1, loom_infer_float (infer_ctx, "eps"));
  loom_lower_output (ctx, 0,
                     loom_op_scale_channels (p, loom_reshape (p, y, d.rank, d.dim), loom_lower_weight (ctx, "weight"),
                                             loom_lower_weight (ctx, "bias")));
}

/* PyTorch multiplies by the number of samples here, although each is normalised separately, so it refuses only a
 * single sample. */
static const char *
untrainable (const LoomInfer *ctx)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK], count = 1;
  const LoomShape *shape = &loom_infer_input (ctx, 0)->shape;

  loom_shape_get (shape, dims);
  for (int i = 0; i < shape->rank; i++)
    count *= dims[i];
  return count != loom_infer_int (ctx, "num_groups")
             ? NULL
             : "one value per group: it is its own mean, so the output is constant and the layers before it get no "
               "gradient. Make num_groups smaller, or use layer_norm instead.";
}

static const LoomSample samples[] = {
  { .params = "num_groups=2", .inputs = { "f32:B,4,3" } },
  { .params = "num_groups=1 affine=false", .inputs = { "f32:2,3,2,2" } },
  { .params = "num_groups=3 eps=0.001", .inputs = { "f32:2,6" } },
  { .params = "num_groups=4", .inputs = { "f32:2,4,2,1,3" } },
  { NULL },
};

const LoomOp loom_op_group_norm = {
  .name = "group_norm",
  .title = "Group norm",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-group-norm-symbolic",
  .doc = "Normalises each group of channels of each sample to mean 0 and variance 1.",
  .details
  = "With one group it equals layer norm over all channels and positions, with one channel per group instance norm. It "
    "does not depend on the batch, so it works for small batches, for which batch norm is inaccurate.",
  .formula = "y = γ (x − μ) / √(σ² + ε) + β",
  .reference = "torch.nn.GroupNorm",
  .source = "Wu and He, “Group Normalization”, ECCV 2018, arXiv:1803.08494",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .untrainable = untrainable,
  .flops = loom_op_norm_flops,
  .samples = samples,
};
