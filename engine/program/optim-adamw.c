/* The descriptor of AdamW: Adam with weight decay applied to the weights directly, as torch.optim.AdamW. */
#include "engine/program/optim-private.h"

static const LoomHyper hyper[] = LOOM_HYPER_ADAM (0.01, "Shrinks weights by lr times this at each step.");

static void
emit (const LoomOptimizerCall *call)
{
  loom_optim_emit_adam (call, TRUE);
}

const LoomOptimizer loom_optim_adamw = {
  .name = "adamw",
  .title = "AdamW",
  .doc = "Adam with weight decay applied to the weights directly.",
  .reference = "torch.optim.AdamW",
  .hyper = hyper,
  .emit = emit,
};
