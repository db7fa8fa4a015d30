/* Soft shrinkage: reduces every magnitude by λ. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("lambd", FLOAT, "0.5"), .doc = "The amount λ by which magnitudes are reduced." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), lambd, zero, above, below;

  lambd = loom_op_const_like (ctx, x, loom_infer_float (loom_lower_infer (ctx), "lambd"));
  zero = loom_binary (p, LOOM_SCALAR_MUL, x, loom_op_const_like (ctx, x, 0));
  above = loom_binary (p, LOOM_SCALAR_GT, x, lambd);
  below = loom_binary (p, LOOM_SCALAR_LT, x, loom_unary (p, LOOM_SCALAR_NEG, lambd));
  zero = loom_ternary (p, LOOM_SCALAR_SELECT, below, loom_binary (p, LOOM_SCALAR_ADD, x, lambd), zero);
  loom_lower_output (ctx, 0,
                     loom_ternary (p, LOOM_SCALAR_SELECT, above, loom_binary (p, LOOM_SCALAR_SUB, x, lambd), zero));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "lambd=1", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .inputs = { "f32:" }, .range = "away0" },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_softshrink = {
  .name = "softshrink",
  .title = "Soft shrink",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-shrink-symbolic",
  .doc = "Moves each element towards zero by λ; elements with |x| ≤ λ become zero.",
  .details = "The proximal operator of the L1 penalty, used in iterative algorithms for sparse coding.",
  .formula = "y = sign(x) · max(|x| − λ, 0)",
  .reference = "torch.nn.Softshrink",
  .source = "Donoho, “De-Noising by Soft-Thresholding”, IEEE Transactions on Information Theory 41, 1995",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_float,
  .lower = lower,
  .samples = samples,
};
