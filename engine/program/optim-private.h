/* What the optimisers' files share: their descriptors and the helpers of loom-optimizer.c. */
#pragma once

#include "engine/program/loom-optimizer.h"
#include "engine/program/loom-prim.h"

G_BEGIN_DECLS

extern const LoomOptimizer loom_optim_sgd, loom_optim_adam, loom_optim_adamw;

/* ---- hyper-parameters that several have ------------------------------- */

/* clang-format off */
#define LOOM_HYPER_LR                                                                                     \
  { .name = "lr", .value = 0.001, .minimum = 0, .maximum = 1e6,                                           \
    .doc = "Learning rate: the length of a step." }
#define LOOM_HYPER_WEIGHT_DECAY(start, text)                                                              \
  { .name = "weight_decay", .value = start, .minimum = 0, .maximum = 1e6, .doc = text }
#define LOOM_HYPER_FLAG(flag, text)                                                                       \
  { .name = flag, .value = 0, .minimum = 0, .maximum = 1, .is_bool = TRUE, .doc = text }
#define LOOM_HYPER_MAXIMIZE LOOM_HYPER_FLAG ("maximize", "Climbs instead of descending.")
#define LOOM_DECAY_BY_GRADIENT "Pulls weights to zero: this times the weight joins the gradient."

/* Adam's whole table; AdamW's differs in its decay. */
#define LOOM_HYPER_ADAM(decay, decay_text)                                                                \
  {                                                                                                       \
    LOOM_HYPER_LR,                                                                                        \
    { .name = "beta1", .value = 0.9, .minimum = 0, .maximum = 1,                                          \
      .doc = "Memory of the running mean of gradients." },                                                \
    { .name = "beta2", .value = 0.999, .minimum = 0, .maximum = 1,                                        \
      .doc = "Memory of the running mean of their squares." },                                            \
    { .name = "eps", .value = 1e-8, .minimum = 0, .maximum = 1, .doc = "Keeps the division away from zero." }, \
    LOOM_HYPER_WEIGHT_DECAY (decay, decay_text),                                                          \
    LOOM_HYPER_FLAG ("amsgrad", "Divides by the largest second moment so far."),                          \
    LOOM_HYPER_MAXIMIZE,                                                                                  \
    { .name = NULL },                                                                                     \
  }
/* clang-format on */

/* ---- emitting --------------------------------------------------------- */

/* A hyper-parameter's start value. */
double loom_optim_hyper (const LoomOptimizerCall *call, const char *name);
/* One step over all tensors, its results committed to parameters and states, which begin with zeros. The hyper-
 * parameters that are numbers become scalar slots and the primitive's operands, in the table's order, and after them
 * the gradients' scale, the finite flag and the step. */
void loom_optim_emit (const LoomOptimizerCall *call, const char *prim, const void *attrs, guint n_states,
                      const char *const *states);
/* The step of Adam (optim-adam.c); decoupled: the decay stays apart from the gradient, as AdamW has it. */
void loom_optim_emit_adam (const LoomOptimizerCall *call, gboolean decoupled);

G_END_DECLS
