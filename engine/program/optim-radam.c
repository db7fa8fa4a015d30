/* The descriptor of RAdam: Adam that uses its second moment only once its variance is reliable, as
 * torch.optim.RAdam. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (0.001),
  LOOM_HYPER_BETA1,
  LOOM_HYPER_BETA2 (0.999, LOOM_OF_SQUARES),
  LOOM_HYPER_EPS (1e-8),
  LOOM_HYPER_WEIGHT_DECAY (0, LOOM_DECAY_BY_GRADIENT),
  LOOM_HYPER_FLAG ("decoupled_weight_decay", "If true, weight decay is applied to the weights directly, as in AdamW."),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

static void
emit (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "exp_avg", "exp_avg_sq" };

  loom_optim_emit_step (call, (LoomStepAttrs){ .kind = LOOM_STEP_RADAM },
                        &(LoomOptimStep){ .n_states = G_N_ELEMENTS (states), .states = states });
}

const LoomOptimizer loom_optim_radam = {
  .name = "radam",
  .title = "RAdam",
  .doc = "Adam with an automatic warm-up: plain momentum until the second moment is reliable.",
  .reference = "torch.optim.RAdam",
  .hyper = hyper,
  .emit = emit,
};
