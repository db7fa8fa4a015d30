/* The registry of optimizers, and the helpers with which they emit their steps. An optimizer's own file has only its
 * hyper-parameters, its state and its step. */
#include "engine/program/loom-optimizer.h"
#include "engine/program/optim-private.h"
#include "engine/program/prim-private.h"

static const LoomOptimizer *const all[]
    = { &loom_optim_sgd,      &loom_optim_adam,  &loom_optim_adamw,  &loom_optim_rmsprop,   &loom_optim_adagrad,
        &loom_optim_adadelta, &loom_optim_nadam, &loom_optim_adamax, &loom_optim_radam,     &loom_optim_lion,
        &loom_optim_lamb,     &loom_optim_lars,  &loom_optim_muon,   &loom_optim_adafactor, &loom_optim_rprop,
        &loom_optim_asgd,     &loom_optim_lbfgs, &loom_optim_newton, &loom_optim_none,      NULL };

const LoomOptimizer *const *
loom_optimizers (void)
{
  return all;
}

const LoomOptimizer *
loom_optimizer (const char *name)
{
  for (guint i = 0; all[i] != NULL; i++)
    {
      if (g_strcmp0 (all[i]->name, name) == 0)
        return all[i];
    }
  return NULL;
}

int
loom_optimizer_find (const LoomOptimizer *optimizer, const char *name)
{
  for (guint i = 0; optimizer->hyper[i].name != NULL; i++)
    {
      if (g_str_equal (optimizer->hyper[i].name, name))
        return (int)i;
    }
  return -1;
}

gboolean
loom_optimizer_is_live (const LoomOptimizer *optimizer, const double *hyper, guint k)
{
  const LoomHyper *h = &optimizer->hyper[k];

  if (h->is_bool || h->is_fixed)
    return FALSE;
  return h->needs == NULL || hyper[loom_optimizer_find (optimizer, h->needs)] != 0;
}

double
loom_optim_hyper (const LoomOptimizerCall *call, const char *name)
{
  int k = loom_optimizer_find (call->optimizer, name);

  g_return_val_if_fail (k >= 0, 0);
  return call->hyper[k];
}

LoomValue
loom_optim_scalar (const LoomOptimizerCall *call, guint k)
{
  const char *prefix = call->own & ((guint64)1 << k) ? call->prefix : "";
  g_autofree char *slot = g_strconcat (prefix, call->optimizer->hyper[k].name, NULL);

  if (!loom_optimizer_is_live (call->optimizer, call->hyper, k))
    return loom_const (call->p, loom_program_get_float (call->p), call->hyper[k]);
  return loom_program_scalar (call->p, slot, call->hyper[k]);
}

int
loom_optim_state (const LoomOptimizerCall *call, const char *state, guint i, int rank, const gint64 *dims, double start)
{
  const LoomInit init = { .kind = start == 0 ? LOOM_INIT_ZEROS : LOOM_INIT_CONSTANT, .a = start };
  const LoomSlot *parameter = loom_program_get_slot (call->p, call->slot[i]);
  g_autofree char *name = g_strdup_printf ("optimizer.%s.%s", state, parameter->name);

  return loom_program_slot (call->p, name, LOOM_SLOT_OPTIMIZER, parameter->dtype, rank, dims, &init, FALSE);
}

/* Whether the step writes. */
static LoomValue
writes (const LoomOptimizerCall *call)
{
  LoomValue zero = loom_const (call->p, value_desc (call->p, call->finite)->dtype, 0);

  return loom_binary (call->p, LOOM_SCALAR_NE, call->finite, zero);
}

void
loom_optim_commit (const LoomOptimizerCall *call, int slot, LoomValue next)
{
  LoomProgram *p = call->p;

  loom_program_commit (p, slot, loom_ternary (p, LOOM_SCALAR_SELECT, writes (call), next, loom_program_read (p, slot)));
}

LoomValue
loom_optim_sum (const LoomOptimizerCall *call, LoomValue x)
{
  LoomProgram *p = call->p;

  return loom_ternary (p, LOOM_SCALAR_SELECT, writes (call), x, loom_const (p, value_desc (p, x)->dtype, 0));
}

LoomValue
loom_optim_gradient (const LoomOptimizerCall *call, guint i)
{
  LoomProgram *p = call->p;
  const LoomDType dtype = loom_program_get_slot (p, call->slot[i])->dtype;
  const int maximize = loom_optimizer_find (call->optimizer, "maximize");
  LoomValue grad = loom_optim_sum (call, loom_cast (p, call->grad[i], dtype));

  grad = loom_binary (p, LOOM_SCALAR_MUL, grad, loom_cast (p, call->grad_scale, dtype));
  return maximize >= 0 && call->hyper[maximize] != 0 ? loom_unary (p, LOOM_SCALAR_NEG, grad) : grad;
}

LoomValue
loom_optim_norm (LoomProgram *p, LoomValue x)
{
  return loom_unary (p, LOOM_SCALAR_SQRT, loom_sum_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, x)));
}

/* The slot of state tensor k of parameter i. */
static int
state (const LoomOptimizerCall *call, const LoomOptimStep *step, guint k, guint i)
{
  const LoomSlot *parameter = loom_program_get_slot (call->p, call->slot[i]);

  return loom_optim_state (call, step->states[k], i, parameter->rank, parameter->dim, step->start);
}

void
loom_optim_emit (const LoomOptimizerCall *call, const LoomOptimStep *step)
{
  const LoomHyper *hyper = call->optimizer->hyper;
  guint n = call->n, n_states = step->n_states, n_in = (2 + n_states) * n, n_hyper = 0;
  g_autofree LoomValue *in = NULL, *out = g_new0 (LoomValue, (1 + n_states) * n);

  while (hyper[n_hyper].name != NULL)
    n_hyper++;
  in = g_new0 (LoomValue, n_in + MAX (n_hyper, step->n_scalars) + 4);
  for (guint k = 0; k < step->n_scalars; k++)
    in[n_in++] = step->scalar[k];
  for (guint k = 0; k < n_hyper && step->scalar == NULL; k++)
    {
      if (!hyper[k].is_bool && !hyper[k].is_fixed)
        in[n_in++] = loom_optim_scalar (call, k);
    }
  if (step->n_extra > 0)
    in[n_in++] = step->extra;
  in[n_in++] = call->grad_scale;
  in[n_in++] = call->finite;
  in[n_in++] = call->step;
  for (guint i = 0; i < n; i++)
    {
      in[i] = loom_program_read (call->p, call->slot[i]);
      in[n + i] = call->grad[i];
      for (guint k = 0; k < n_states; k++)
        in[(2 + k) * n + i] = loom_program_read (call->p, state (call, step, k, i));
    }
  loom_emit (call->p, loom_prim (step->prim), step->attrs, n_in, in, out);
  for (guint i = 0; i < n; i++)
    {
      loom_program_commit (call->p, call->slot[i], out[i]);
      for (guint k = 0; k < n_states; k++)
        loom_program_commit (call->p, state (call, step, k, i), out[(1 + k) * n + i]);
    }
}

void
loom_optim_emit_step (const LoomOptimizerCall *call, LoomStepAttrs attrs, const LoomOptimStep *step)
{
  LoomOptimStep whole = *step;
  g_autofree char *prim = g_strconcat (call->optimizer->name, "_step", NULL);
  int decoupled = loom_optimizer_find (call->optimizer, "decoupled_weight_decay");

  attrs.n = (int)call->n;
  attrs.maximize = loom_optim_hyper (call, "maximize") != 0;
  attrs.decoupled = decoupled >= 0 && call->hyper[decoupled] != 0;
  whole.prim = prim;
  whole.attrs = &attrs;
  loom_optim_emit (call, &whole);
}
