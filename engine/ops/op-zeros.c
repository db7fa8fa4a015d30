/* Zeros: a tensor of zeros. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_filled (ctx, 0);
}

static const LoomSample samples[] = {
  { .params = "shape=B,3" },   { .params = "shape=0,2 dtype=i64" },
  { .inputs = { "f32:B,2" } }, { .params = "dtype=bool", .inputs = { "i64:3" }, .range = "class:5" },
  { .params = "dtype=f32" },   { NULL },
};

const LoomOp loom_op_zeros = {
  .name = "zeros",
  .title = "Zeros",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-zeros-symbolic",
  .doc = "Returns a tensor filled with zeros.",
  .details = "For example, the initial state of a recurrent layer. The shape is given, or that of the tensor wired "
             "into “like” (zeros_like).",
  .formula = "y = 0",
  .reference = "torch.zeros",
  .inputs = loom_op_port_like,
  .outputs = loom_op_port_out,
  .params = loom_op_param_filled,
  .infer = loom_op_infer_filled,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
