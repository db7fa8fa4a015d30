/* Expand: repeats dimensions of size 1, as broadcasting does. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("shape", SHAPE, NULL), LOOM_RANGE (-1, -1),
    .doc = "The new shape; −1 keeps a size. It may have additional leading dimensions." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = loom_infer_shape (ctx, "shape");
  int lead = shape.rank - x->shape.rank;
  gboolean fits = lead >= 0;

  for (int i = 0; fits && i < shape.rank; i++)
    {
      LoomDim have = i < lead ? loom_dim (1) : x->shape.dim[i - lead];

      if (loom_dim_is_unknown (shape.dim[i]))
        {
          fits = i >= lead;
          shape.dim[i] = have;
        }
      else
        fits = loom_dim_equal (have, loom_dim (1)) || loom_dim_compatible (have, shape.dim[i]);
    }
  if (!fits)
    {
      g_autofree char *from = loom_shape_to_string (&x->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "shape",
                        "%s cannot be expanded to %s: counted from the right, only a size of 1 can be repeated.", from,
                        loom_infer_string (ctx, "shape"));
      return;
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  loom_lower_output (ctx, 0, loom_expand_to (loom_lower_program (ctx), loom_lower_input (ctx, 0), rank, dims));
}

static const LoomSample samples[] = {
  { .params = "shape=B,3,4", .inputs = { "f32:B,1,4" } },
  { .params = "shape=2,-1,-1", .inputs = { "f32:3,4" } },
  { .params = "shape=2,3", .inputs = { "f32:" } },
  { .params = "shape=B,-1", .inputs = { "f32:1,3" } },
  { .params = "shape=0,3", .inputs = { "f32:1,3" } },
  { .params = "shape=-1", .inputs = { "f32:3" } },
  { NULL },
};

const LoomOp loom_op_expand = {
  .name = "expand",
  .title = "Expand",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-expand-symbolic",
  .synonyms = "broadcast",
  .doc = "Repeats dimensions of size 1 to a given shape (broadcast_to).",
  .details = "Makes the broadcasting of arithmetic explicit: one class token becomes one for each sample, for example. "
             "The gradient is summed over the copies.",
  .formula = "B × 1 × C → B × T × C",
  .reference = "torch.Tensor.expand",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
