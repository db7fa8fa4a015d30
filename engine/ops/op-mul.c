/* Multiply: y = a · b, with broadcasting. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The first operand." },
  { "other", "The second operand; its shape may differ where sizes are 1.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "other",
    .type = LOOM_PARAM_FLOAT,
    .def = "",
    .doc = "A number as the second operand, where nothing is wired." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  loom_op_infer_binary (ctx, "other", FALSE);
}

static void
lower (LoomLower *ctx)
{
  loom_op_lower_binary (ctx, "other", LOOM_SCALAR_MUL);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4", "f32:B,3,4" }, .range = NULL },
  { .inputs = { "f32:B,3,1", "f32:4" }, .range = NULL },
  { .inputs = { "f32:3,4", "f32:B,1,1" }, .range = NULL },
  { .inputs = { "f32:", "f32:2,3" }, .range = NULL },
  { .inputs = { "f32:0,3", "f32:3" }, .range = NULL },
  { .params = "other=2.5", .inputs = { "f32:B,3" }, .range = NULL },
  { .params = NULL },
};

const LoomOp loom_op_mul = {
  .name = "mul",
  .title = "Multiply",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-mul-symbolic",
  .doc = "Multiplies element by element.",
  .details
  = "Scales, masks and gates: each operand’s gradient is the other operand. For the product of matrices use matmul. "
    "Shapes need not be equal: counted from the right, a size of 1 is repeated as often as the other operand asks.",
  .formula = "y = a · b",
  .reference = "torch.mul",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
