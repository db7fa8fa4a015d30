/* Unsqueeze: inserts dimensions of size 1. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIMS ("dim"), .fresh = "1", .doc = "The index of the new dimension in the result; several are allowed." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  guint n = loom_infer_ints (ctx, "dim", dims, G_N_ELEMENTS (dims));
  LoomShape shape = { .rank = x->shape.rank + (int)n };
  guint32 axes;

  if (n > G_N_ELEMENTS (dims) || shape.rank > LOOM_SHAPE_MAX_RANK)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "dim", "The result would have %u dimensions; %d are possible.",
                        x->shape.rank + n, LOOM_SHAPE_MAX_RANK);
      return;
    }
  if (!loom_op_axes (ctx, "dim", shape.rank, &axes))
    return;
  for (int i = 0, from = 0; i < shape.rank; i++)
    shape.dim[i] = axes >> i & 1 ? loom_dim (1) : x->shape.dim[from++];
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static const LoomSample samples[] = {
  { .params = "dim=1", .inputs = { "f32:B,3" } },
  { .params = "dim=-1", .inputs = { "f32:B,3" } },
  { .params = "dim=0,3", .inputs = { "f32:2,3" } },
  { .params = "dim=0", .inputs = { "f32:" } },
  { NULL },
};

/* Samples without a channel, or numbers without a dimension for it. */
static char **
adapt (const LoomType *from, const LoomType *const *siblings, guint n_siblings)
{
  if (from->shape.rank > 3)
    return g_strdupv ((char *[]){ NULL });
  return g_strdupv ((char *[]){ from->shape.rank > 0 ? "dim=1" : "dim=0", "dim=-1", NULL });
}

const LoomOp loom_op_unsqueeze = {
  .name = "unsqueeze",
  .title = "Unsqueeze",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-unsqueeze-symbolic",
  .synonyms = "new axis",
  .doc = "Inserts a dimension of size 1.",
  .details = "For example, to add a batch or channel dimension, or to broadcast along it.",
  .formula = "B × C → B × 1 × C",
  .reference = "torch.unsqueeze",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .adapt = adapt,
  .lower = loom_op_lower_reshape,
  .flops = loom_op_no_flops,
  .samples = samples,
};
