/* The internal header of the optimizers: their descriptors, the hyper-parameters that several of them have, and the
 * helpers of loom-optimizer.c that emit a step. */
#pragma once

#include "engine/core/loom-range.h"
#include "engine/program/loom-optimizer.h"
#include "engine/program/loom-prim.h"

extern const LoomOptimizer loom_optim_sgd, loom_optim_adam, loom_optim_adamw, loom_optim_rmsprop, loom_optim_adagrad,
    loom_optim_adadelta, loom_optim_nadam, loom_optim_adamax, loom_optim_radam, loom_optim_lion, loom_optim_lamb,
    loom_optim_lars, loom_optim_lbfgs, loom_optim_newton, loom_optim_none, loom_optim_muon, loom_optim_adafactor,
    loom_optim_rprop, loom_optim_asgd;

/* ---- hyper-parameters of several optimizers ---------------------------- */

/* The first fields of a row: its name, its value without an attribute, and its bounds, both included. */
#define LOOM_HYPER_NUMBER(NAME, VALUE, LOW, HIGH) .name = NAME, .value = VALUE, LOOM_RANGE (LOW, HIGH)

/* clang-format off */
#define LOOM_HYPER_LR_OF(start)                                                                           \
  { LOOM_HYPER_NUMBER ("lr", start, 0, 1e6),                                                              \
    .doc = "Learning rate: the length of a step." }
#define LOOM_HYPER_LR LOOM_HYPER_LR_OF (0.001)
#define LOOM_HYPER_EPS(start)                                                                             \
  { LOOM_HYPER_NUMBER ("eps", start, 0, 1),                                                               \
    .doc = "Added to the denominator, for numerical stability." }
#define LOOM_HYPER_BETA1                                                                                  \
  { LOOM_HYPER_NUMBER ("beta1", 0.9, 0, 1), .list = "betas",                                              \
    .doc = "The decay of the running mean of gradients." }
#define LOOM_HYPER_BETA2(start, text)                                                                     \
  { LOOM_HYPER_NUMBER ("beta2", start, 0, 1), .list = "betas", .doc = text }
#define LOOM_OF_SQUARES "The decay of the running mean of squared gradients."
#define LOOM_HYPER_MOMENTUM(start)                                                                        \
  { LOOM_HYPER_NUMBER ("momentum", start, 0, 1), .needs = "momentum",                                     \
    .doc = "The momentum: the factor of the previous step that is added to the next." }
#define LOOM_HYPER_WEIGHT_DECAY(start, text)                                                              \
  { LOOM_HYPER_NUMBER ("weight_decay", start, 0, 1e6), .doc = text }
#define LOOM_HYPER_FLAG(flag, text)                                                                       \
  { .name = flag, .value = 0, LOOM_RANGE (0, 1), .is_bool = TRUE, .doc = text }
#define LOOM_HYPER_MAXIMIZE LOOM_HYPER_FLAG ("maximize", "Maximises the loss instead of minimising it.")
#define LOOM_DECAY_BY_GRADIENT "L2 penalty: this times the weight is added to the gradient."

/* Adam's table; AdamW's has another weight decay. */
#define LOOM_HYPER_ADAM(decay, decay_text)                                                                \
  {                                                                                                       \
    LOOM_HYPER_LR,                                                                                        \
    LOOM_HYPER_BETA1,                                                                                     \
    LOOM_HYPER_BETA2 (0.999, LOOM_OF_SQUARES),                                                            \
    LOOM_HYPER_EPS (1e-8),                                                                                \
    LOOM_HYPER_WEIGHT_DECAY (decay, decay_text),                                                          \
    LOOM_HYPER_FLAG ("amsgrad", "Divides by the largest second moment so far."),                          \
    LOOM_HYPER_MAXIMIZE,                                                                                  \
    { .name = NULL },                                                                                     \
  }
/* clang-format on */

/* ---- emitting --------------------------------------------------------- */

/* The start value of a hyper-parameter. */
double loom_optim_hyper (const LoomOptimizerCall *call, const char *name);
/* The primitive of a step, and its state tensors for each parameter. */
typedef struct
{
  const char *prim;
  const void *attrs;
  guint n_states;
  const char *const *states;
  double start; /* initial value of the states */
  /* the step's scalar operands in place of the hyper-parameters; NULL: these */
  const LoomValue *scalar;
  guint n_scalars;
  guint n_extra;   /* number of scalars that the optimizer computes itself, at most 1 */
  LoomValue extra; /* that scalar */
} LoomOptimStep;

/* Emits one step over all tensors and commits its results to parameters and states. Its scalar operands are the numeric
 * hyper-parameters in the table's order (scalar slots if they may change), the extra scalar, the factor for gradients,
 * the finite flag and the step number. */
void loom_optim_emit (const LoomOptimizerCall *call, const LoomOptimStep *step);
/* Does the same for the steps of kernels/optim.h: fills in the number of tensors, maximize and
 * decoupled_weight_decay. */
void loom_optim_emit_step (const LoomOptimizerCall *call, LoomStepAttrs attrs, const LoomOptimStep *step);
/* The scalar slot of hyper-parameter k, or a constant if it is fixed. */
LoomValue loom_optim_scalar (const LoomOptimizerCall *call, guint k);
/* For a step that is emitted as several instructions: the slot of a state of parameter i with any shape. start: its
 * initial value. */
int loom_optim_state (const LoomOptimizerCall *call, const char *state, guint i, int rank, const gint64 *dims,
                      double start);
/* Commits a slot's next value if the step writes, else its old one. */
void loom_optim_commit (const LoomOptimizerCall *call, int slot, LoomValue next);
/* x if the step writes, else 0. A selection is not linear, so ranks that have parts of a sum exchange them first: what
 * follows, such as clipping or rounding, has the same bits whatever is sharded. */
LoomValue loom_optim_sum (const LoomOptimizerCall *call, LoomValue x);
/* The gradient of parameter i in the parameter's type, times the factor of clipping, and negated by maximize. */
LoomValue loom_optim_gradient (const LoomOptimizerCall *call, guint i);
/* The square root of the sum of squares of all elements, as a scalar. */
LoomValue loom_optim_norm (LoomProgram *p, LoomValue x);
/* Emits the step of Adam (optim-adam.c). decoupled: the decay is not added to the gradient, as in AdamW. */
void loom_optim_emit_adam (const LoomOptimizerCall *call, gboolean decoupled);
