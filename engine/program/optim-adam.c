/* The descriptor of Adam: steps from running moments of the gradient, as torch.optim.Adam; its step also serves AdamW
 * (optim-adamw.c). */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = LOOM_HYPER_ADAM (0, LOOM_DECAY_BY_GRADIENT);

void
loom_optim_emit_adam (const LoomOptimizerCall *call, gboolean decoupled)
{
  static const char *const states[] = { "exp_avg", "exp_avg_sq", "max_exp_avg_sq" };
  LoomAdamAttrs attrs = { .n = (int)call->n,
                          .decoupled = decoupled,
                          .amsgrad = loom_optim_hyper (call, "amsgrad") != 0,
                          .maximize = loom_optim_hyper (call, "maximize") != 0 };

  loom_optim_emit (
      call,
      &(LoomOptimStep){ .prim = "adam_step", .attrs = &attrs, .n_states = attrs.amsgrad ? 3 : 2, .states = states });
}

static void
emit (const LoomOptimizerCall *call)
{
  loom_optim_emit_adam (call, FALSE);
}

const LoomOptimizer loom_optim_adam = {
  .name = "adam",
  .title = "Adam",
  .doc = "Derives each weight's step length from the recent mean and spread of its gradient.",
  .reference = "torch.optim.Adam",
  .hyper = hyper,
  .emit = emit,
};
