/* Unfold: extracts sliding windows as columns, as torch.nn.Unfold (im2col). */
#include "engine/ops/op-layers.h"

#include <inttypes.h>

static const LoomParamSpec params[] = {
  LOOM_OP_POOL_KERNEL (2),
  LOOM_OP_CONV_DILATION (2),
  LOOM_OP_POOL_PADDING (2, "Zeros added around the image."),
  { LOOM_PARAM ("stride", INTS, "1"), .length = 2, LOOM_RANGE (1, 10000), .unit = "pixels",
    .doc = "The stride of the window." },
  { NULL },
};

/* Each position in the window is a slice, so their number is bounded to keep planning fast. */
#define MAX_TAPS 16384

static LoomWindows
windows_of (const LoomInfer *ctx)
{
  LoomWindows w = { .n = 2 };

  loom_infer_ints (ctx, "kernel_size", w.kernel, 2);
  loom_infer_ints (ctx, "stride", w.stride, 2);
  loom_infer_ints (ctx, "dilation", w.dilation, 2);
  loom_infer_ints (ctx, "padding", w.front, 2);
  memcpy (w.back, w.front, sizeof w.back);
  return w;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomWindows w = windows_of (ctx);
  LoomShape shape = x->shape, columns = { .rank = 3 };

  if (!loom_op_space (ctx, 2, "Put a reshape before it.", NULL)
      || !loom_op_windows (ctx, &w, FALSE, "Use a smaller window or more padding.", &shape))
    return;
  if (w.kernel[0] * w.kernel[1] > MAX_TAPS)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "kernel_size",
                        "unfold makes a row for each of the %" PRId64
                        " positions in its window; there may be %d. Use a smaller window.",
                        w.kernel[0] * w.kernel[1], MAX_TAPS);
      return;
    }
  columns.dim[0] = shape.dim[0];
  columns.dim[1] = loom_dim_mul (shape.dim[1], loom_dim (w.kernel[0] * w.kernel[1]));
  columns.dim[2] = loom_dim_mul (shape.dim[2], shape.dim[3]);
  loom_infer_output (ctx, 0, x->dtype, &columns);
}

/* For each offset in the window a strided slice holds the pixels at that offset, [N, C, 1, P·Q]; concatenated they
 * are [N, C, taps, P·Q]. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomWindows w = windows_of (loom_lower_infer (ctx));
  LoomValue x = loom_lower_input (ctx, 0);
  gint64 taps = w.kernel[0] * w.kernel[1], dims[LOOM_MAX_RANK], count[4];
  g_autofree LoomValue *part = g_new (LoomValue, taps);
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomTensorDesc d;

  for (int k = 0; k < 2; k++)
    x = loom_op_pad_value (p, x, 2 + k, w.front[k], w.back[k], "zeros", 0);
  d = loom_op_desc (ctx, x);
  memcpy (count, d.dim, sizeof count);
  for (int k = 0; k < 2; k++)
    count[2 + k] = (d.dim[2 + k] - w.dilation[k] * (w.kernel[k] - 1) - 1) / w.stride[k] + 1;
  for (gint64 t = 0; t < taps; t++)
    {
      gint64 start[4] = { 0, 0, t / w.kernel[1] * w.dilation[0], t % w.kernel[1] * w.dilation[1] };

      part[t] = loom_slice (p, x, start, (gint64[]){ 1, 1, w.stride[0], w.stride[1] }, count);
      part[t] = loom_reshape (p, part[t], 4, (gint64[]){ count[0], count[1], 1, count[2] * count[3] });
    }
  loom_lower_output (ctx, 0, loom_reshape (p, loom_concat (p, (guint)taps, part, 2), rank, dims));
}

static const LoomSample samples[] = {
  { .params = "kernel_size=2", .inputs = { "f32:B,2,3,4" } },
  { .params = "kernel_size=3,2 padding=1,0 stride=2,1 dilation=1,2", .inputs = { "f32:1,2,4,5" } },
  { .params = "kernel_size=1", .inputs = { "f32:0,1,2,2" } },
  { NULL },
};

const LoomOp loom_op_unfold = {
  .name = "unfold",
  .title = "Unfold",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-max-pool2d-symbolic",
  .doc = "Extracts sliding windows of an image as columns.",
  .details = "A convolution is the matrix product of its kernels with these columns. With stride equal to kernel_size "
             "it splits an image into patches, as in a vision transformer.",
  .formula = "[C, H, W] → [C·kernel, windows]",
  .reference = "torch.nn.Unfold",
  .inputs = loom_op_port_space[1],
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
