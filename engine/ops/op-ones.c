/* Ones: a tensor of ones. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_filled (ctx, 1);
}

static const LoomSample samples[] = {
  { .params = "shape=B,3" },   { .params = "shape=0,2 dtype=i64" },
  { .inputs = { "f32:B,2" } }, { .params = "dtype=bool", .inputs = { "i64:3" }, .range = "class:5" },
  { .params = "dtype=f32" },   { NULL },
};

const LoomOp loom_op_ones = {
  .name = "ones",
  .title = "Ones",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-constant-symbolic",
  .doc = "Returns a tensor filled with ones.",
  .details = "The shape is given, or that of the tensor wired into “like” (ones_like).",
  .formula = "y = 1",
  .reference = "torch.ones",
  .inputs = loom_op_port_like,
  .outputs = loom_op_port_out,
  .params = loom_op_param_filled,
  .infer = loom_op_infer_filled,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
