/* The descriptor of LARS: momentum with a learning rate per tensor from its norms (You, Gitman and Ginsburg 2017). */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (0.1),
  { LOOM_HYPER_NUMBER ("momentum", 0.9, 0, 1),
    .doc = "The momentum: the factor of the previous step that is added to the next." },
  LOOM_HYPER_WEIGHT_DECAY (0, LOOM_DECAY_BY_GRADIENT),
  { LOOM_HYPER_NUMBER ("trust_coefficient", 0.001, 0, 1e6),
    .doc = "The length of a tensor's step relative to its weights' norm." },
  LOOM_HYPER_EPS (1e-8),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

static void
emit (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "momentum_buffer" };

  loom_optim_emit_step (call, (LoomStepAttrs){ .kind = LOOM_STEP_LARS },
                        &(LoomOptimStep){ .n_states = G_N_ELEMENTS (states), .states = states });
}

const LoomOptimizer loom_optim_lars = {
  .name = "lars",
  .title = "LARS",
  .doc = "Momentum with a step for each tensor in proportion to its weights' norm: for large batches.",
  .reference = "You, Gitman and Ginsburg 2017, arXiv:1708.03888",
  .hyper = hyper,
  .emit = emit,
};
