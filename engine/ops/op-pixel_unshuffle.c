/* Inverse of pixel shuffle, as torch.nn.PixelUnshuffle (Shi et al. 2016). */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("downscale_factor", INT, "2"), LOOM_RANGE (1, 10000), .doc = "The downscale factor r." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 r = loom_infer_int (ctx, "downscale_factor");
  LoomShape shape = x->shape;
  int c = shape.rank - 3;

  if (!loom_op_rank (ctx, 0, "input", 3, LOOM_SHAPE_MAX_RANK, "images, channels × height × width last",
                     "Put a reshape before it."))
    return;
  for (int i = 1; i <= 2; i++)
    {
      if (loom_dim_div (shape.dim[c + i], loom_dim (r), &shape.dim[c + i]) || loom_dim_is_unknown (shape.dim[c + i]))
        continue;
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "downscale_factor",
                        "Height and width must be multiples of downscale_factor, %" PRId64 ".", r);
      return;
    }
  shape.dim[c] = loom_dim_mul (shape.dim[c], loom_dim (r * r));
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* [N, C, H, r, W, r] → [N, C, r, r, H, W]; N is the product of all dimensions before the channels. */
static void
lower (LoomLower *ctx)
{
  gint64 r = loom_infer_int (loom_lower_infer (ctx), "downscale_factor"), dims[LOOM_MAX_RANK];
  const gint64 *last = dims + loom_op_output_dims (ctx, 0, dims) - 3;

  loom_op_permute_pixels (ctx, (gint64[]){ last[0] / (r * r), last[1], r, last[2], r }, (int[]){ 0, 1, 3, 5, 2, 4 });
}

static const LoomSample samples[] = {
  { .params = "downscale_factor=2", .inputs = { "f32:B,2,4,6" } },
  { .params = "downscale_factor=1", .inputs = { "f32:1,2,2" } },
  { .params = "downscale_factor=3", .inputs = { "f32:2,1,2,3,3" } },
  { .params = "downscale_factor=2", .inputs = { "i64:2,1,2,4" } },
  { .params = "downscale_factor=2", .inputs = { "f32:0,1,2,2" } },
  { NULL },
};

const LoomOp loom_op_pixel_unshuffle = {
  .name = "pixel_unshuffle",
  .title = "Pixel unshuffle",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-pixel-shuffle-symbolic",
  .doc = "Rearranges blocks of r × r pixels into channels.",
  .details = "The inverse of pixel_shuffle. It reduces the resolution without losing information: each block of r × r "
             "pixels becomes r² channels of one pixel.",
  .formula = "[C, H·r, W·r] → [C·r², H, W]",
  .reference = "torch.nn.PixelUnshuffle",
  .source = "Shi et al., “Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional "
            "Neural Network”, CVPR 2016, arXiv:1609.05158",
  .inputs = loom_op_port_image,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
