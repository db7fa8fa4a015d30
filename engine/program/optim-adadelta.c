/* The descriptor of Adadelta: steps in the units of the weights, from running means of squared gradients and squared
 * steps, as torch.optim.Adadelta. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (1),
  { .name = "rho", .value = 0.9, .minimum = 0, .maximum = 1, .doc = "The decay of both running means." },
  LOOM_HYPER_EPS (1e-6),
  LOOM_HYPER_WEIGHT_DECAY (0, LOOM_DECAY_BY_GRADIENT),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

static void
emit (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "square_avg", "acc_delta" };

  loom_optim_emit_step (call, (LoomStepAttrs){ .kind = LOOM_STEP_ADADELTA },
                        &(LoomOptimStep){ .n_states = G_N_ELEMENTS (states), .states = states });
}

const LoomOptimizer loom_optim_adadelta = {
  .name = "adadelta",
  .title = "Adadelta",
  .doc = "Derives the step length from recent steps divided by recent gradients.",
  .reference = "torch.optim.Adadelta",
  .hyper = hyper,
  .emit = emit,
};
