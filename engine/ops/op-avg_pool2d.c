/* Average pooling 2D, as torch.nn.AvgPool2d. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  LOOM_OP_POOL_KERNEL,
  LOOM_OP_POOL_STRIDE,
  { .name = "padding",
    .type = LOOM_PARAM_INTS,
    .def = "0",
    .length = 2,
    .minimum = 0,
    .maximum = 10000,
    .unit = "pixels",
    .doc = "Zeros around the image; at most half the window." },
  { .name = "count_include_pad",
    .type = LOOM_PARAM_BOOL,
    .def = "true",
    .doc = "Counts padding among the pixels that the sum is divided by.",
    .advanced = TRUE },
  { .name = "divisor_override",
    .type = LOOM_PARAM_INT,
    .def = "",
    .minimum = 1,
    .maximum = 1e9,
    .doc = "Divides every window by this number instead of its size.",
    .advanced = TRUE },
  LOOM_OP_POOL_CEIL_MODE,
  { NULL },
};

static LoomPool2dTo
windows_of (const LoomInfer *ctx)
{
  LoomPool2dTo a = loom_op_pool (ctx);

  a.kernel.count_include_pad = loom_infer_bool (ctx, "count_include_pad");
  if (loom_infer_is_set (ctx, "divisor_override"))
    a.kernel.divisor = loom_infer_int (ctx, "divisor_override");
  return a;
}

static void
infer (LoomInfer *ctx)
{
  LoomPool2dTo a = windows_of (ctx);

  loom_op_infer_pool (ctx, &a);
}

static void
lower (LoomLower *ctx)
{
  loom_op_lower_pool (ctx, windows_of (loom_lower_infer (ctx)));
}

static const LoomSample samples[] = {
  { .params = "kernel_size=2", .inputs = { "f32:2,3,6,4" } },
  { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:2,2,5,6" } },
  { .params = "kernel_size=3 stride=2 padding=1 count_include_pad=false", .inputs = { "f32:2,2,5,6" } },
  { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,2,5,5" } },
  { .params = "kernel_size=3 stride=2 padding=1 ceil_mode=true", .inputs = { "f32:1,2,6,6" } },
  { .params = "kernel_size=2,1 divisor_override=3", .inputs = { "f32:1,2,4,3" } },
  { NULL },
};

const LoomOp loom_op_avg_pool2d = {
  .name = "avg_pool2d",
  .title = "Average pooling 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-avg-pool2d-symbolic",
  .doc = "Replaces each window by its mean and so makes images smaller.",
  .details = "A gentler way to shrink than taking the largest: everything in the window has a say, and each pixel gets "
             "an equal share of the gradient. With a window as large as the image it sums a channel up in one number.",
  .formula = "yᵢⱼ = mean over window(i, j) of x",
  .reference = "torch.nn.AvgPool2d",
  .inputs = loom_op_port_images,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_pool_flops,
  .samples = samples,
  .summary = loom_op_pool_summary,
};
