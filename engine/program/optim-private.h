/* What the optimisers' files share: their descriptors and the helpers of loom-optimizer.c. */
#pragma once

#include "engine/program/loom-optimizer.h"
#include "engine/program/loom-prim.h"

G_BEGIN_DECLS

extern const LoomOptimizer loom_optim_sgd, loom_optim_adam, loom_optim_adamw;

/* A hyper-parameter's start value, and its scalar slot's value. */
double loom_optim_hyper (const LoomOptimizerCall *call, const char *name);
LoomValue loom_optim_scalar (const LoomOptimizerCall *call, const char *name);
/* The slot of a state tensor of parameter i; it begins with zeros. */
int loom_optim_state (const LoomOptimizerCall *call, const char *kind, guint i);
/* One step over all tensors, its results committed to parameters and states. */
void loom_optim_emit (const LoomOptimizerCall *call, const char *prim, const void *attrs, guint n_states,
                      const char *const *states, guint n_scalars, const LoomValue *scalars);

G_END_DECLS
