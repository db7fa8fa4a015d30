/* Batch normalisation of images, as torch.nn.BatchNorm2d (Ioffe and Szegedy 2015). */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "Images [batch, channels, height, width]." },
  { "weight", "Ties the scale to another tensor [channels].", LOOM_PORT_WEIGHT },
  { "bias", "Ties the shift to another tensor [channels].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const char *const buffers[] = { "running_mean", "running_var", "num_batches_tracked", NULL };

static const LoomParamSpec params[] = {
  { .name = "eps",
    .type = LOOM_PARAM_FLOAT,
    .def = "1e-05",
    .minimum = 0,
    .maximum = 1,
    .doc = "Added to the variance, so that a constant channel does not divide by zero.",
    .advanced = TRUE },
  { .name = "momentum",
    .type = LOOM_PARAM_FLOAT,
    .def = "0.1",
    .minimum = 0,
    .maximum = 1,
    .doc = "How much a batch moves the running mean and variance.",
    .advanced = TRUE },
  { .name = "affine", .type = LOOM_PARAM_BOOL, .def = "true", .doc = "Learns a scale and a shift for each channel." },
  { .name = "track_running_stats",
    .type = LOOM_PARAM_BOOL,
    .def = "true",
    .doc = "Keeps running statistics for evaluation; otherwise each batch is measured then, too.",
    .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  const LoomInit one = { .kind = LOOM_INIT_CONSTANT, .a = 1 }, zero = { .kind = LOOM_INIT_ZEROS };
  LoomShape channels, scalar = loom_shape_scalar ();
  gint64 c;

  if (!loom_op_images (ctx, "For other shapes use layer_norm.", NULL)
      || !loom_op_plain_dim (ctx, x->shape.dim[1], "each channel", &c))
    return;
  channels = loom_shape (1, &c);
  if (loom_infer_bool (ctx, "affine"))
    {
      loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "weight", .shape = channels, .init = one, .dtype = LOOM_F32 });
      loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "bias", .shape = channels, .init = zero, .dtype = LOOM_F32 });
    }
  if (loom_infer_bool (ctx, "track_running_stats"))
    {
      loom_infer_weight (
          ctx, &(LoomWeightSpec){
                   .name = "running_mean", .shape = channels, .init = zero, .is_buffer = TRUE, .dtype = LOOM_F32 });
      loom_infer_weight (
          ctx, &(LoomWeightSpec){
                   .name = "running_var", .shape = channels, .init = one, .is_buffer = TRUE, .dtype = LOOM_F32 });
      loom_infer_weight (
          ctx,
          &(LoomWeightSpec){
              .name = "num_batches_tracked", .shape = scalar, .init = zero, .is_buffer = TRUE, .dtype = LOOM_I64 });
    }
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

/* running ← (1 - momentum)·running + momentum·batch; the variance that is kept is the unbiased one. */
static void
track (LoomLower *ctx, LoomValue mean, LoomValue var, double count)
{
  LoomProgram *p = loom_lower_program (ctx);
  double m = loom_infer_float (loom_lower_infer (ctx), "momentum");
  LoomDType dtype = loom_op_desc (ctx, mean).dtype;
  LoomValue keep = loom_const (p, dtype, 1 - m), seen = loom_lower_weight (ctx, "num_batches_tracked");
  /* One value has no spread; PyTorch refuses it, and here it leaves the biased variance, which is 0. */
  double unbiased = count > 1 ? count / (count - 1) : 1;
  LoomValue old;

  old = loom_binary (p, LOOM_SCALAR_MUL, loom_lower_weight (ctx, "running_mean"), keep);
  loom_lower_commit (
      ctx, "running_mean",
      loom_binary (p, LOOM_SCALAR_ADD, old, loom_binary (p, LOOM_SCALAR_MUL, mean, loom_const (p, dtype, m))));
  old = loom_binary (p, LOOM_SCALAR_MUL, loom_lower_weight (ctx, "running_var"), keep);
  loom_lower_commit (ctx, "running_var",
                     loom_binary (p, LOOM_SCALAR_ADD, old,
                                  loom_binary (p, LOOM_SCALAR_MUL, var, loom_const (p, dtype, m * unbiased))));
  loom_lower_commit (ctx, "num_batches_tracked", loom_binary (p, LOOM_SCALAR_ADD, seen, loom_const (p, LOOM_I64, 1)));
}

/* Evaluation: y = x·a + b with a = weight/√(var + eps) and b = bias - mean·a, both [C,1,1]. */
static LoomValue
with_running (LoomLower *ctx, LoomValue x, LoomValue weight, LoomValue bias)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  LoomValue eps = loom_const (p, d.dtype, loom_infer_float (loom_lower_infer (ctx), "eps"));
  LoomValue a, b;
  gint64 dims[3] = { d.dim[1], 1, 1 };

  a = loom_unary (p, LOOM_SCALAR_RSQRT, loom_binary (p, LOOM_SCALAR_ADD, loom_lower_weight (ctx, "running_var"), eps));
  if (weight != 0)
    a = loom_binary (p, LOOM_SCALAR_MUL, a, weight);
  b = loom_unary (p, LOOM_SCALAR_NEG, loom_binary (p, LOOM_SCALAR_MUL, loom_lower_weight (ctx, "running_mean"), a));
  if (bias != 0)
    b = loom_binary (p, LOOM_SCALAR_ADD, b, bias);
  return loom_ternary (p, LOOM_SCALAR_FMA, x, loom_reshape (p, a, 3, dims), loom_reshape (p, b, 3, dims));
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), out[3];
  LoomValue in[3] = { x, loom_lower_weight (ctx, "weight"), loom_lower_weight (ctx, "bias") };
  gboolean tracked = loom_infer_bool (infer_ctx, "track_running_stats");
  LoomNormAttrs attrs = { .eps = loom_infer_float (infer_ctx, "eps"), .affine = in[1] != 0 };
  LoomTensorDesc d = loom_op_desc (ctx, x);

  if (!loom_lower_is_training (ctx) && tracked)
    {
      loom_lower_output (ctx, 0, with_running (ctx, x, in[1], in[2]));
      return;
    }
  loom_emit (p, loom_prim ("batch_norm"), &attrs, 3, in, out);
  if (loom_lower_is_training (ctx) && tracked)
    track (ctx, out[1], out[2], (double)(d.dim[0] * d.dim[2] * d.dim[3]));
  loom_lower_output (ctx, 0, out[0]);
}

static double
flops (const LoomInfer *ctx)
{
  return 8 * loom_op_output_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4,4" } },
  { .params = "affine=false", .inputs = { "f32:2,2,3,3" } },
  { .params = "momentum=0.3 eps=0.001", .inputs = { "f32:3,2,2,1" } },
  { .params = "track_running_stats=false", .inputs = { "f32:2,2,3,3" } },
  { NULL },
};

const LoomOp loom_op_batch_norm2d = {
  .name = "batch_norm2d",
  .title = "Batch norm 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-batch-norm2d-symbolic",
  .doc = "Brings each channel to mean 0 and variance 1 over the batch.",
  .details
  = "Layers learn faster when their inputs keep one scale while the layers before them change. In training each "
    "batch is measured; running averages are kept on the side and used in evaluation, so a sample's result then "
    "no longer depends on its neighbours.",
  .formula = "y = γ (x − μ) / √(σ² + ε) + β",
  .reference = "torch.nn.BatchNorm2d",
  .inputs = inputs,
  .buffers = buffers,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
