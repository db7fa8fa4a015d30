/* Toy: the elements in their flat order, each moved a place on. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = "shift", .type = LOOM_PARAM_INT, .def = "1", .doc = "How many places each element moves." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomToyTurnAttrs attrs = { loom_infer_int (loom_lower_infer (ctx), "shift") };
  LoomValue x = loom_lower_input (ctx, 0);

  loom_lower_output (ctx, 0, loom_emit (loom_lower_program (ctx), loom_prim ("toy_turn"), &attrs, 1, &x, NULL));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3" } },
  { .params = "shift=-2", .inputs = { "f32:2,3,4" } },
  { NULL },
};

const LoomOp loom_op_toy = {
  .name = "toy",
  .title = "Toy",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-toy-symbolic",
  .doc = "Moves elements along their flat order.",
  .details = "The last elements become the first ones.",
  .formula = "yᵢ = x₍ᵢ₋ₛ₎ mod n",
  .reference = "torch.roll",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_same,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
