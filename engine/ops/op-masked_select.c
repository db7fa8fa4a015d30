/* Masked select: the elements at which a mask is true, as a list. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "A tensor of any shape." },
  { "mask", "True for the elements to select, bool; the shapes broadcast." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomShape shape, list = { .rank = 1, .dim = { loom_infer_counted_dim (ctx) } };

  if (loom_op_with_mask (ctx, &shape))
    loom_infer_output (ctx, 0, loom_infer_input (ctx, 0)->dtype, &list);
}

/* Input i expanded to the shape that both broadcast to. */
static LoomValue
spread (LoomLower *ctx, guint i)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  gint64 dims[LOOM_MAX_RANK];
  LoomShape shape;

  loom_shape_broadcast (&loom_infer_input (infer_ctx, 0)->shape, &loom_infer_input (infer_ctx, 1)->shape, &shape);
  loom_shape_get (&shape, dims);
  return loom_expand_to (loom_lower_program (ctx), loom_lower_input (ctx, i), shape.rank, dims);
}

static LoomValue
count_size (LoomLower *ctx)
{
  return loom_op_count_true (loom_lower_program (ctx), spread (ctx, 1));
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = spread (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 n, count = loom_desc_count (&d);

  loom_op_output_dims (ctx, 0, &n);
  loom_lower_output (ctx, 0,
                     loom_gather (p, loom_reshape (p, x, 1, &count), loom_op_true_places (p, spread (ctx, 1), n), 0));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "bool:B,3" } },
  { .inputs = { "f32:2,3", "bool:3" } },
  { .inputs = { "i64:0", "bool:0" } },
  { NULL },
};

const LoomOp loom_op_masked_select = {
  .name = "masked_select",
  .title = "Masked select",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-mask-symbolic",
  .doc = "Returns the elements at which a mask is true, with one dimension.",
  .details
  = "The number of elements depends on the data, so the size of the output is a symbol until the graph runs. The "
    "gradient goes to the selected elements. If a fixed size is possible, where and masked_fill are faster.",
  .formula = "y = x where mask, in the order of x",
  .reference = "torch.masked_select",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .count_size = count_size,
  .flops = loom_op_input_flops,
  .samples = samples,
};
