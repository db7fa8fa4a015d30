/* The descriptor of averaged SGD: steps that become shorter, and an average of the weights, as torch.optim.ASGD.
 *
 * PyTorch computes the rate of a step, eta, at the end of the step before, from the learning rate of that time, so eta
 * is a state. It depends on the step and on the group's learning rate alone, so all tensors of a group share it. The
 * step is emitted as element-wise instructions, which the planner fuses. */
#include "engine/program/optim-private.h"
#include "engine/program/prim-private.h"

/* Indices of hyper-parameters in the table below. */
enum
{
  LR,
  LAMBD,
  ALPHA,
  T0,
  WEIGHT_DECAY
};

static const LoomHyper hyper[] = {
  [LR] = LOOM_HYPER_LR_OF (0.01),
  [LAMBD] = { LOOM_HYPER_NUMBER ("lambd", 1e-4, 0, 1e6),
              .doc = "Shrinks the weights by 1 − lambd · eta at each step, and the rate from step to step." },
  [ALPHA] = { LOOM_HYPER_NUMBER ("alpha", 0.75, 0, 1e6),
              .doc = "The rate of step t is lr / (1 + lambd · lr · t) to this power." },
  [T0] = { LOOM_HYPER_NUMBER ("t0", 1e6, 0, 1e12),
           .doc = "The step after which the weights are averaged, as the state ax." },
  [WEIGHT_DECAY] = LOOM_HYPER_WEIGHT_DECAY (0, LOOM_DECAY_BY_GRADIENT),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

#define CALC(op, a, b)     loom_binary (p, LOOM_SCALAR_##op, a, b)
#define SELECT(when, a, b) loom_ternary (p, LOOM_SCALAR_SELECT, when, a, b)

/* The rate of this step; commits that of the next one. */
static LoomValue
eta (const LoomOptimizerCall *call, LoomValue step)
{
  LoomProgram *p = call->p;
  LoomDType dtype = loom_program_get_float (p);
  const gboolean is_own = (call->own & ((guint64)1 << LR)) != 0;
  g_autofree char *name = g_strdup_printf ("optimizer.eta.%s%s", is_own ? call->prefix : "", is_own ? "lr" : "all");
  int slot = loom_program_slot (p, name, LOOM_SLOT_OPTIMIZER, dtype, 0, NULL, NULL, FALSE);
  LoomValue lr = loom_optim_scalar (call, LR), one = loom_const (p, dtype, 1), old = loom_program_read (p, slot), next;

  if (loom_program_get_slot (p, (guint)slot)->commit == 0)
    {
      next = CALC (ADD, one, CALC (MUL, CALC (MUL, loom_optim_scalar (call, LAMBD), lr), step));
      loom_optim_commit (call, slot, CALC (DIV, lr, CALC (POW, next, loom_optim_scalar (call, ALPHA))));
    }
  return SELECT (CALC (EQ, step, one), lr, old);
}

static void
emit_one (const LoomOptimizerCall *call, guint i, LoomValue rate, LoomValue shrink, LoomValue mu)
{
  LoomProgram *p = call->p;
  LoomValue old = loom_program_read (p, call->slot[i]), grad = loom_optim_gradient (call, i), next, before;
  const LoomTensorDesc d = *value_desc (p, old);
  const int ax = loom_optim_state (call, "ax", i, d.rank, d.dim, 0);

#define AS_IT(x) loom_cast (p, x, d.dtype)
  grad = CALC (ADD, grad, CALC (MUL, AS_IT (loom_optim_scalar (call, WEIGHT_DECAY)), old));
  next = CALC (SUB, CALC (MUL, old, AS_IT (shrink)), CALC (MUL, AS_IT (rate), grad));
  before = loom_program_read (p, ax);
  /* Until step t0 the average is the weight itself. */
  loom_optim_commit (call, ax,
                     SELECT (CALC (LT, AS_IT (mu), loom_const (p, d.dtype, 1)),
                             CALC (ADD, before, CALC (MUL, CALC (SUB, next, before), AS_IT (mu))), next));
  loom_optim_commit (call, call->slot[i], next);
#undef AS_IT
}

static void
emit (const LoomOptimizerCall *call)
{
  LoomProgram *p = call->p;
  LoomDType dtype = loom_program_get_float (p);
  LoomValue step = loom_cast (p, call->step, dtype), one = loom_const (p, dtype, 1), rate = eta (call, step);
  LoomValue shrink = CALC (SUB, one, CALC (MUL, loom_optim_scalar (call, LAMBD), rate));
  LoomValue late = CALC (SUB, CALC (SUB, step, one), loom_optim_scalar (call, T0));

  for (guint i = 0; i < call->n; i++)
    emit_one (call, i, rate, shrink, CALC (DIV, one, CALC (MAX, late, one)));
}

const LoomOptimizer loom_optim_asgd = {
  .name = "asgd",
  .title = "ASGD",
  .doc = "Stochastic gradient descent with decreasing steps, and an average of the weights.",
  .reference = "torch.optim.ASGD",
  .hyper = hyper,
  .emit = emit,
};
