/* Permute: reorders dimensions. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIMS ("dims"), .doc = "For each dimension of the result, the dimension of the input." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  guint n = loom_infer_ints (ctx, "dims", dims, G_N_ELEMENTS (dims));
  LoomShape shape = x->shape;
  guint32 seen = 0;

  if ((int)n != x->shape.rank)
    {
      g_autofree char *text = loom_shape_to_string (&x->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "dims", "dims names %u dimensions, but %s has %d.", n, text,
                        x->shape.rank);
      return;
    }
  for (guint i = 0; i < n; i++)
    {
      int axis;

      if (!loom_op_axis (ctx, "dims", dims[i], x->shape.rank, &axis))
        return;
      if (seen >> axis & 1)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "dims", "Dimension %d is named twice; each must occur once.", axis);
          return;
        }
      seen |= 1u << axis;
      shape.dim[i] = x->shape.dim[axis];
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  guint n = loom_infer_ints (loom_lower_infer (ctx), "dims", dims, G_N_ELEMENTS (dims));
  int perm[LOOM_MAX_RANK];

  for (guint i = 0; i < n; i++)
    perm[i] = loom_op_axis_of (dims[i], (int)n);
  loom_lower_output (ctx, 0, loom_permute (loom_lower_program (ctx), loom_lower_input (ctx, 0), perm));
}

static const LoomSample samples[] = {
  { .params = "dims=0,2,1", .inputs = { "f32:B,T,3" } },
  { .params = "dims=3,0,-2,1", .inputs = { "f32:2,3,4,5" } },
  { .params = "dims=1,0", .inputs = { "f32:0,3" } },
  { .params = "dims=0", .inputs = { "f32:3" } },
  { NULL },
};

/* Sequence and features, or the position of the channels: orders that keep the batch come first. */
static char **
adapt (const LoomType *from, const LoomType *const *siblings, guint n_siblings)
{
  switch (from->shape.rank)
    {
    case 2:
      return g_strdupv ((char *[]){ "dims=1,0", NULL });
    case 3:
      return g_strdupv ((char *[]){ "dims=0,2,1", "dims=1,0,2", NULL });
    case 4:
      return g_strdupv ((char *[]){ "dims=0,3,1,2", "dims=0,2,3,1", NULL });
    default:
      return g_strdupv ((char *[]){ NULL });
    }
}

const LoomOp loom_op_permute = {
  .name = "permute",
  .title = "Permute",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-permute-symbolic",
  .synonyms = "transpose axes",
  .usual = TRUE,
  .doc = "Reorders the dimensions of a tensor.",
  .details = "For example, dims 0,2,1,3 swaps sequence and heads of [B, T, H, E]. Unlike reshape, it moves elements.",
  .formula = "yᵢⱼₖ = xₚ₍ᵢⱼₖ₎",
  .reference = "torch.permute",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .adapt = adapt,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
