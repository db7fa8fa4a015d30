/* The descriptor of Rprop: a step size for each weight, from the signs of its gradients alone, as torch.optim.Rprop.
 * The step is emitted as element-wise instructions, which the planner fuses. */
#include "engine/program/optim-private.h"
#include "engine/program/prim-private.h"

/* Indices of hyper-parameters in the table below. */
enum
{
  LR,
  ETAMINUS,
  ETAPLUS,
  STEP_SIZE_MIN,
  STEP_SIZE_MAX
};

static const LoomHyper hyper[] = {
  [LR] = { LOOM_HYPER_NUMBER ("lr", 0.01, 0, 1e6),
           .doc = "The step size of every weight at the first step; later steps do not read it." },
  [ETAMINUS] = { LOOM_HYPER_NUMBER ("etaminus", 0.5, 1e-9, 1), .list = "etas",
                 .doc = "The factor of a step size after the gradient changes its sign." },
  [ETAPLUS] = { LOOM_HYPER_NUMBER ("etaplus", 1.2, 1, 1e6), .list = "etas",
                .doc = "The factor of a step size while the gradient keeps its sign." },
  [STEP_SIZE_MIN]
  = { LOOM_HYPER_NUMBER ("step_size_min", 1e-6, 0, 1e6), .list = "step_sizes", .doc = "The smallest step size." },
  [STEP_SIZE_MAX]
  = { LOOM_HYPER_NUMBER ("step_size_max", 50, 0, 1e6), .list = "step_sizes", .doc = "The largest step size." },
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

#define CALC(op, a, b)     loom_binary (p, LOOM_SCALAR_##op, a, b)
#define SELECT(when, a, b) loom_ternary (p, LOOM_SCALAR_SELECT, when, a, b)

static void
emit_one (const LoomOptimizerCall *call, guint i)
{
  LoomProgram *p = call->p;
  LoomValue old = loom_program_read (p, call->slot[i]), grad = loom_optim_gradient (call, i);
  const LoomTensorDesc d = *value_desc (p, old);
  const int prev = loom_optim_state (call, "prev", i, d.rank, d.dim, 0);
  const int size = loom_optim_state (call, "step_size", i, d.rank, d.dim, 0);
  LoomValue zero = loom_const (p, d.dtype, 0), one = loom_const (p, d.dtype, 1), product, factor, now, first;

#define HYPER(k) loom_cast (p, loom_optim_scalar (call, k), d.dtype)
  product = CALC (MUL, grad, loom_program_read (p, prev));
  factor = SELECT (CALC (GT, product, zero), HYPER (ETAPLUS), SELECT (CALC (LT, product, zero), HYPER (ETAMINUS), one));
  first = CALC (EQ, loom_cast (p, call->step, d.dtype), one);
  now = CALC (MUL, SELECT (first, HYPER (LR), loom_program_read (p, size)), factor);
  now = CALC (MIN, CALC (MAX, now, HYPER (STEP_SIZE_MIN)), HYPER (STEP_SIZE_MAX));
#undef HYPER
  /* After a change of sign the weight stays, and the next step compares with nothing. */
  grad = SELECT (CALC (LT, product, zero), zero, grad);
  loom_optim_commit (call, prev, grad);
  loom_optim_commit (call, size, now);
  loom_optim_commit (call, call->slot[i], CALC (SUB, old, CALC (MUL, loom_unary (p, LOOM_SCALAR_SIGN, grad), now)));
}

static void
emit (const LoomOptimizerCall *call)
{
  for (guint i = 0; i < call->n; i++)
    emit_one (call, i);
}

const LoomOptimizer loom_optim_rprop = {
  .name = "rprop",
  .title = "Rprop",
  .doc = "Steps by the signs of gradients, with a step size for each weight. For one batch of all samples.",
  .reference = "torch.optim.Rprop",
  .hyper = hyper,
  .emit = emit,
};
