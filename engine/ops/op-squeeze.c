/* Squeeze: removes dimensions of size 1. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIMS ("dim"), .def = "",
    .doc = "The dimensions to remove if their size is 1; if not set, all of size 1, which includes the batch if it has "
           "one sample." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape;
  guint32 axes;

  if (!loom_op_axes (ctx, "dim", x->shape.rank, &axes))
    return;
  for (int i = 0; i < x->shape.rank; i++)
    {
      if (!loom_dim_equal (x->shape.dim[i], loom_dim (1)))
        axes &= ~(1u << i);
    }
  shape = loom_op_reduced_shape (&x->shape, axes, FALSE);
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static const LoomSample samples[] = {
  { .params = "dim=1", .inputs = { "f32:B,1,3" } },
  { .params = "dim=0,-1", .inputs = { "f32:1,3,1" } },
  { .params = "dim=1", .inputs = { "f32:B,3" } },
  { .inputs = { "f32:1,2,1,3" } },
  { .inputs = { "f32:" } },
  { NULL },
};

/* One dimension at a time: the batch is kept even if it is 1, and images keep their channel. */
static char **
adapt (const LoomType *from, const LoomType *const *siblings, guint n_siblings)
{
  g_autoptr (GStrvBuilder) list = g_strv_builder_new ();

  for (int i = from->shape.rank - 1; i > 0 && from->shape.rank < 4; i--)
    if (loom_dim_equal (from->shape.dim[i], loom_dim (1)))
      {
        g_autofree char *attributes = g_strdup_printf ("dim=%d", i);

        g_strv_builder_add (list, attributes);
      }
  return g_strv_builder_end (list);
}

const LoomOp loom_op_squeeze = {
  .name = "squeeze",
  .title = "Squeeze",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-squeeze-symbolic",
  .doc = "Removes dimensions of size 1.",
  .details = "For example, the output B × 1 of a layer gets the shape of its targets, B. Name the dimension, so that a "
             "batch of one sample is kept.",
  .formula = "B × 1 × C → B × C",
  .reference = "torch.squeeze",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .adapt = adapt,
  .lower = loom_op_lower_reshape,
  .flops = loom_op_no_flops,
  .samples = samples,
};
