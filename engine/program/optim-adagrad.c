/* The descriptor of Adagrad: steps divided by the root of the sum of squared gradients, as torch.optim.Adagrad. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (0.01),
  { LOOM_HYPER_NUMBER ("lr_decay", 0, 0, 1e6), .doc = "Divides the learning rate by 1 + this times the steps done." },
  LOOM_HYPER_WEIGHT_DECAY (0, LOOM_DECAY_BY_GRADIENT),
  { LOOM_HYPER_NUMBER ("initial_accumulator_value", 0, 0, 1e6), .is_fixed = TRUE,
    .doc = "The initial value of the sums of squares." },
  LOOM_HYPER_EPS (1e-10),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

static void
emit (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "sum" };

  loom_optim_emit_step (call, (LoomStepAttrs){ .kind = LOOM_STEP_ADAGRAD },
                        &(LoomOptimStep){ .n_states = G_N_ELEMENTS (states),
                                          .states = states,
                                          .start = loom_optim_hyper (call, "initial_accumulator_value") });
}

const LoomOptimizer loom_optim_adagrad = {
  .name = "adagrad",
  .title = "Adagrad",
  .doc = "Takes longer steps for weights that rarely get a gradient than for those that often do.",
  .reference = "torch.optim.Adagrad",
  .hyper = hyper,
  .emit = emit,
};
