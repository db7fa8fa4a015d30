/* Optimisers: a descriptor each (optim-<name>.c), emitting their step as primitives in region UPDATE. */
#pragma once

#include "engine/program/loom-program.h"

G_BEGIN_DECLS

typedef struct
{
  const char *name; /* PyTorch's: "lr", "weight_decay", "momentum", "beta1" … */
  double value;     /* default */
  double minimum, maximum;
  gboolean is_bool; /* nesterov, amsgrad: fixed when the program is built */
  const char *doc;
} LoomHyper;

typedef struct _LoomOptimizer LoomOptimizer;

/* What emit() works on: parameters of one group with gradients, already differentiated. */
typedef struct
{
  LoomProgram *p;
  const LoomOptimizer *optimizer;
  guint n;
  const int *slot;       /* parameters' slots */
  const LoomValue *grad; /* 0: no gradient, the parameter is left alone by the caller */
  const double *hyper;   /* values in the order of optimizer->hyper */
  const char *prefix;    /* scalar slots are named prefix + name: "" or "group1." */
  LoomValue grad_scale, finite, step;
} LoomOptimizerCall;

struct _LoomOptimizer
{
  const char *name, *title, *doc, *reference; /* "torch.optim.Adam" */
  const LoomHyper *hyper;                     /* ends with name NULL */
  void (*emit) (const LoomOptimizerCall *call);
};

const LoomOptimizer *const *loom_optimizers (void); /* NULL-terminated */
const LoomOptimizer *loom_optimizer (const char *name);

/* The whole update region: grad_stats over all gradients, the finite flag (1 when all gradients and the loss are
 * finite), clipping by global norm when clip_norm > 0 (torch.nn.utils.clip_grad_norm_: scale = min(1,
 * c / (norm + 1e-6)); c is the scalar slot "clip_norm"), step counter, and the optimiser's step. The step slot ("step",
 * i64) counts finished steps; it is committed step + 1. Outputs "grad_norm" and "finite" are declared. Hyper-parameters
 * become scalar slots. */
typedef struct
{
  const char *optimizer;
  const double *hyper; /* in the optimiser's order */
  double clip_norm;    /* 0: none */
  LoomValue loss;
} LoomUpdateOptions;

gboolean loom_emit_update (LoomProgram *p, const LoomUpdateOptions *options, guint n, const int *slot,
                           const LoomValue *grad, GError **error);

G_END_DECLS
