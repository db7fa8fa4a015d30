/* Margin ranking loss, as torch.nn.functional.margin_ranking_loss. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input1", "The first scores." },
  { "input2", "The second scores, with the shape of the first." },
  { "target", "1 if the first score should be larger, −1 if the second should.", LOOM_PORT_TARGET },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { LOOM_PARAM ("margin", FLOAT, "0"), .doc = "The margin by which the scores should differ." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomDType dtype;
  LoomShape shape;

  if (loom_op_infer_compared (ctx, 3, &dtype, &shape))
    loom_op_infer_loss (ctx, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), y = loom_op_loss_input (ctx, 1);

  x = loom_binary (p, LOOM_SCALAR_MUL, loom_op_loss_input (ctx, 2), loom_binary (p, LOOM_SCALAR_SUB, y, x));
  x = loom_binary (p, LOOM_SCALAR_ADD, x,
                   loom_op_const_like (ctx, x, loom_infer_float (loom_lower_infer (ctx), "margin")));
  loom_op_output_loss (ctx, loom_op_at_least_zero (p, x));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3", "f32:B,3" } },
  { .params = "margin=0.5 reduction=none", .inputs = { "f32:B", "f32:B", "i64:B" }, .range = "class:2" },
  { .params = "reduction=sum", .inputs = { "f32:", "f32:", "f32:" } },
  { NULL },
};

const LoomOp loom_op_margin_ranking_loss = {
  .name = "margin_ranking_loss",
  .title = "Margin ranking loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-hinge-loss-symbolic",
  .doc = "Computes a ranking loss: one of two scores should exceed the other by a margin.",
  .details = "For a target of 1 the loss is 0 if the first score exceeds the second by the margin; for −1 if the "
             "second exceeds the first. Used to learn rankings.",
  .formula = "L = mean max(0, −t · (x₁ − x₂) + m)",
  .reference = "torch.nn.MarginRankingLoss",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
