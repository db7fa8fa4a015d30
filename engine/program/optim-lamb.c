/* The descriptor of LAMB: Adam with a step length from the tensor's norm, for large batches (You et al. 2020). */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (0.001),
  LOOM_HYPER_BETA1,
  LOOM_HYPER_BETA2 (0.999, LOOM_OF_SQUARES),
  LOOM_HYPER_EPS (1e-6),
  LOOM_HYPER_WEIGHT_DECAY (0, "This times the weight is added to the step before its length is set."),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

static void
emit (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "exp_avg", "exp_avg_sq" };

  loom_optim_emit_step (call, (LoomStepAttrs){ .kind = LOOM_STEP_LAMB },
                        &(LoomOptimStep){ .n_states = G_N_ELEMENTS (states), .states = states });
}

const LoomOptimizer loom_optim_lamb = {
  .name = "lamb",
  .title = "LAMB",
  .doc = "Scales Adam's step of each tensor to the norm of its weights: for very large batches.",
  .reference = "You et al. 2020, arXiv:1904.00962",
  .hyper = hyper,
  .emit = emit,
};
