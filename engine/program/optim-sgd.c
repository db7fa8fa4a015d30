/* Stochastic gradient descent with momentum, as torch.optim.SGD. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  { .name = "lr", .value = 0.001, .minimum = 0, .maximum = 1e6, .doc = "Learning rate: the length of a step." },
  { .name = "momentum", .value = 0, .minimum = 0, .maximum = 1, .doc = "How much of the last step goes on." },
  { .name = "dampening",
    .value = 0,
    .minimum = 0,
    .maximum = 1,
    .doc = "Keeps this share of the gradient out of the momentum." },
  { .name = "weight_decay",
    .value = 0,
    .minimum = 0,
    .maximum = 1e6,
    .doc = "Pulls weights to zero: this times the weight joins the gradient." },
  { .name = "nesterov",
    .value = 0,
    .minimum = 0,
    .maximum = 1,
    .is_bool = TRUE,
    .doc = "Looks one momentum step ahead." },
  { .name = "maximize",
    .value = 0,
    .minimum = 0,
    .maximum = 1,
    .is_bool = TRUE,
    .doc = "Climbs instead of descending." },
  { .name = NULL },
};

static void
emit (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "momentum_buffer" };
  /* Without momentum there is no buffer: a third of the memory traffic. */
  gboolean momentum = loom_optim_hyper (call, "momentum") != 0;
  LoomSgdAttrs attrs = { .n = (int)call->n,
                         .momentum = momentum,
                         .nesterov = momentum && loom_optim_hyper (call, "nesterov") != 0,
                         .maximize = loom_optim_hyper (call, "maximize") != 0 };
  LoomValue scalars[] = { loom_optim_scalar (call, "lr"),
                          loom_optim_scalar (call, "momentum"),
                          loom_optim_scalar (call, "dampening"),
                          loom_optim_scalar (call, "weight_decay"),
                          call->grad_scale,
                          call->finite,
                          call->step };

  loom_optim_emit (call, "sgd_step", &attrs, momentum ? 1 : 0, states, G_N_ELEMENTS (scalars), scalars);
}

const LoomOptimizer loom_optim_sgd = {
  .name = "sgd",
  .title = "SGD",
  .doc = "Steps against the gradient, with momentum if wanted.",
  .reference = "torch.optim.SGD",
  .hyper = hyper,
  .emit = emit,
};
