/* Optimizers: one descriptor each (optim-<name>.c), which emits its step as primitives in region UPDATE. The header
 * also declares the emitters of the whole update (program-update.c): statistics of gradients, clipping, accumulation
 * over micro-batches, and averages of weights. */
#pragma once

#include "engine/program/loom-program.h"

typedef struct
{
  const char *name; /* PyTorch's: "lr", "weight_decay", "momentum", "beta1" … */
  double value;     /* default */
  double minimum, maximum;
  gboolean is_bool;    /* nesterov, amsgrad: fixed when the program is built */
  gboolean is_fixed;   /* a number that is fixed when the program is built */
  gboolean is_integer; /* an integer, such as a number of steps */
  const char *list;    /* the attribute with several hyper-parameters as a list, as in PyTorch ("betas"); or NULL */
  const char *const *choices; /* if not NULL, the value is an index into this list and is fixed */
  /* The hyper-parameter without which this one has no effect; NULL: none. If that one is 0 at the start, this one
   * is fixed (there is no momentum buffer for a later change), and an is_bool one is refused. */
  const char *needs;
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
  const LoomValue *grad; /* 0: there is no gradient, and the parameter is not changed */
  const double *hyper;   /* values in the order of optimizer->hyper */
  const char *prefix;    /* the prefix of the group's scalar slots: "" or "group1." */
  guint64 own;           /* bit k: hyper[k] belongs to the group and is not shared by all parameters */
  LoomValue grad_scale, finite, step;
} LoomOptimizerCall;

struct _LoomOptimizer
{
  const char *name, *title, *doc, *reference; /* "torch.optim.Adam" */
  const LoomHyper *hyper;                     /* ends with name NULL */
  /* Emits the step. NULL if the step cannot be part of a program, because it evaluates the loss a variable number of
   * times (lbfgs, newton); engine/train then computes it. */
  void (*emit) (const LoomOptimizerCall *call);
  gboolean takes_no_gradients; /* only assign nodes change weights ("none") */
};

const LoomOptimizer *const *loom_optimizers (void); /* NULL-terminated */
const LoomOptimizer *loom_optimizer (const char *name);
/* The index of a hyper-parameter, or −1. */
int loom_optimizer_find (const LoomOptimizer *optimizer, const char *name);
/* TRUE if hyper[k] may change during training; it is then a scalar slot. */
gboolean loom_optimizer_is_live (const LoomOptimizer *optimizer, const double *hyper, guint k);

/* Parameters with their own hyper-parameters. */
typedef struct
{
  const char *prefix;  /* the prefix of its scalar slots: "group1." */
  guint64 own;         /* bit k: hyper[k] differs from that of ungrouped parameters */
  const double *hyper; /* all hyper-parameters, in the optimizer's order */
} LoomUpdateGroup;

/* Outputs of a step that ends with update_gate: "go" is 1 if the step wrote its results, "sound" is 1 if no fault was
 * raised. */
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
  double clip_norm, clip_value; /* the limits; 0: no clipping */
  LoomValue loss;
  const char *state_device; /* where the optimizer's states are and its step runs; NULL: the parameters' device */
  const LoomUpdateGroup *groups;
  /* by parameter: 0 for no group, else 1 + the index in groups; NULL: no parameter has a group */
  const guint *group_of;
} LoomUpdateOptions;

gboolean loom_emit_update (LoomProgram *p, const LoomUpdateOptions *options, guint n, const int *slot,
                           const LoomValue *grad, GError **error);

/* For an optimizer whose step engine/train computes (emit is NULL): emits outputs "grad_norm", "finite" and
 * "gradient.PARAMETER" for each unclipped gradient, and the optimizer's hyper-parameters as scalar slots. The caller
 * handles non-finite numbers and the step slot. State that the forward pass updates is guarded as above. */
void loom_emit_gradients (LoomProgram *p, const LoomOptimizer *optimizer, const double *hyper, LoomValue loss, guint n,
                          const int *slot, const LoomValue *grad);

/* Prefixes of slots of kind OPTIMIZER with the shape of a parameter. Accumulated gradients are valid only within a step
 * and are not saved. */
#define LOOM_SLOT_ACCUMULATE "optimizer.accumulate."
#define LOOM_SLOT_EMA        "optimizer.ema."

/* Prefix of the scalars of a micro-batch. */
#define LOOM_SCALAR_ACCUMULATE "accumulate_"

/* Gradients of one term of the loss. */
typedef struct
{
  guint n;
  const int *slot;
  const LoomValue *grad;
  /* the divisor of the term's gradients after the last micro-batch; 0: they are gradients of a mean over samples */
  LoomValue count;
} LoomAccumulate;

/* Emits the update of a micro-batch, which adds its gradients to slots. Each term has a slot for each of its parameters
 * (loom_accumulated_parameter()). Gradients of a mean over samples are scaled by the scalar "accumulate_weight" (the
 * micro-batch's fraction of the step's samples). Gradients of a sum are added unscaled, and the count is added to a
 * scalar slot. If the scalar "accumulate_first" is not 0, the slots' old values are replaced by 0. Declares "grad_norm"
 * and "finite" of this micro-batch, and guards state that the forward pass updates as above. The update itself is a
 * separate program, which reads the gradients by loom_accumulated_gradients(). */
void loom_emit_accumulate (LoomProgram *p, LoomValue loss, guint n_terms, const LoomAccumulate *terms);
/* The parameter and the term of an accumulation slot; NULL if the slot is another one. */
const char *loom_accumulated_parameter (const LoomSlot *slot, guint *t);
/* Reads the accumulated gradients after the last micro-batch of a step. from: the program that accumulates. slots,
 * grads: receive int (slots of p) and LoomValue (of p). */
void loom_accumulated_gradients (LoomProgram *p, const LoomProgram *from, GArray *slots, GArray *grads);

/* Emits the moving average of every parameter that the program changes, as torch.optim.swa_utils.get_ema_multi_avg_fn:
 * the first step copies the parameter, each further step moves the average by (1 − decay) of the difference. A step
 * that is not finite leaves it unchanged. Call after loom_emit_update(). */
void loom_emit_average (LoomProgram *p, double decay);
