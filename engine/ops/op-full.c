/* Full: a tensor filled with one number. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("fill_value", FLOAT, "0"), .doc = "The number." },
  LOOM_OP_FILLED_PARAMS,
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  loom_op_lower_filled (ctx, loom_infer_float (loom_lower_infer (ctx), "fill_value"));
}

static const LoomSample samples[] = {
  { .params = "fill_value=2.5 shape=B,3" },
  { .params = "fill_value=7 shape=2 dtype=i64" },
  { .params = "fill_value=-1", .inputs = { "f32:B,2" } },
  { .params = "fill_value=1 dtype=bool", .inputs = { "f32:0,2" } },
  { .params = "fill_value=3" },
  { NULL },
};

const LoomOp loom_op_full = {
  .name = "full",
  .title = "Full",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-constant-symbolic",
  .doc = "Returns a tensor filled with one number.",
  .details = "Like constant, but the shape can be that of another tensor: for example, a target of 0.9 for each sample "
             "of a batch.",
  .formula = "y = c",
  .reference = "torch.full",
  .inputs = loom_op_port_like,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_filled,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
