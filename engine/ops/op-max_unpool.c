/* Max unpooling of sequences, images and volumes, as torch.nn.MaxUnpool1d, MaxUnpool2d and MaxUnpool3d.
 *
 * A row for each number of dimensions. */
#include "engine/ops/op-layers.h"

#include <inttypes.h>

static const LoomPortSpec inputs[] = {
  { "input", "The values, [batch, channels, …]." },
  { "indices", "The index of each value in its channel, in row-major order, i64, as max pooling returns it." },
  { NULL },
};

#define PARAMS(n)                                                                                                      \
  LOOM_OP_POOL_KERNEL (n), LOOM_OP_POOL_STRIDE (n),                                                                    \
      LOOM_OP_POOL_PADDING (n, "The padding of the pooling that is undone."),                                          \
  {                                                                                                                    \
    LOOM_PARAM ("output_size", INTS, ""),                                                                              \
        .length = n, LOOM_RANGE (1, 1e6), .unit = "pixels",                                                            \
        .doc = "The size of the output, if the pooling left a remainder; if not set, (n − 1) · stride "             \
               "− 2 · padding + kernel_size."                                                                       \
  }

static const LoomParamSpec params[LOOM_MAX_SPACE][5] = {
  { PARAMS (1), { NULL } },
  { PARAMS (2), { NULL } },
  { PARAMS (3), { NULL } },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0), *indices = loom_infer_input (ctx, 1);
  int n = loom_op_space_of (ctx, "kernel_size");
  gint64 kernel[LOOM_MAX_SPACE], stride[LOOM_MAX_SPACE], padding[LOOM_MAX_SPACE], size[LOOM_MAX_SPACE];
  gboolean given = loom_infer_is_set (ctx, "output_size");
  LoomShape shape = x->shape;

  if (!loom_op_rank (ctx, 0, "input", n + 2, n + 2, "batch × channels × …", "Put a reshape before it.")
      || !loom_op_needs_int (ctx, 1, "indices"))
    return;
  if (!loom_shape_compatible (&x->shape, &indices->shape))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "indices", "There is an index for each value, in the same shape.");
      return;
    }
  loom_infer_ints (ctx, "kernel_size", kernel, n);
  loom_infer_ints (ctx, loom_infer_is_set (ctx, "stride") ? "stride" : "kernel_size", stride, n);
  loom_infer_ints (ctx, "padding", padding, n);
  if (given)
    loom_infer_ints (ctx, "output_size", size, n);
  for (int k = 0; k < n; k++)
    {
      LoomDim d = x->shape.dim[k + 2];
      gint64 whole = loom_dim_is_known (d) ? (d.coef - 1) * stride[k] - 2 * padding[k] + kernel[k] : -1;

      /* As in PyTorch: a pooling to this size begins less than a stride before or after it. */
      if (given && loom_dim_is_known (d) && (size[k] <= whole - stride[k] || size[k] >= whole + stride[k]))
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "output_size",
                            "No max pooling with these windows makes %" PRId64 " values of %" PRId64 ".", d.coef,
                            size[k]);
          return;
        }
      if (!given && loom_dim_is_known (d) && whole < 1)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "padding", "Nothing is left of the output. Use less padding.");
          return;
        }
      shape.dim[k + 2] = given ? loom_dim (size[k]) : loom_dim_is_known (d) ? loom_dim (whole) : loom_dim_unknown ();
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), index = loom_cast (p, loom_lower_input (ctx, 1), LOOM_I64);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 dims[LOOM_MAX_RANK], flat[3], whole[3];
  int rank = loom_op_output_dims (ctx, 0, dims);

  flat[0] = whole[0] = d.dim[0];
  flat[1] = whole[1] = d.dim[1];
  flat[2] = whole[2] = 1;
  for (int k = 2; k < rank; k++)
    {
      flat[2] *= d.dim[k];
      whole[2] *= dims[k];
    }
  x = loom_scatter (p, loom_fill (p, d.dtype, 3, whole, 0), loom_reshape (p, index, 3, flat),
                    loom_reshape (p, x, 3, flat), 2, LOOM_SCATTER_REPLACE);
  loom_lower_output (ctx, 0, loom_reshape (p, x, rank, dims));
}

static const LoomSample samples[LOOM_MAX_SPACE][4] = {
  {
      { .params = "kernel_size=2", .inputs = { "f32:B,2,3", "i64:B,2,3" }, .range = "class:6" },
      { .params = "kernel_size=2 output_size=5", .inputs = { "f32:1,2,2", "i64:1,2,2" }, .range = "class:5" },
      { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:1,1,3", "i64:1,1,3" }, .range = "class:5" },
      { NULL },
  },
  {
      { .params = "kernel_size=2", .inputs = { "f32:B,2,2,3", "i64:B,2,2,3" }, .range = "class:24" },
      { .params = "kernel_size=2 output_size=3,5", .inputs = { "f32:1,1,1,2", "i64:1,1,1,2" }, .range = "class:15" },
      { .params = "kernel_size=3 stride=2 padding=1", .inputs = { "f32:1,1,2,2", "i64:1,1,2,2" }, .range = "class:9" },
      { NULL },
  },
  {
      { .params = "kernel_size=2", .inputs = { "f32:B,1,2,1,2", "i64:B,1,2,1,2" }, .range = "class:32" },
      { .params = "kernel_size=2,1,2", .inputs = { "f32:1,2,1,2,1", "i64:1,2,1,2,1" }, .range = "class:8" },
      { .params = "kernel_size=1", .inputs = { "f32:0,2,1,2,1", "i64:0,2,1,2,1" }, .range = "class:2" },
      { NULL },
  },
};

/* What the rows have in common. */
#define MAX_UNPOOL(n)                                                                                                  \
  .title = "Max unpooling " #n "D", .category = LOOM_CATEGORY_LAYERS, .icon = "loom-upsample-symbolic",                \
  .details                                                                                                             \
      = "Values return to the positions that max pooling took them from, which its port indices names; all other "     \
        "positions are 0. Decoders of segmentation networks (SegNet) use it to keep edges sharp.",                     \
  .formula = "y = 0;  y[indices] = x", .reference = "torch.nn.MaxUnpool" #n "d", .inputs = inputs,                     \
  .outputs = loom_op_port_out, .params = params[n - 1], .infer = infer, .lower = lower, .flops = loom_op_no_flops,     \
  .samples = samples[n - 1], .summary = loom_op_pool_summary

const LoomOp loom_op_max_unpool1d = {
  .name = "max_unpool1d",
  MAX_UNPOOL (1),
  .doc = "Puts the maxima of a sequence back where max pooling found them.",
};

const LoomOp loom_op_max_unpool2d = {
  .name = "max_unpool2d",
  MAX_UNPOOL (2),
  .doc = "Puts the maxima of an image back where max pooling found them.",
};

const LoomOp loom_op_max_unpool3d = {
  .name = "max_unpool3d",
  MAX_UNPOOL (3),
  .doc = "Puts the maxima of a volume back where max pooling found them.",
};
