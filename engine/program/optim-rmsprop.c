/* The descriptor of RMSprop: steps divided by the running root of squared gradients, as torch.optim.RMSprop. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (0.01),
  { LOOM_HYPER_NUMBER ("alpha", 0.99, 0, 1), .doc = LOOM_OF_SQUARES },
  LOOM_HYPER_EPS (1e-8),
  LOOM_HYPER_WEIGHT_DECAY (0, LOOM_DECAY_BY_GRADIENT),
  LOOM_HYPER_MOMENTUM (0),
  LOOM_HYPER_FLAG ("centered", "If true, gradients are divided by their standard deviation instead of their root mean "
                               "square."),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

static void
emit (const LoomOptimizerCall *call)
{
  gboolean momentum = loom_optim_hyper (call, "momentum") != 0, centered = loom_optim_hyper (call, "centered") != 0;
  const char *states[3] = { "square_avg" };
  guint n = 1;

  if (momentum)
    states[n++] = "momentum_buffer";
  if (centered)
    states[n++] = "grad_avg";
  loom_optim_emit_step (call, (LoomStepAttrs){ .kind = LOOM_STEP_RMSPROP, .momentum = momentum, .centered = centered },
                        &(LoomOptimStep){ .n_states = n, .states = states });
}

const LoomOptimizer loom_optim_rmsprop = {
  .name = "rmsprop",
  .title = "RMSprop",
  .doc = "Divides each weight's step by the root of its recent squared gradients.",
  .reference = "torch.optim.RMSprop",
  .hyper = hyper,
  .emit = emit,
};
