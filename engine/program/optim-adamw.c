/* AdamW: Adam whose weight decay shrinks the weights directly, as torch.optim.AdamW. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  { .name = "lr", .value = 0.001, .minimum = 0, .maximum = 1e6, .doc = "Learning rate: the length of a step." },
  { .name = "beta1", .value = 0.9, .minimum = 0, .maximum = 1, .doc = "Memory of the running mean of gradients." },
  { .name = "beta2",
    .value = 0.999,
    .minimum = 0,
    .maximum = 1,
    .doc = "Memory of the running mean of their squares." },
  { .name = "eps", .value = 1e-8, .minimum = 0, .maximum = 1, .doc = "Keeps the division away from zero." },
  { .name = "weight_decay",
    .value = 0.01,
    .minimum = 0,
    .maximum = 1e6,
    .doc = "Shrinks weights by lr times this at each step." },
  { .name = "amsgrad",
    .value = 0,
    .minimum = 0,
    .maximum = 1,
    .is_bool = TRUE,
    .doc = "Divides by the largest second moment so far." },
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
  static const char *const states[] = { "exp_avg", "exp_avg_sq", "max_exp_avg_sq" };
  LoomAdamAttrs attrs = { .n = (int)call->n,
                          .decoupled = TRUE,
                          .amsgrad = loom_optim_hyper (call, "amsgrad") != 0,
                          .maximize = loom_optim_hyper (call, "maximize") != 0 };
  LoomValue scalars[] = { loom_optim_scalar (call, "lr"),
                          loom_optim_scalar (call, "beta1"),
                          loom_optim_scalar (call, "beta2"),
                          loom_optim_scalar (call, "eps"),
                          loom_optim_scalar (call, "weight_decay"),
                          call->grad_scale,
                          call->finite,
                          call->step };

  loom_optim_emit (call, "adam_step", &attrs, attrs.amsgrad ? 3 : 2, states, G_N_ELEMENTS (scalars), scalars);
}

const LoomOptimizer loom_optim_adamw = {
  .name = "adamw",
  .title = "AdamW",
  .doc = "Adam with weight decay kept apart from the gradient.",
  .reference = "torch.optim.AdamW",
  .hyper = hyper,
  .emit = emit,
};
