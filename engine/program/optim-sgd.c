/* The descriptor of stochastic gradient descent with momentum, as torch.optim.SGD. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR,
  LOOM_HYPER_MOMENTUM (0),
  { LOOM_HYPER_NUMBER ("dampening", 0, 0, 1), .needs = "momentum",
    .doc = "Dampening: the fraction of the gradient that is not added to the momentum." },
  LOOM_HYPER_WEIGHT_DECAY (0, LOOM_DECAY_BY_GRADIENT),
  { .name = "nesterov",
    LOOM_RANGE (0, 1),
    .is_bool = TRUE,
    .needs = "momentum",
    .doc = "If true, uses Nesterov momentum." },
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

static void
emit (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "momentum_buffer" };
  /* Without momentum there is no buffer, which saves a third of the memory traffic. */
  gboolean momentum = loom_optim_hyper (call, "momentum") != 0;
  LoomSgdAttrs attrs = { .n = (int)call->n,
                         .momentum = momentum,
                         .nesterov = momentum && loom_optim_hyper (call, "nesterov") != 0,
                         .maximize = loom_optim_hyper (call, "maximize") != 0 };

  loom_optim_emit (
      call, &(LoomOptimStep){ .prim = "sgd_step", .attrs = &attrs, .n_states = momentum ? 1 : 0, .states = states });
}

const LoomOptimizer loom_optim_sgd = {
  .name = "sgd",
  .title = "SGD",
  .doc = "Stochastic gradient descent, with optional momentum.",
  .reference = "torch.optim.SGD",
  .hyper = hyper,
  .emit = emit,
};
