/* The descriptor of "none": there is no optimizer, and only the graph's assign nodes change weights. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = { { .name = NULL } };

static void
emit (const LoomOptimizerCall *call)
{
}

const LoomOptimizer loom_optim_none = {
  .name = "none",
  .title = "None",
  .doc = "Changes no weights; only the graph's assign nodes do.",
  .reference = "torch.Tensor.copy_",
  .hyper = hyper,
  .emit = emit,
  .takes_no_gradients = TRUE,
};
