/* Optimisers: a descriptor each (optim-<name>.c), emitting their step as primitives in region UPDATE. */
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
  gboolean is_integer;        /* a number of things */
  const char *const *choices; /* fixed: the place of a word in this list; NULL: a number */
  const char *needs; /* the hyper-parameter that must not begin with 0, or this one is fixed: without momentum there is
                      * no buffer that a momentum set later could use. What is_bool is refused then. NULL: none */
  const char *doc;
} LoomHyper;

typedef struct _LoomOptimizer LoomOptimizer;

/* The operands of emit(): parameters of one group with gradients, already differentiated. */
typedef struct
{
  LoomProgram *p;
  const LoomOptimizer *optimizer;
  guint n;
  const int *slot;       /* parameters' slots */
  const LoomValue *grad; /* 0: no gradient, the parameter is left alone by the caller */
  const double *hyper;   /* values in the order of optimizer->hyper */
  const char *prefix;    /* the group's own scalar slots are named prefix + name: "" or "group1." */
  guint64 own;           /* bit k: hyper[k] is the group's own; others are those of all parameters */
  LoomValue grad_scale, finite, step;
} LoomOptimizerCall;

struct _LoomOptimizer
{
  const char *name, *title, *doc, *reference; /* "torch.optim.Adam" */
  const LoomHyper *hyper;                     /* ends with name NULL */
  /* NULL where the step is no part of a program, because it evaluates the loss as often as it likes (lbfgs, newton):
   * then engine/train drives it from outside. */
  void (*emit) (const LoomOptimizerCall *call);
  gboolean takes_no_gradients; /* weights change by other means ("none": the graph assigns to them) */
};

const LoomOptimizer *const *loom_optimizers (void); /* NULL-terminated */
const LoomOptimizer *loom_optimizer (const char *name);
/* The index of a hyper-parameter, -1 where there is none. */
int loom_optimizer_find (const LoomOptimizer *optimizer, const char *name);
/* TRUE if hyper[k] may change while it trains: then it is a scalar slot. */
gboolean loom_optimizer_is_live (const LoomOptimizer *optimizer, const double *hyper, guint k);

/* Parameters with hyper-parameters of their own. */
typedef struct
{
  const char *prefix;  /* "group1.": of its scalar slots */
  guint64 own;         /* bit k: hyper[k] differs from the others' */
  const double *hyper; /* all, in the optimiser's order */
} LoomUpdateGroup;

/* Outputs of a step that ends with update_gate: 1 where it wrote anything, and where no fault was raised. */
#define LOOM_OUTPUT_GO    "go"
#define LOOM_OUTPUT_SOUND "sound"

/* The whole update region: grad_stats over all gradients, the finite flag (1 when all gradients and the loss are
 * finite), the gate behind which a step writes, clipping, step counter, and the optimiser's step. Clipping by value
 * (torch.nn.utils.clip_grad_value_: each element to -c … c, the scalar slot "clip_value") comes before clipping by the
 * norm of all gradients together (clip_grad_norm_: scale = min(1, c / (norm + 1e-6)), slot "clip_norm"). The step slot
 * ("step", i64) counts finished steps; it is committed step + 1. Outputs "grad_norm" (before clipping), "finite" and
 * the gate's are declared. Gradients that are not finite are a fault, but for a program with a loss scale that can
 * still shrink. Hyper-parameters become scalar slots. */
typedef struct
{
  const char *optimizer;
  const double *hyper;          /* in the optimiser's order */
  double clip_norm, clip_value; /* 0: none */
  LoomValue loss;
  const char *state_device; /* has the optimiser's states and makes its step; NULL: where the parameters are */
  const LoomUpdateGroup *groups;
  const guint *group_of; /* of each parameter: 0 for none, else 1 + its place in groups; NULL: none has one */
} LoomUpdateOptions;

gboolean loom_emit_update (LoomProgram *p, const LoomUpdateOptions *options, guint n, const int *slot,
                           const LoomValue *grad, GError **error);

/* Outputs that a step from outside needs instead: "grad_norm", "finite" and each gradient as the output
 * "gradient.PARAMETER", unclipped, and the optimiser's numbers as scalar slots. Numbers that are not finite are the
 * driver's to judge. What the forward pass remembers is guarded as above; the step slot is left to the driver. */
void loom_emit_gradients (LoomProgram *p, const LoomOptimizer *optimizer, const double *hyper, LoomValue loss, guint n,
                          const int *slot, const LoomValue *grad);

/* Slots of the two below: OPTIMIZER ones, an element for each of a parameter's. What is accumulated means nothing
 * between two steps, and is not kept. */
#define LOOM_SLOT_ACCUMULATE "optimizer.accumulate."
#define LOOM_SLOT_EMA        "optimizer.ema."
/* Prefixes of what nodes carry from batch to batch (LoomCarry): of training, and of an evaluation, which is not kept. A
 * step that is not finite leaves the first alone. */
#define LOOM_SLOT_CARRY          "optimizer.carry."
#define LOOM_SLOT_CARRY_EVALUATE "evaluate.carry."

/* Prefix of the scalars of a batch that is only a part of a step. */
#define LOOM_SCALAR_ACCUMULATE "accumulate_"

/* Gradients of one term of the loss. */
typedef struct
{
  guint n;
  const int *slot;
  const LoomValue *grad;
  LoomValue
      count; /* what the term is divided by once all batches are there; 0: the gradients are of a mean over samples
              */
} LoomAccumulate;

/* The update of a batch that is only a part of a step. Gradients of term t are added to the slots that
 * loom_accumulate_slot() names: those of a mean over samples times the scalar "accumulate_weight" (the batch's share of
 * the step's samples), those of a sum as they are, with the count added to a scalar slot. All are taken for 0 where the
 * scalar "accumulate_first" is not 0. "grad_norm" and "finite" of this batch are declared, and what the forward pass
 * remembers is guarded as above. The update is a program of its own, whose gradients are
 * loom_accumulated_gradients(). */
void loom_emit_accumulate (LoomProgram *p, LoomValue loss, guint n_terms, const LoomAccumulate *terms);
/* The gradients that the slots of `from`, a program that accumulates, have after the last batch of a step, as values of
 * p: arrays of int (slots of p) and of LoomValue. */
void loom_accumulated_gradients (LoomProgram *p, const LoomProgram *from, GArray *slots, GArray *grads);

/* After loom_emit_update: the moving average of every parameter that the program changes, torch.optim.swa_utils.
 * get_ema_multi_avg_fn: the first step copies, each further one moves it by (1 - decay) of the way. A step that is not
 * finite leaves it alone. */
void loom_emit_average (LoomProgram *p, double decay);

G_END_DECLS
