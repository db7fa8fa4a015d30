/* The descriptor of Lion: steps of fixed length by the sign of a running mean (Chen et al. 2023). */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (0.0001),
  LOOM_HYPER_BETA1,
  LOOM_HYPER_BETA2 (0.99, "The decay of the running mean of gradients."),
  LOOM_HYPER_WEIGHT_DECAY (0, "Shrinks weights by lr times this at each step."),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

static void
emit (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "exp_avg" };

  loom_optim_emit_step (call, (LoomStepAttrs){ .kind = LOOM_STEP_LION },
                        &(LoomOptimStep){ .n_states = G_N_ELEMENTS (states), .states = states });
}

const LoomOptimizer loom_optim_lion = {
  .name = "lion",
  .title = "Lion",
  .doc = "Steps by the sign of the momentum alone: half of Adam's memory, and a smaller learning rate.",
  .reference = "Chen et al. 2023, arXiv:2302.06675",
  .hyper = hyper,
  .emit = emit,
};
