/* Optimizers: one descriptor each (optim-<name>.c), which emits its step as primitives in region UPDATE. The header
 * also declares the emitters of the whole update (program-update.c): statistics of gradients, clipping, accumulation
 * over micro-batches, and averages of weights. */
#pragma once

#include "engine/program/loom-program.h"

G_BEGIN_DECLS

typedef struct
{
  const char *name; /* PyTorch's: "lr", "weight_decay", "momentum", "beta1" … */
  double value;     /* default */
  double minimum, maximum;
  gboolean is_bool;           /* nesterov, amsgrad: fixed when the program is built */
  gboolean is_fixed;          /* a number that is fixed then, too */
  gboolean is_integer;        /* an integer, such as a number of steps */
  const char *const *choices; /* fixed: the value is an index into this list; NULL: a number */
  const char
      *needs; /* the hyper-parameter without which this one has no effect: if that starts at 0, this one is fixed,
                 because there is no momentum buffer for a later change, and an is_bool one is refused. NULL: none */
  const char *doc;
} LoomHyper;

typedef struct _LoomOptimizer LoomOptimizer;

/* The arguments of emit(): parameters of one group with their gradients. */
typedef struct
{
  LoomProgram *p;
  const LoomOptimizer *optimizer;
  guint n;
  const int *slot;       /* the parameters' slots */
  const LoomValue *grad; /* 0: no gradient; the caller leaves the parameter alone */
  const double *hyper;   /* values in the order of optimizer->hyper */
  const char *prefix;    /* of the names of the group's own scalar slots: "" or "group1." */
  guint64 own;           /* bit k: hyper[k] is the group's own, not shared by all parameters */
  LoomValue grad_scale, finite, step;
} LoomOptimizerCall;

struct _LoomOptimizer
{
  const char *name, *title, *doc, *reference; /* "torch.optim.Adam" */
  const LoomHyper *hyper;                     /* ends with name NULL */
  /* NULL if the step cannot be part of a program because it evaluates the loss a variable number of times (lbfgs,
   * newton): then engine/train drives it. */
  void (*emit) (const LoomOptimizerCall *call);
  gboolean takes_no_gradients; /* weights change only by assign nodes ("none") */
};

const LoomOptimizer *const *loom_optimizers (void); /* NULL-terminated */
const LoomOptimizer *loom_optimizer (const char *name);
/* The index of a hyper-parameter, or -1. */
int loom_optimizer_find (const LoomOptimizer *optimizer, const char *name);
/* TRUE if hyper[k] may change during training: then it is a scalar slot. */
gboolean loom_optimizer_is_live (const LoomOptimizer *optimizer, const double *hyper, guint k);

/* Parameters with their own hyper-parameters. */
typedef struct
{
  const char *prefix;  /* "group1.": of the names of its scalar slots */
  guint64 own;         /* bit k: hyper[k] differs from the others' */
  const double *hyper; /* all, in the optimizer's order */
} LoomUpdateGroup;

/* Outputs of a step that ends with update_gate: 1 if it wrote anything, and 1 if no fault was raised. */
#define LOOM_OUTPUT_STEP_WRITES "go"
#define LOOM_OUTPUT_NO_FAULT    "sound"

/* Emits the whole update region: grad_stats over all gradients, the finite flag (1 if all gradients and the loss are
 * finite), the gate that must pass before a step writes, clipping, the step counter, and the optimizer's step. Clipping
 * by value (torch.nn.utils.clip_grad_value_: each element to -c … c, scalar slot "clip_value") precedes clipping by the
 * norm of all gradients (clip_grad_norm_: scale = min(1, c / (norm + 1e-6)), slot "clip_norm"). The slot "step" (i64)
 * counts finished steps. Declares the outputs "grad_norm" (before clipping), "finite" and those of the gate. Non-finite
 * gradients are a fault unless the program has a loss scale that can still shrink. Hyper-parameters become scalar
 * slots. */
typedef struct
{
  const char *optimizer;
  const double *hyper;          /* in the optimizer's order */
  double clip_norm, clip_value; /* 0: none */
  LoomValue loss;
  const char *state_device; /* holds the optimizer's states and runs its step; NULL: the parameters' device */
  const LoomUpdateGroup *groups;
  const guint *group_of; /* by parameter: 0 for none, else 1 + its index in groups; NULL: no parameter has a group */
} LoomUpdateOptions;

gboolean loom_emit_update (LoomProgram *p, const LoomUpdateOptions *options, guint n, const int *slot,
                           const LoomValue *grad, GError **error);

/* Emits instead what a driven step needs: outputs "grad_norm", "finite" and "gradient.PARAMETER" for each unclipped
 * gradient, and the optimizer's numbers as scalar slots. The driver handles non-finite numbers and the step slot. State
 * that the forward pass updates is guarded as above. */
void loom_emit_gradients (LoomProgram *p, const LoomOptimizer *optimizer, const double *hyper, LoomValue loss, guint n,
                          const int *slot, const LoomValue *grad);

/* Prefixes of slots of kind OPTIMIZER with the shape of a parameter. Accumulated gradients are valid only within a step
 * and are not saved. */
#define LOOM_SLOT_ACCUMULATE "optimizer.accumulate."
#define LOOM_SLOT_EMA        "optimizer.ema."
/* Prefixes of the state that nodes carry from batch to batch (LoomCarry): of training, and of an evaluation, which is
 * not saved. A step that is not finite leaves the first unchanged. */
#define LOOM_SLOT_CARRY          "optimizer.carry."
#define LOOM_SLOT_CARRY_EVALUATE "evaluate.carry."

/* Prefix of the scalars of a micro-batch. */
#define LOOM_SCALAR_ACCUMULATE "accumulate_"

/* Gradients of one term of the loss. */
typedef struct
{
  guint n;
  const int *slot;
  const LoomValue *grad;
  LoomValue count; /* the divisor of the term once all micro-batches are complete; 0: the gradients are of a mean over
                      samples */
} LoomAccumulate;

/* Emits the update of a micro-batch. Gradients of term t are added to the slots of loom_accumulate_slot(): those of a
 * mean over samples times the scalar "accumulate_weight" (the micro-batch's fraction of the step's samples), those of a
 * sum unscaled, with the count added to a scalar slot. If the scalar "accumulate_first" is not 0, all slots are taken
 * for 0. Declares "grad_norm" and "finite" of this micro-batch, and guards state that the forward pass updates as
 * above. The update is a separate program, whose gradients are loom_accumulated_gradients(). */
void loom_emit_accumulate (LoomProgram *p, LoomValue loss, guint n_terms, const LoomAccumulate *terms);
/* The gradients in the slots of `from`, a program that accumulates, after the last micro-batch of a step, as values of
 * p: arrays of int (slots of p) and of LoomValue. */
void loom_accumulated_gradients (LoomProgram *p, const LoomProgram *from, GArray *slots, GArray *grads);

/* Call after loom_emit_update(). Emits the moving average of every parameter that the program changes, as
 * torch.optim.swa_utils.get_ema_multi_avg_fn: the first step copies, each further one moves it by (1 - decay) of the
 * difference. A step that is not finite leaves it unchanged. */
void loom_emit_average (LoomProgram *p, double decay);

G_END_DECLS
