/* Affine grid: the positions that an affine transformation samples, as torch.nn.functional.affine_grid. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "theta", "The transformations [batch, 2, 3] of images, or [batch, 3, 4] of volumes." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("size", INTS, "8,8"), LOOM_RANGE (1, 1e6), .unit = "pixels",
    .doc = "The size of the grid: height and width, or depth, height and width." },
  { LOOM_PARAM ("align_corners", BOOL, "false"),
    .doc = "Whether −1 and 1 are the centres of the outer pixels instead of their outer edges." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *theta = loom_infer_input (ctx, 0);
  gint64 size[3];
  guint n = loom_infer_ints (ctx, "size", size, 3);
  LoomShape want = { .rank = 3 }, grid = { .rank = (int)n + 2 };

  if (n != 2 && n != 3)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "size",
                        "size is height and width of an image, or depth, height and width of a volume.");
      return;
    }
  if (!loom_op_rank (ctx, 0, "theta", 3, 3, "transformations, batch × 2 × 3 or batch × 3 × 4",
                     "Put a reshape before it.")
      || !loom_op_needs_float (ctx, 0, "theta", NULL))
    return;
  want.dim[0] = grid.dim[0] = theta->shape.dim[0];
  want.dim[1] = grid.dim[n + 1] = loom_dim (n);
  want.dim[2] = loom_dim (n + 1);
  if (!loom_shape_compatible (&theta->shape, &want))
    {
      g_autofree char *text = loom_shape_to_string (&theta->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "theta",
                        "For a grid of %u dimensions theta is [batch, %u, %u], but got %s.", n, n, n + 1, text);
      return;
    }
  for (guint k = 0; k < n; k++)
    grid.dim[k + 1] = loom_dim (size[k]);
  loom_infer_output (ctx, 0, theta->dtype, &grid);
}

/* grid[…, j] = Σₖ theta[j, k]·xₖ + theta[j, n], where x₀ runs along the last dimension of the grid. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  gboolean align = loom_infer_bool (loom_lower_infer (ctx), "align_corners");
  gint64 dims[LOOM_MAX_RANK], column[LOOM_MAX_RANK] = { 0 };
  int rank = loom_op_output_dims (ctx, 0, dims), n = rank - 2;
  LoomValue theta = loom_lower_input (ctx, 0), sum = 0;
  LoomDType dtype = loom_op_desc (ctx, theta).dtype;

  column[0] = dims[0];
  for (int k = 1; k <= n; k++)
    column[k] = 1;
  column[n + 1] = n;
  for (int k = n; k >= 0; k--)
    {
      LoomValue part = loom_slice (p, theta, (gint64[]){ 0, 0, k }, (gint64[]){ 1, 1, 1 }, (gint64[]){ dims[0], n, 1 });

      part = loom_reshape (p, part, rank, column);
      if (k < n)
        {
          int axis = n - k;
          gint64 size = dims[axis];
          double step = align ? 2.0 / (double)MAX (size - 1, 1) : 2.0 / (double)size;
          double start = !align ? 1.0 / (double)size - 1 : size > 1 ? -1 : 0;

          part = loom_binary (p, LOOM_SCALAR_MUL, part, loom_op_iota_along (p, dtype, rank, axis, size, start, step));
        }
      sum = sum == 0 ? part : loom_binary (p, LOOM_SCALAR_ADD, sum, part);
    }
  loom_lower_output (ctx, 0, loom_expand_to (p, sum, rank, dims));
}

static const LoomSample samples[] = {
  { .params = "size=3,4", .inputs = { "f32:B,2,3" } },
  { .params = "size=2,1 align_corners=true", .inputs = { "f32:2,2,3" } },
  { .params = "size=2,3,2", .inputs = { "f32:B,3,4" } },
  { .params = "size=1,3,2 align_corners=true", .inputs = { "f32:0,3,4" } },
  { NULL },
};

const LoomOp loom_op_affine_grid = {
  .name = "affine_grid",
  .title = "Affine grid",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-upsample-symbolic",
  .synonyms = "spatial transformer",
  .doc = "Computes the positions at which an affine transformation samples an image.",
  .details = "grid_sample reads an image at these positions; the two together are the spatial transformer, whose "
             "transformation another part of the network predicts. Positions are from −1 to 1 in x and y.",
  .formula = "grid[i, j] = θ · (xⱼ, yᵢ, 1)ᵀ",
  .reference = "torch.nn.functional.affine_grid",
  .source = "Jaderberg, Simonyan, Zisserman and Kavukcuoglu, “Spatial Transformer Networks”, NeurIPS 2015, "
            "arXiv:1506.02025",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
