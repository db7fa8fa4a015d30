/* Max pooling 2D, as torch.nn.MaxPool2d. */
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
    .doc = "Room around the image that never wins; at most half the window." },
  { .name = "dilation",
    .type = LOOM_PARAM_INTS,
    .def = "1",
    .length = 2,
    .minimum = 1,
    .maximum = 10000,
    .doc = "Distance between the pixels that a window looks at.",
    .advanced = TRUE },
  LOOM_OP_POOL_CEIL_MODE,
  { NULL },
};

static LoomPool2dTo
windows_of (const LoomInfer *ctx)
{
  LoomPool2dTo a = loom_op_pool (ctx);

  loom_infer_ints (ctx, "dilation", a.kernel.dilation, 2);
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
  { .params = "kernel_size=2", .inputs = { "f32:2,3,6,4" }, .range = "distinct" },
  { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:2,2,5,6" }, .range = "distinct" },
  { .params = "kernel_size=2 stride=2 ceil_mode=true", .inputs = { "f32:1,2,5,5" }, .range = "distinct" },
  { .params = "kernel_size=2,3 stride=1 dilation=2,1", .inputs = { "f32:1,2,5,5" }, .range = "distinct" },
  { .params = "kernel_size=1", .inputs = { "f32:1,1,1,1" }, .range = "distinct" },
  { NULL },
};

const LoomOp loom_op_max_pool2d = {
  .name = "max_pool2d",
  .title = "Max pooling 2D",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-max-pool2d-symbolic",
  .doc = "Keeps the largest value of each window and so makes images smaller.",
  .details = "After a convolution it keeps that something was found and forgets exactly where: the image shrinks, the "
             "next layer sees further. Only the winner of each window gets the gradient.",
  .formula = "yᵢⱼ = max over window(i, j) of x",
  .reference = "torch.nn.MaxPool2d",
  .inputs = loom_op_port_images,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_pool_flops,
  .samples = samples,
  .summary = loom_op_pool_summary,
};
