/* Numel: the number of elements of a tensor. */
#include "engine/ops/op-private.h"

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_shape_scalar ();

  loom_infer_output (ctx, 0, LOOM_I64, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomTensorDesc d = loom_op_desc (ctx, loom_lower_input (ctx, 0));

  loom_lower_output (ctx, 0, loom_const (loom_lower_program (ctx), LOOM_I64, (double)loom_desc_count (&d)));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3" } },
  { .inputs = { "f32:" } },
  { .inputs = { "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_numel = {
  .name = "numel",
  .title = "Number of elements",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-shape-symbolic",
  .doc = "Returns the number of elements of a tensor.",
  .details = "The product of all sizes, as an i64 scalar.",
  .formula = "y = n₀ · n₁ · …",
  .reference = "torch.numel",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
