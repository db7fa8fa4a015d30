/* Pixel shuffle, as torch.nn.PixelShuffle (Shi et al. 2016). */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("upscale_factor", INT, "2"), LOOM_RANGE (1, 10000), .doc = "The upscale factor r." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 r = loom_infer_int (ctx, "upscale_factor");
  LoomShape shape = x->shape;
  int c = shape.rank - 3;

  if (!loom_op_rank (ctx, 0, "input", 3, LOOM_SHAPE_MAX_RANK, "images, channels × height × width last",
                     "Put a reshape before it."))
    return;
  if (!loom_dim_div (shape.dim[c], loom_dim (r * r), &shape.dim[c]) && !loom_dim_is_unknown (shape.dim[c]))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "upscale_factor",
                        "The channels must be a multiple of upscale_factor squared, %" PRId64 ".", r * r);
      return;
    }
  shape.dim[c + 1] = loom_dim_mul (shape.dim[c + 1], loom_dim (r));
  shape.dim[c + 2] = loom_dim_mul (shape.dim[c + 2], loom_dim (r));
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* [N, C, r, r, H, W] → [N, C, H, r, W, r]; N is the product of all dimensions before the channels. */
static void
lower (LoomLower *ctx)
{
  gint64 r = loom_infer_int (loom_lower_infer (ctx), "upscale_factor"), dims[LOOM_MAX_RANK];
  const gint64 *last = dims + loom_op_output_dims (ctx, 0, dims) - 3;

  loom_op_permute_pixels (ctx, (gint64[]){ last[0], r, r, last[1] / r, last[2] / r }, (int[]){ 0, 1, 4, 2, 5, 3 });
}

static const LoomSample samples[] = {
  { .params = "upscale_factor=2", .inputs = { "f32:B,8,2,3" } },
  { .params = "upscale_factor=1", .inputs = { "f32:1,2,2" } },
  { .params = "upscale_factor=3", .inputs = { "f32:2,1,18,1,2" } },
  { .params = "upscale_factor=2", .inputs = { "i64:2,4,1,2" } },
  { .params = "upscale_factor=2", .inputs = { "f32:0,4,1,1" } },
  { NULL },
};

const LoomOp loom_op_pixel_shuffle = {
  .name = "pixel_shuffle",
  .title = "Pixel shuffle",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-pixel-shuffle-symbolic",
  .synonyms = "subpixel depth to space",
  .doc = "Rearranges channels into blocks of r × r pixels.",
  .details = "Used for super-resolution: the network computes r² channels for each output channel at low resolution, "
             "where convolutions are cheap, and this layer makes a larger image of them.",
  .formula = "[C·r², H, W] → [C, H·r, W·r]",
  .reference = "torch.nn.PixelShuffle",
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
