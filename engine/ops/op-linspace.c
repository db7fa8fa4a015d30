/* Linspace: evenly spaced numbers, both ends included. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("start", FLOAT, "0"), .doc = "The first number." },
  { LOOM_PARAM_FRESH ("end", FLOAT, "1"), .doc = "The last number." },
  { LOOM_PARAM_FRESH ("steps", INT, "11"), LOOM_RANGE (0, 100000000), .doc = "The number of elements." },
  { LOOM_PARAM ("dtype", DTYPE, "f32"), .doc = "The type of the elements.", .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_shape (1, (gint64[]){ loom_infer_int (ctx, "steps") });

  if (!loom_dtype_is_float (loom_infer_dtype (ctx, "dtype")))
    loom_infer_fault (ctx, LOOM_ERROR_DTYPE, "dtype", "linspace needs a float type; for integers use arange.");
  else
    loom_infer_output (ctx, 0, loom_infer_dtype (ctx, "dtype"), &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_dtype (infer_ctx, "dtype"));
  double start = loom_infer_float (infer_ctx, "start"), end = loom_infer_float (infer_ctx, "end");
  gint64 n = loom_infer_int (infer_ctx, "steps");

  loom_lower_output (ctx, 0,
                     loom_op_iota_along (loom_lower_program (ctx), dtype, 1, 0, n, start,
                                         n > 1 ? (end - start) / (double)(n - 1) : 0));
}

static const LoomSample samples[] = {
  { .params = "start=0 end=1 steps=5" },
  { .params = "start=2 end=-2 steps=1" },
  { .params = "start=0 end=1 steps=0" },
  { NULL },
};

const LoomOp loom_op_linspace = {
  .name = "linspace",
  .title = "Linspace",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-arange-symbolic",
  .doc = "Returns evenly spaced numbers, both ends included.",
  .details
  = "For example, as the x axis of a plot: wired into a network it shows the function that the network computes.",
  .formula = "yᵢ = start + i · (end − start) / (steps − 1)",
  .reference = "torch.linspace",
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
