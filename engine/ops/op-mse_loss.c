/* Mean squared error, as torch.nn.functional.mse_loss. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "What the network says." },
  { "target", "What it should say." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "reduction",
    .type = LOOM_PARAM_ENUM,
    .def = "mean",
    .choices = loom_op_reductions,
    .doc = "One number for everything (mean or sum), or one for each element." },
  { NULL },
};

/* B×1 against B is a difference of every sample with every other, which trains to the mean and says nothing. */
static void
warn_of_shapes (LoomInfer *ctx, const LoomShape *x, const LoomShape *t, const LoomShape *both)
{
  g_autofree char *sx = loom_shape_to_string (x), *st = loom_shape_to_string (t), *all = loom_shape_to_string (both);

  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "target",
                    "The output is %s but the target is %s, so each is repeated to %s before they are compared. To "
                    "compare element with element give both one shape: put a reshape or a flatten before one of them.",
                    sx, st, all)
      ->is_warning
      = TRUE;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0), *t = loom_infer_input (ctx, 1);
  LoomDType dtype = loom_op_promote (x->dtype, t->dtype);
  LoomShape shape;

  if (!loom_shape_broadcast (&x->shape, &t->shape, &shape))
    {
      g_autofree char *sx = loom_shape_to_string (&x->shape), *st = loom_shape_to_string (&t->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "target",
                        "%s cannot be compared with %s: output and target need the same shape.", sx, st);
      return;
    }
  if (!loom_shape_equal (&x->shape, &t->shape))
    warn_of_shapes (ctx, &x->shape, &t->shape, &shape);
  if (!loom_dtype_is_float (dtype))
    dtype = LOOM_F32;
  if (!g_str_equal (loom_infer_string (ctx, "reduction"), "none"))
    shape = loom_shape_scalar ();
  loom_infer_output (ctx, 0, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const char *reduction = loom_infer_string (loom_lower_infer (ctx), "reduction");
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype);
  LoomValue x = loom_cast (p, loom_lower_input (ctx, 0), dtype), t = loom_cast (p, loom_lower_input (ctx, 1), dtype);
  LoomValue y = loom_unary (p, LOOM_SCALAR_SQUARE, loom_binary (p, LOOM_SCALAR_SUB, x, t));

  if (g_str_equal (reduction, "mean"))
    y = loom_mean_all (p, y);
  else if (g_str_equal (reduction, "sum"))
    y = loom_sum_all (p, y);
  loom_lower_output (ctx, 0, y);
}

static double
flops (const LoomInfer *ctx)
{
  return 3 * loom_op_input_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=sum", .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=none", .inputs = { "f32:B,3", "f32:B,1" } },
  { .inputs = { "f32:", "f32:" } },
  { .params = "reduction=sum", .inputs = { "f32:0,2", "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_mse_loss = {
  .name = "mse_loss",
  .title = "Mean squared error",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-mse-loss-symbolic",
  .doc = "Measures how far the output is from the target, squared.",
  .details
  = "The loss for predicting numbers. Large errors count much more than small ones, and the gradient is the error "
    "itself, so the pull weakens as the network comes close.",
  .formula = "L = mean (x − t)²",
  .reference = "torch.nn.MSELoss",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
