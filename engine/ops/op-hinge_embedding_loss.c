/* Hinge embedding loss, as torch.nn.functional.hinge_embedding_loss. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { LOOM_PARAM ("margin", FLOAT, "1"), .doc = "The distance from which dissimilar pairs have no loss." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_input (ctx, 1);
  LoomValue apart, near;

  apart = loom_op_at_least_zero (
      p, loom_binary (p, LOOM_SCALAR_SUB,
                      loom_op_const_like (ctx, x, loom_infer_float (loom_lower_infer (ctx), "margin")), x));
  apart = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_NE, t, loom_op_const_like (ctx, x, 1)),
                        apart, loom_op_const_like (ctx, x, 0));
  near = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_NE, t, loom_op_const_like (ctx, x, -1)), x,
                       loom_op_const_like (ctx, x, 0));
  loom_op_output_loss (ctx, loom_binary (p, LOOM_SCALAR_ADD, apart, near));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "i64:B,3" }, .range = "class:2" },
  { .params = "margin=0.5 reduction=none", .inputs = { "f32:B,3", "i64:B,3" }, .range = "class:2" },
  { .params = "reduction=sum", .inputs = { "f32:", "f32:" } },
  { NULL },
};

const LoomOp loom_op_hinge_embedding_loss = {
  .name = "hinge_embedding_loss",
  .title = "Hinge embedding loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-hinge-loss-symbolic",
  .synonyms = "svm margin",
  .doc = "Computes the hinge embedding loss of distances of similar and dissimilar pairs.",
  .details = "The input is a distance. For a target of 1 (similar) it is the loss; for −1 (dissimilar) the loss is "
             "max(0, margin − x).",
  .formula = "L = mean (x where t = 1, max(0, m − x) where t = −1)",
  .reference = "torch.nn.HingeEmbeddingLoss",
  .inputs = loom_op_port_compared,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_pair_loss,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
