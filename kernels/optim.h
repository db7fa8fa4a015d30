/* Steps of optimisers, each written once for every back end.
 *
 * A step is element-wise except for coefficients common to all elements: bias corrections, decaying rates, products of
 * hyper-parameters. These are computed once a step in f64 (loom_rates_NAME below); the rest is a formula over one
 * element (optim-formulas.h), which ref, cpu and cuda put into their own loops. The prelude and signs are common as
 * well: d = scale·g + decay·p, and p is multiplied by shrink, so formulas contain neither clipping, nor maximize, nor
 * the kind of weight decay.
 *
 * SGD and Adam have attributes and kernels of their own, so their rates (loom_rates_sgd, loom_rates_adam) and formulas
 * are here without a line in the lists.
 *
 * To add an optimiser without norms: a line in LOOM_STEPS and in LOOM_STEP_FORMULAS, its rates below, its formula in
 * optim-formulas.h, its primitive in backend.h (with its states and scalars), cuda/cuda-internal.h and
 * cuda/cuda-table.c, and engine/program/optim-NAME.c with its name in optim-private.h, loom-optimizer.c and meson.build
 * there. tests/reference/optimisers.py compares it with PyTorch.
 *
 * Sources: rmsprop, adagrad, adadelta, nadam, adamax and radam are torch.optim's, operation by operation; lion is Chen
 * et al. 2023 (Symbolic Discovery of Optimization Algorithms, program 1); lamb is You et al. 2020 (Large Batch
 * Optimization for Deep Learning, algorithm 2, φ the identity); lars is You, Gitman and Ginsburg 2017 (Large Batch
 * Training of Convolutional Networks, algorithm 1). */
#ifndef LOOM_OPTIM_H
#define LOOM_OPTIM_H

#include <math.h>

#include "kernels/backend.h"

/* The declaration of a function of this header; cuda adds __device__. */
#ifndef LOOM_OPTIM_FN
#define LOOM_OPTIM_FN static inline __attribute__ ((unused))
#endif

/* X (name, float scalars before grad_scale): the primitives NAME_step, in the order of LoomStepKind. */
#define LOOM_STEPS(X)                                                                                                  \
  X (rmsprop, 5)                                                                                                       \
  X (adagrad, 4)                                                                                                       \
  X (adadelta, 4)                                                                                                      \
  X (nadam, 7)                                                                                                         \
  X (adamax, 5)                                                                                                        \
  X (radam, 5)                                                                                                         \
  X (lion, 4)                                                                                                          \
  X (lamb, 5)                                                                                                          \
  X (lars, 5)

/* X (formula, step whose rates it takes, states): formulas of one element. */
#define LOOM_STEP_FORMULAS(X)                                                                                          \
  X (rmsprop, rmsprop, 1)                                                                                              \
  X (rmsprop_momentum, rmsprop, 2)                                                                                     \
  X (rmsprop_centered, rmsprop, 2)                                                                                     \
  X (rmsprop_momentum_centered, rmsprop, 3)                                                                            \
  X (adagrad, adagrad, 1)                                                                                              \
  X (adadelta, adadelta, 2)                                                                                            \
  X (nadam, nadam, 2)                                                                                                  \
  X (adamax, adamax, 2)                                                                                                \
  X (radam, radam, 2)                                                                                                  \
  X (lion, lion, 1)

/* Formulas whose step length is scaled for each tensor by norms of the whole tensor: before the formula, NAME_measure
 * runs over every element, and the sums of squares of the weights and of its results determine a ratio, which
 * multiplies c[0]. */
#define LOOM_STEP_TRUSTS(X)                                                                                            \
  X (lamb, lamb, 2)                                                                                                    \
  X (lars, lars, 1)

enum
{
#define LOOM_STEP_ENUM(name, rates, states) LOOM_FORMULA_##name,
  LOOM_STEP_FORMULAS (LOOM_STEP_ENUM) LOOM_STEP_TRUSTS (LOOM_STEP_ENUM)
#undef LOOM_STEP_ENUM
      LOOM_N_FORMULAS,
  LOOM_FIRST_TRUST = LOOM_FORMULA_lamb
};

#define LOOM_STEP_MAX_SCALARS 8
#define LOOM_STEP_MAX_STATES  3

/* The formula for the attributes; rmsprop has one for each choice of states. */
static inline int
loom_step_formula (const LoomStepAttrs *a)
{
#define LOOM_STEP_FIRST(name, scalars) LOOM_FORMULA_##name,
  static const int first[LOOM_N_STEPS] = { LOOM_STEPS (LOOM_STEP_FIRST) };
#undef LOOM_STEP_FIRST
  return first[a->kind] + (a->momentum ? 1 : 0) + (a->centered ? 2 : 0);
}

static inline int
loom_step_states (const LoomStepAttrs *a)
{
#define LOOM_STEP_STATES(name, rates, states) states,
  static const int states[LOOM_N_FORMULAS]
      = { LOOM_STEP_FORMULAS (LOOM_STEP_STATES) LOOM_STEP_TRUSTS (LOOM_STEP_STATES) };
#undef LOOM_STEP_STATES
  return states[loom_step_formula (a)];
}

/* Float scalars before grad_scale, finite and step. */
static inline int
loom_step_scalars (const LoomStepAttrs *a)
{
#define LOOM_STEP_SCALARS(name, scalars) scalars,
  static const int count[LOOM_N_STEPS] = { LOOM_STEPS (LOOM_STEP_SCALARS) };
#undef LOOM_STEP_SCALARS
  return count[a->kind];
}

/* Values common to a step's elements. */
typedef struct
{
  double shrink, decay, scale;
  double c[8]; /* of the formula; c[0] is multiplied by the trust ratio */
} LoomStepRates;

/* ---- rates ------------------------------------------------------------
 *
 * h are the scalars in the order of the operands, step counts from 1. shrink, decay and scale are 1, 0 and the
 * gradients' signed scale on entry. */

/* lr, momentum, dampening, weight_decay. The buffer's first value is the gradient itself. */
LOOM_OPTIM_FN void
loom_rates_sgd (const LoomSgdAttrs *a, const double *h, double step, LoomStepRates *r)
{
  r->decay = h[3];
  r->c[0] = h[0];
  r->c[1] = step == 1 ? 0 : h[1];
  r->c[2] = step == 1 ? 1 : 1 - h[2];
  r->c[3] = a->nesterov ? 1 : 0;
  r->c[4] = a->nesterov ? h[1] : 1;
}

/* x to the power n ≥ 0, an integer, by squaring: the same bits on every device, and cheaper than pow(), which matters
 * in tiny models. */
LOOM_OPTIM_FN double
loom_power (double x, double n)
{
  double result = 1;

  for (int64_t left = (int64_t)n; left > 0; left >>= 1, x *= x)
    if (left & 1)
      result *= x;
  return result;
}

/* lr, beta1, beta2, eps, weight_decay. In f64, because 1 - beta2^step loses its digits in f32 at the first steps. */
LOOM_OPTIM_FN void
loom_rates_adam (const LoomAdamAttrs *a, const double *h, double step, LoomStepRates *r)
{
  if (a->decoupled)
    r->shrink = 1 - h[0] * h[4];
  else
    r->decay = h[4];
  r->c[0] = h[0] / (1 - loom_power (h[1], step));
  r->c[1] = h[1];
  r->c[2] = h[2];
  r->c[3] = 1 / sqrt (1 - loom_power (h[2], step));
  r->c[4] = h[3];
}

/* lr, alpha, eps, weight_decay, momentum */
LOOM_OPTIM_FN void
loom_rates_rmsprop (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r)
{
  r->decay = h[3];
  r->c[0] = h[0];
  r->c[1] = h[1];
  r->c[2] = h[2];
  r->c[3] = h[4];
}

/* lr, lr_decay, weight_decay, eps */
LOOM_OPTIM_FN void
loom_rates_adagrad (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r)
{
  r->decay = h[2];
  r->c[0] = h[0] / (1 + (step - 1) * h[1]);
  r->c[1] = h[3];
}

/* lr, rho, eps, weight_decay */
LOOM_OPTIM_FN void
loom_rates_adadelta (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r)
{
  r->decay = h[3];
  r->c[0] = h[0];
  r->c[1] = h[1];
  r->c[2] = h[2];
}

/* Weight decay as weight_decay·p in the gradient, or decoupled from it. */
LOOM_OPTIM_FN void
loom_rates_decay (const LoomStepAttrs *a, double lr, double decay, LoomStepRates *r)
{
  if (a->decoupled)
    r->shrink = 1 - lr * decay;
  else
    r->decay = decay;
}

/* lr, beta1, beta2, eps, weight_decay, momentum_decay, and the product of all mu including this step's. */
LOOM_OPTIM_FN void
loom_rates_nadam (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r)
{
  double mu = h[1] * (1 - 0.5 * pow (0.96, step * h[5]));
  double next = h[1] * (1 - 0.5 * pow (0.96, (step + 1) * h[5]));

  loom_rates_decay (a, h[0], h[4], r);
  r->c[0] = h[0] * (1 - mu) / (1 - h[6]);
  r->c[1] = h[0] * next / (1 - h[6] * next);
  r->c[2] = h[1];
  r->c[3] = h[2];
  r->c[4] = 1 / sqrt (1 - pow (h[2], step));
  r->c[5] = h[3];
}

/* lr, beta1, beta2, eps, weight_decay */
LOOM_OPTIM_FN void
loom_rates_adamax (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r)
{
  r->decay = h[4];
  r->c[0] = h[0] / (1 - pow (h[1], step));
  r->c[1] = h[1];
  r->c[2] = h[2];
  r->c[3] = h[3];
}

/* lr, beta1, beta2, eps, weight_decay. While the variance of the second moment cannot be estimated (rho ≤ 5), it does
 * not scale the step: then c[4] is 0. */
LOOM_OPTIM_FN void
loom_rates_radam (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r)
{
  double second = 1 - pow (h[2], step), end = 2 / (1 - h[2]) - 1;
  double rho = end - 2 * step * (1 - second) / second;

  loom_rates_decay (a, h[0], h[4], r);
  r->c[0] = h[0] / (1 - pow (h[1], step));
  r->c[1] = h[1];
  r->c[2] = h[2];
  r->c[3] = h[3];
  r->c[4] = rho > 5 ? sqrt (second * (rho - 4) * (rho - 2) * end / ((end - 4) * (end - 2) * rho)) : 0;
}

/* lr, beta1, beta2, weight_decay */
LOOM_OPTIM_FN void
loom_rates_lion (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r)
{
  r->shrink = 1 - h[0] * h[3];
  r->c[0] = h[0];
  r->c[1] = h[1];
  r->c[2] = h[2];
}

/* lr, beta1, beta2, eps, weight_decay */
LOOM_OPTIM_FN void
loom_rates_lamb (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r)
{
  r->c[0] = h[0];
  r->c[1] = h[1];
  r->c[2] = h[2];
  r->c[3] = h[3];
  r->c[4] = h[4];
  r->c[5] = 1 / (1 - pow (h[1], step));
  r->c[6] = 1 / sqrt (1 - pow (h[2], step));
}

/* lr, momentum, weight_decay, trust_coefficient, eps */
LOOM_OPTIM_FN void
loom_rates_lars (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r)
{
  r->decay = h[2];
  r->c[0] = h[0];
  r->c[1] = h[1];
  r->c[2] = h[3];
  r->c[3] = h[4];
  r->c[4] = h[2];
}

/* ---- trust ratios -----------------------------------------------------
 *
 * The ratio of the norm of a tensor's weights to that of the measured update; 1 if either is 0. */

LOOM_OPTIM_FN double
loom_trust_lamb (const LoomStepRates *r, double weight, double measured)
{
  return weight > 0 && measured > 0 ? weight / measured : 1;
}

LOOM_OPTIM_FN double
loom_trust_lars (const LoomStepRates *r, double weight, double measured)
{
  return weight > 0 && measured > 0 ? r->c[2] * weight / (measured + r->c[4] * weight + r->c[3]) : 1;
}

#endif
