/* Flatten: merges adjacent dimensions. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("start_dim"), .def = "1", .doc = "The first dimension to merge." },
  { LOOM_OP_DIM ("end_dim"), .def = "-1", .doc = "The last dimension to merge." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = { 0 };
  int first, last;

  /* As in PyTorch a scalar becomes a vector of one element. */
  if (x->shape.rank == 0)
    {
      shape = loom_shape (1, (gint64[]){ 1 });
      loom_infer_output (ctx, 0, x->dtype, &shape);
      return;
    }
  if (!loom_op_axis (ctx, "start_dim", loom_infer_int (ctx, "start_dim"), x->shape.rank, &first)
      || !loom_op_axis (ctx, "end_dim", loom_infer_int (ctx, "end_dim"), x->shape.rank, &last))
    return;
  if (last < first)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "start_dim", "start_dim (%d) is after end_dim (%d).", first, last);
      return;
    }
  for (int i = 0; i < x->shape.rank; i++)
    {
      if (i > first && i <= last)
        shape.dim[shape.rank - 1] = loom_dim_mul (shape.dim[shape.rank - 1], x->shape.dim[i]);
      else
        shape.dim[shape.rank++] = x->shape.dim[i];
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,2,2" } },
  { .inputs = { "f32:B,3" } },
  { .params = "start_dim=0", .inputs = { "f32:2,3,4" } },
  { .params = "start_dim=-3 end_dim=-2", .inputs = { "f32:B,2,3,4" } },
  { .params = "start_dim=0", .inputs = { "f32:" } },
  { .inputs = { "f32:0,3,2" } },
  { NULL },
};

/* Images become vectors for a linear layer. */
static char **
adapt (const LoomType *from, const LoomType *const *siblings, guint n_siblings)
{
  return g_strdupv ((char *[]){ from->shape.rank > 2 ? "" : NULL, NULL });
}

const LoomOp loom_op_flatten = {
  .name = "flatten",
  .title = "Flatten",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-flatten-symbolic",
  .synonyms = "vectorize",
  .usual = TRUE,
  .doc = "Merges adjacent dimensions into one.",
  .details = "By default it keeps the batch dimension and merges all others, so an image of channels, height and width "
             "becomes the vector that a linear layer takes. No element is changed or moved.",
  .formula = "B × C × H × W → B × C·H·W",
  .reference = "torch.nn.Flatten",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .adapt = adapt,
  .lower = loom_op_lower_reshape,
  .flops = loom_op_no_flops,
  .samples = samples,
};
