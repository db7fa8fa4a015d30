/* The descriptor of Adafactor (Shazeer and Stern 2018, algorithms 4 and 5), as torch.optim.Adafactor.
 *
 * The second moments of a matrix are the product of a column (row_var) and a row (col_var), so states take
 * n + m numbers instead of n · m. The step needs sums over rows, columns and the whole tensor, so it is emitted as
 * ordinary instructions, which the planner fuses; if ranks have shards, gradients are gathered one tensor at a time. */
#include "engine/program/optim-private.h"
#include "engine/program/prim-private.h"

#include <float.h>
#include <math.h>

/* Indices of hyper-parameters in the table below. */
enum
{
  LR,
  BETA2_DECAY,
  EPS1,
  EPS2,
  D,
  WEIGHT_DECAY
};

static const LoomHyper hyper[] = {
  [LR] = LOOM_HYPER_LR_OF (0.01),
  [BETA2_DECAY] = { LOOM_HYPER_NUMBER ("beta2_decay", -0.8, -100, 0),
                    .doc = "The weight of a gradient in the second moments is the step to this power." },
  [EPS1] = { LOOM_HYPER_NUMBER ("eps1", 0, 0, 1), .is_fixed = TRUE, .list = "eps",
             .doc = "The least root of a second moment; 0: the epsilon of the weights' type." },
  [EPS2] = { LOOM_HYPER_NUMBER ("eps2", 1e-3, 0, 1e6), .list = "eps",
             .doc = "The least root mean square of the weights, by which the rate is multiplied." },
  [D] = { LOOM_HYPER_NUMBER ("d", 1, 1, 1e6),
          .doc = "The largest root mean square of a step before the rate; longer steps are scaled down." },
  [WEIGHT_DECAY]
  = LOOM_HYPER_WEIGHT_DECAY (0, "The weights shrink by lr times this at each step, apart from the gradient."),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

#define CALC(op, a, b) loom_binary (p, LOOM_SCALAR_##op, a, b)

/* Moves the state to the mean by the weight; returns and commits it. */
static LoomValue
average (const LoomOptimizerCall *call, int slot, LoomValue mean, LoomValue weight)
{
  LoomProgram *p = call->p;
  LoomValue old = loom_program_read (p, slot), next = CALC (ADD, old, CALC (MUL, weight, CALC (SUB, mean, old)));

  loom_optim_commit (call, slot, next);
  return next;
}

/* The mean of x along an axis, which becomes 1. */
static LoomValue
mean_along (LoomProgram *p, LoomValue x, int axis)
{
  const LoomTensorDesc d = *value_desc (p, x);

  return CALC (DIV, loom_reduce (p, LOOM_REDUCE_SUM, x, 1u << axis, TRUE),
               loom_const (p, d.dtype, (double)d.dim[axis]));
}

/* The estimated second moments of parameter i, which broadcast to its shape. */
static LoomValue
second_moments (const LoomOptimizerCall *call, guint i, LoomValue square, LoomValue weight, LoomValue least)
{
  LoomProgram *p = call->p;
  const LoomTensorDesc d = *value_desc (p, square);
  LoomTensorDesc row = d, col = d;

  if (d.rank < 2)
    return average (call, loom_optim_state (call, "variance", i, d.rank, d.dim, 0), square, weight);
  row.dim[d.rank - 1] = 1;
  col.dim[d.rank - 2] = 1;
  LoomValue rows = average (call, loom_optim_state (call, "row_var", i, row.rank, row.dim, 0),
                            mean_along (p, square, d.rank - 1), weight);
  LoomValue cols = average (call, loom_optim_state (call, "col_var", i, col.rank, col.dim, 0),
                            mean_along (p, square, d.rank - 2), weight);
  return CALC (DIV, CALC (MUL, rows, cols), CALC (MAX, mean_along (p, rows, d.rank - 2), least));
}

static void
emit_one (const LoomOptimizerCall *call, guint i)
{
  LoomProgram *p = call->p;
  LoomValue old = loom_program_read (p, call->slot[i]), grad = loom_optim_gradient (call, i);
  const LoomTensorDesc d = *value_desc (p, old);
  const double given = call->hyper[EPS1], eps = given > 0 ? given : d.dtype == LOOM_F64 ? DBL_EPSILON : FLT_EPSILON;
  LoomValue step = loom_cast (p, call->step, d.dtype), lr = loom_cast (p, loom_optim_scalar (call, LR), d.dtype);
  LoomValue root = loom_const (p, d.dtype, sqrt ((double)loom_desc_count (&d))), rate, shrunk, estimate, update;

#define HYPER(k) loom_cast (p, loom_optim_scalar (call, k), d.dtype)
  rate = CALC (MUL, CALC (MAX, HYPER (EPS2), CALC (DIV, loom_optim_norm (p, old), root)),
               CALC (MIN, lr, loom_unary (p, LOOM_SCALAR_RSQRT, step)));
  shrunk = CALC (SUB, old, CALC (MUL, old, CALC (MUL, lr, HYPER (WEIGHT_DECAY))));
  estimate = second_moments (call, i, loom_unary (p, LOOM_SCALAR_SQUARE, grad), CALC (POW, step, HYPER (BETA2_DECAY)),
                             loom_const (p, d.dtype, eps));
  update
      = CALC (MUL, grad, loom_unary (p, LOOM_SCALAR_RSQRT, CALC (MAX, estimate, loom_const (p, d.dtype, eps * eps))));
  rate = CALC (
      DIV, rate,
      CALC (MAX, loom_const (p, d.dtype, 1), CALC (DIV, loom_optim_norm (p, update), CALC (MUL, root, HYPER (D)))));
#undef HYPER
  loom_optim_commit (call, call->slot[i], CALC (SUB, shrunk, CALC (MUL, update, rate)));
}

static void
emit (const LoomOptimizerCall *call)
{
  for (guint i = 0; i < call->n; i++)
    emit_one (call, i);
}

const LoomOptimizer loom_optim_adafactor = {
  .name = "adafactor",
  .title = "Adafactor",
  .doc = "Steps divided by second moments that are kept as a row and a column of each matrix, which saves memory.",
  .reference = "torch.optim.Adafactor",
  .hyper = hyper,
  .emit = emit,
};
