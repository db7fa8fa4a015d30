/* Reshape: the same elements under another shape. */
#include "engine/ops/op-private.h"

#include <math.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("shape", SHAPE, "B,-1"), LOOM_RANGE (-1, -1),
    .doc = "The new shape, of numbers and symbols: “B,1,28,28”; one size may be −1 and is inferred." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = loom_infer_shape (ctx, "shape");

  if (!loom_op_infer_reshape (ctx, "shape", &x->shape, &shape))
    return;
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static const LoomSample samples[] = {
  { .params = "shape=B,1,3,4", .inputs = { "f32:B,12" } }, { .params = "shape=2B,6", .inputs = { "f32:B,12" } },
  { .params = "shape=6", .inputs = { "f32:2,3" } },        { .params = "shape=0,5", .inputs = { "f32:0,3" } },
  { .params = "shape=1,1", .inputs = { "f32:" } },         { .params = "shape=B,-1", .inputs = { "f32:B,3,4" } },
  { .params = "shape=-1,4", .inputs = { "f32:B,3,4" } },   { .params = "shape=-1", .inputs = { "f32:" } },
  { .params = "shape=-1,5", .inputs = { "f32:0,5" } },     { NULL },
};

/* The shape of another input of the node, or rows of pixels as square images of one or three channels. */
static char **
adapt (const LoomType *from, const LoomType *const *siblings, guint n_siblings)
{
  g_autoptr (GStrvBuilder) list = g_strv_builder_new ();
  LoomDim count = loom_shape_count (&from->shape);
  gint64 pixels = 0;

  for (guint i = 0; i < n_siblings; i++)
    if (loom_dim_equal (loom_shape_count (&siblings[i]->shape), count)
        && !loom_shape_equal (&siblings[i]->shape, &from->shape))
      {
        g_autofree char *shape = loom_shape_to_attribute (&siblings[i]->shape);
        g_autofree char *attributes = g_strconcat ("shape=", shape, NULL);

        g_strv_builder_add (list, attributes);
      }
  if (from->shape.rank == 2 && loom_dim_is_known (from->shape.dim[1]))
    pixels = from->shape.dim[1].coef;
  for (gint64 channels = 1; pixels > 1 && channels <= 3; channels += 2)
    {
      gint64 side = (gint64)(sqrt ((double)(pixels / channels)) + 0.5);

      if (side * side * channels == pixels)
        {
          LoomShape shape
              = { .rank = 4, .dim = { from->shape.dim[0], loom_dim (channels), loom_dim (side), loom_dim (side) } };
          g_autofree char *text = loom_shape_to_attribute (&shape), *attributes = g_strconcat ("shape=", text, NULL);

          g_strv_builder_add (list, attributes);
        }
    }
  return g_strv_builder_end (list);
}

const LoomOp loom_op_reshape = {
  .name = "reshape",
  .title = "Reshape",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-reshape-symbolic",
  .synonyms = "view",
  .usual = TRUE,
  .doc = "Returns the same elements, in the same order, with another shape.",
  .details = "For example, rows of 784 pixels become images of 28 × 28. To swap dimensions use permute or transpose, "
             "because reshape never reorders elements. PyTorch’s view is the same.",
  .formula = "y = x, other shape",
  .reference = "torch.reshape",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .adapt = adapt,
  .lower = loom_op_lower_reshape,
  .flops = loom_op_no_flops,
  .samples = samples,
};
