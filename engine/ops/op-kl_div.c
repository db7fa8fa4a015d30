/* Kullback-Leibler divergence, as torch.nn.functional.kl_div. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The predicted log probabilities, from a log_softmax.", LOOM_PORT_PREDICTION },
  { "target", "The target probabilities, or their logarithms with log_target.", LOOM_PORT_TARGET },
  { NULL },
};

static const char *const reductions[] = { "mean", "batchmean", "sum", "none", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("reduction", ENUM, "mean"), .choices = reductions,
    .doc = "How the losses are reduced: none, their mean, their sum, or the sum divided by the batch size." },
  { LOOM_PARAM ("log_target", BOOL, "false"), .doc = "Whether the target is given as log probabilities." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), t = loom_op_loss_input (ctx, 1);
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomTensorDesc d;
  LoomValue loss;

  if (loom_infer_bool (infer_ctx, "log_target"))
    loss = loom_binary (p, LOOM_SCALAR_MUL, loom_unary (p, LOOM_SCALAR_EXP, t), loom_binary (p, LOOM_SCALAR_SUB, t, x));
  else
    {
      /* 0 · ln 0 is 0. */
      LoomValue some = loom_binary (p, LOOM_SCALAR_NE, t, loom_op_const_like (ctx, x, 0));
      LoomValue log = loom_unary (p, LOOM_SCALAR_LOG,
                                  loom_ternary (p, LOOM_SCALAR_SELECT, some, t, loom_op_const_like (ctx, x, 1)));

      loss = loom_binary (p, LOOM_SCALAR_SUB, loom_binary (p, LOOM_SCALAR_MUL, t, log),
                          loom_binary (p, LOOM_SCALAR_MUL, t, x));
    }
  if (!g_str_equal (loom_infer_string (infer_ctx, "reduction"), "batchmean"))
    {
      loom_op_output_loss (ctx, loss);
      return;
    }
  d = loom_op_desc (ctx, loom_lower_input (ctx, 0));
  loom_op_output_reshaped (ctx, 0,
                           loom_binary (p, LOOM_SCALAR_DIV, loom_sum_all (p, loss),
                                        loom_op_const_like (ctx, x, d.rank > 0 ? (double)d.dim[0] : 1)));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" }, .range = "positive" },
  { .params = "reduction=batchmean", .inputs = { "f32:B,3", "f32:B,3" }, .range = "positive" },
  { .params = "reduction=none log_target=true", .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "reduction=sum", .inputs = { "f32:", "f32:" }, .range = "positive" },
  { .params = "reduction=sum", .inputs = { "f32:0,2", "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_kl_div = {
  .name = "kl_div",
  .title = "Kullback-Leibler divergence loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-kl-div-symbolic",
  .synonyms = "kullback leibler divergence",
  .doc = "Computes the Kullback-Leibler divergence between two distributions.",
  .details
  = "The input holds log probabilities, the target probabilities, for example those of the teacher in knowledge "
    "distillation. Use batchmean for the mathematical definition of the divergence, averaged over the batch.",
  .formula = "L = Σ t · (ln t − x)",
  .reference = "torch.nn.KLDivLoss",
  .source = "Kullback and Leibler, “On Information and Sufficiency”, Annals of Mathematical Statistics 22, 1951",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_pair_loss,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
