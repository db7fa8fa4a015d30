/* The descriptor of Adamax: Adam with a running maximum of the gradient instead of the root of squares, as
 * torch.optim.Adamax. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (0.002),
  LOOM_HYPER_BETA1,
  LOOM_HYPER_BETA2 (0.999, "The decay of the largest gradient."),
  LOOM_HYPER_EPS (1e-8),
  LOOM_HYPER_WEIGHT_DECAY (0, LOOM_DECAY_BY_GRADIENT),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

static void
emit (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "exp_avg", "exp_inf" };

  loom_optim_emit_step (call, (LoomStepAttrs){ .kind = LOOM_STEP_ADAMAX },
                        &(LoomOptimStep){ .n_states = G_N_ELEMENTS (states), .states = states });
}

const LoomOptimizer loom_optim_adamax = {
  .name = "adamax",
  .title = "Adamax",
  .doc = "Adam that divides by the largest recent gradient, which outliers disturb less.",
  .reference = "torch.optim.Adamax",
  .hyper = hyper,
  .emit = emit,
};
