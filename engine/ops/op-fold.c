/* Fold: sums columns of sliding windows into images, as torch.nn.Fold (col2im), the adjoint of unfold. */
#include "engine/ops/op-layers.h"

#include <inttypes.h>

static const LoomPortSpec inputs[] = {
  { "input", "Columns [batch, channels · window, windows], as unfold returns them." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("output_size", INTS, "8"), .length = 2, LOOM_RANGE (1, 1e6), .unit = "pixels",
    .doc = "The height and width of the image." },
  LOOM_OP_POOL_KERNEL (2),
  LOOM_OP_CONV_DILATION (2),
  LOOM_OP_POOL_PADDING (2, "Pixels around the image that windows cover and that are dropped."),
  { LOOM_PARAM ("stride", INTS, "1"), .length = 2, LOOM_RANGE (1, 10000), .unit = "pixels",
    .doc = "The stride of the window." },
  { NULL },
};

/* Each position in the window is a padded slice, so their number is bounded to keep planning fast. */
#define MAX_TAPS 16384

typedef struct
{
  gint64 size[2], kernel[2], stride[2], dilation[2], padding[2], windows[2], taps;
} Fold;

static Fold
fold_of (const LoomInfer *ctx)
{
  Fold f;

  loom_infer_ints (ctx, "output_size", f.size, 2);
  loom_infer_ints (ctx, "kernel_size", f.kernel, 2);
  loom_infer_ints (ctx, "stride", f.stride, 2);
  loom_infer_ints (ctx, "dilation", f.dilation, 2);
  loom_infer_ints (ctx, "padding", f.padding, 2);
  f.taps = f.kernel[0] * f.kernel[1];
  for (int k = 0; k < 2; k++)
    {
      gint64 room = f.size[k] + 2 * f.padding[k] - f.dilation[k] * (f.kernel[k] - 1) - 1;

      f.windows[k] = room < 0 ? 0 : room / f.stride[k] + 1;
    }
  return f;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  Fold f = fold_of (ctx);
  gint64 windows = f.windows[0] * f.windows[1];
  LoomShape shape = { .rank = 4, .dim = { [1] = loom_dim_unknown () } };

  if (!loom_op_rank (ctx, 0, "input", 3, 3, "columns, batch × channels · window × windows", "Put a reshape before it.")
      || !loom_op_needs_float (ctx, 0, "input", NULL))
    return;
  if (f.taps > MAX_TAPS)
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "kernel_size",
                      "fold sums %" PRId64 " positions of its window; there may be %d. Use a smaller window.", f.taps,
                      MAX_TAPS);
  else if (windows == 0)
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "kernel_size",
                      "No window fits into the image. Use a smaller window or more padding.");
  else if (!loom_dim_div (x->shape.dim[1], loom_dim (f.taps), &shape.dim[1]) && !loom_dim_is_unknown (x->shape.dim[1]))
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "kernel_size",
                      "Dimension 1 must be a multiple of the window's size, %" PRId64 ".", f.taps);
  else if (loom_dim_is_known (x->shape.dim[2]) && x->shape.dim[2].coef != windows)
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "output_size",
                      "An image of this size has %" PRId64 " windows, but the input has %" PRId64 " columns.", windows,
                      x->shape.dim[2].coef);
  else
    {
      shape.dim[0] = x->shape.dim[0];
      shape.dim[2] = loom_dim (f.size[0]);
      shape.dim[3] = loom_dim (f.size[1]);
      loom_infer_output (ctx, 0, x->dtype, &shape);
    }
}

/* For each offset in the window, its columns [N, C, P, Q] are spread over the padded image [N, C, H + 2p, W + 2p]; the
 * sum of all is cropped. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  Fold f = fold_of (loom_lower_infer (ctx));
  LoomValue x = loom_lower_input (ctx, 0), sum = 0;
  gint64 dims[LOOM_MAX_RANK], whole[4], windows = f.windows[0] * f.windows[1];

  loom_op_output_dims (ctx, 0, dims);
  x = loom_reshape (p, x, 4, (gint64[]){ dims[0], dims[1], f.taps, windows });
  memcpy (whole, dims, sizeof whole);
  for (int k = 0; k < 2; k++)
    whole[2 + k] += 2 * f.padding[k];
  for (gint64 t = 0; t < f.taps; t++)
    {
      gint64 start[4] = { 0, 0, t / f.kernel[1] * f.dilation[0], t % f.kernel[1] * f.dilation[1] };
      LoomValue part = loom_slice (p, x, (gint64[]){ 0, 0, t, 0 }, (gint64[]){ 1, 1, 1, 1 },
                                   (gint64[]){ dims[0], dims[1], 1, windows });

      part = loom_reshape (p, part, 4, (gint64[]){ dims[0], dims[1], f.windows[0], f.windows[1] });
      part = loom_pad (p, part, start, (gint64[]){ 1, 1, f.stride[0], f.stride[1] }, whole, 0);
      sum = t == 0 ? part : loom_binary (p, LOOM_SCALAR_ADD, sum, part);
    }
  loom_lower_output (
      ctx, 0, loom_slice (p, sum, (gint64[]){ 0, 0, f.padding[0], f.padding[1] }, (gint64[]){ 1, 1, 1, 1 }, dims));
}

static const LoomSample samples[] = {
  { .params = "output_size=3,4 kernel_size=2", .inputs = { "f32:B,8,6" } },
  { .params = "output_size=4,5 kernel_size=3,2 padding=1,0 stride=2,1 dilation=1,2", .inputs = { "f32:1,12,6" } },
  { .params = "output_size=2 kernel_size=1", .inputs = { "f32:0,1,4" } },
  { .params = "output_size=4 kernel_size=2 stride=2", .inputs = { "f32:2,4,4" } },
  { NULL },
};

const LoomOp loom_op_fold = {
  .name = "fold",
  .title = "Fold",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-upsample-symbolic",
  .synonyms = "col2im",
  .doc = "Sums columns of sliding windows into an image; pixels in several windows get the sum.",
  .details
  = "The adjoint of unfold: with stride equal to kernel_size it joins patches to an image again. For an average "
    "over overlapping windows, divide by the fold of ones.",
  .formula = "[C·kernel, windows] → [C, H, W]",
  .reference = "torch.nn.Fold",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
