/* Negate: y = -x. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_unary (ctx, LOOM_SCALAR_NEG);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = NULL },
  { .inputs = { "f32:" }, .range = NULL },
  { .inputs = { "f32:1" }, .range = NULL },
  { .inputs = { "f32:0,3" }, .range = NULL },
  { .params = NULL },
};

const LoomOp loom_op_neg = {
  .name = "neg",
  .title = "Negate",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-neg-symbolic",
  .doc = "Changes the sign of every element.",
  .details = "Turns a quantity to be maximised into one to be minimised, or a sum into a difference.",
  .formula = "y = -x",
  .reference = "torch.neg",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .lower = lower,
  .samples = samples,
};
