/* Flip: reverses dimensions. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIMS ("dims"), .fresh = "-1", .doc = "The dimensions to reverse." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  guint32 axes;

  if (loom_op_axes (ctx, "dims", loom_infer_input (ctx, 0)->shape.rank, &axes))
    loom_op_infer_same (ctx);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  guint32 axes = loom_op_axes_of (loom_lower_infer (ctx), "dims", d.rank);
  gint64 start[LOOM_MAX_RANK], step[LOOM_MAX_RANK];

  for (int i = 0; i < d.rank; i++)
    {
      /* A dimension of size 0 or 1 is unchanged. */
      gboolean turn = (axes >> i & 1) && d.dim[i] > 1;

      start[i] = turn ? d.dim[i] - 1 : 0;
      step[i] = turn ? -1 : 1;
    }
  loom_lower_output (ctx, 0, loom_slice (p, x, start, step, d.dim));
}

static const LoomSample samples[] = {
  { .params = "dims=1", .inputs = { "f32:B,3,2" } }, { .params = "dims=0,-1", .inputs = { "f32:2,3,2" } },
  { .params = "dims=0", .inputs = { "f32:5" } },     { .params = "dims=1", .inputs = { "f32:0,3" } },
  { .params = "dims=0", .inputs = { "f32:1,3" } },   { NULL },
};

const LoomOp loom_op_flip = {
  .name = "flip",
  .title = "Flip",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-flip-symbolic",
  .doc = "Reverses the order of elements along dimensions.",
  .details = "For example, it mirrors images or reverses sequences.",
  .formula = "yᵢ = xₙ₋₁₋ᵢ",
  .reference = "torch.flip",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
