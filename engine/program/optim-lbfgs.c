/* The descriptor of L-BFGS, as torch.optim.LBFGS: its hyper-parameters only. It emits no step, because a step evaluates
 * the loss as often as the line search requires; engine/train/driver-lbfgs.c computes it. */
#include "engine/program/optim-private.h"

static const char *const searches[] = { "none", "strong_wolfe", NULL };

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (1),
  { LOOM_HYPER_NUMBER ("max_iter", 20, 1, 1e6), .is_fixed = TRUE, .is_integer = TRUE,
    .doc = "Iterations that one step may take." },
  { LOOM_HYPER_NUMBER ("max_eval", 0, 0, 1e9), .is_fixed = TRUE, .is_integer = TRUE,
    .doc = "Evaluations of the loss that one step may take; 0 means max_iter times 1.25." },
  { LOOM_HYPER_NUMBER ("tolerance_grad", 1e-7, 0, 1e6), .is_fixed = TRUE,
    .doc = "A step ends when no element of the gradient is larger." },
  { LOOM_HYPER_NUMBER ("tolerance_change", 1e-9, 0, 1e6), .is_fixed = TRUE,
    .doc = "A step ends when weights or loss change less." },
  { LOOM_HYPER_NUMBER ("history_size", 100, 1, 10000), .is_fixed = TRUE, .is_integer = TRUE,
    .doc = "The number of past steps that are kept; each needs twice the memory of all weights." },
  { .name = "line_search_fn",
    .value = 0,
    .is_fixed = TRUE,
    .choices = searches,
    .doc = "The length of a step: lr, or a line search with the strong Wolfe conditions." },
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

const LoomOptimizer loom_optim_lbfgs = {
  .name = "lbfgs",
  .title = "L-BFGS",
  .doc = "Estimates the loss's curvature from past gradients. For small problems and one batch of all samples.",
  .reference = "torch.optim.LBFGS",
  .hyper = hyper,
};
