/* The descriptor of Newton's method: its hyper-parameters only. It emits no step; engine/train/driver-newton.c computes
 * the Hessian and the step. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (1),
  { LOOM_HYPER_NUMBER ("damping", 0, 0, 1e12),
    .doc = "Added to the Hessian's diagonal; raised automatically while the Hessian is not positive definite." },
  { .name = NULL },
};

const LoomOptimizer loom_optim_newton = {
  .name = "newton",
  .title = "Newton",
  .doc = "Steps to the minimum of the loss's quadratic approximation. For a few hundred weights at most.",
  .reference = "Nocedal and Wright 2006, section 3.3",
  .hyper = hyper,
};
