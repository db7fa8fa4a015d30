/* The optimisers' registry, and the update region around them: gradient statistics, clipping, step counter.
 *
 * What is common to all stands here; an optimiser's file says only its hyper-parameters, its state and its step. */
#include "engine/program/loom-optimizer.h"
#include "engine/program/optim-private.h"
#include "engine/program/prim-private.h"

static const LoomOptimizer *const all[] = { &loom_optim_sgd, &loom_optim_adam, &loom_optim_adamw, NULL };

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

double
loom_optim_hyper (const LoomOptimizerCall *call, const char *name)
{
  for (guint i = 0; call->optimizer->hyper[i].name != NULL; i++)
    {
      if (g_str_equal (call->optimizer->hyper[i].name, name))
        return call->hyper[i];
    }
  g_return_val_if_reached (0);
}

static LoomValue
scalar (const LoomOptimizerCall *call, guint k)
{
  g_autofree char *slot = g_strconcat (call->prefix, call->optimizer->hyper[k].name, NULL);

  return loom_program_scalar (call->p, slot, call->hyper[k]);
}

/* The slot of a state tensor of parameter i. */
static int
state (const LoomOptimizerCall *call, const char *kind, guint i)
{
  const LoomSlot *parameter = loom_program_get_slot (call->p, call->slot[i]);
  g_autofree char *name = g_strdup_printf ("optimizer.%s.%s", kind, parameter->name);

  return loom_program_slot (call->p, name, LOOM_SLOT_OPTIMIZER, parameter->dtype, parameter->rank, parameter->dim, NULL,
                            FALSE);
}

void
loom_optim_emit (const LoomOptimizerCall *call, const char *prim, const void *attrs, guint n_states,
                 const char *const *states)
{
  const LoomHyper *hyper = call->optimizer->hyper;
  guint n = call->n, n_in = (2 + n_states) * n, n_hyper = 0;
  g_autofree LoomValue *in = NULL, *out = g_new0 (LoomValue, (1 + n_states) * n);

  while (hyper[n_hyper].name != NULL)
    n_hyper++;
  in = g_new0 (LoomValue, n_in + n_hyper + 3);
  for (guint k = 0; k < n_hyper; k++)
    {
      if (!hyper[k].is_bool)
        in[n_in++] = scalar (call, k);
    }
  in[n_in++] = call->grad_scale;
  in[n_in++] = call->finite;
  in[n_in++] = call->step;
  for (guint i = 0; i < n; i++)
    {
      in[i] = loom_program_read (call->p, call->slot[i]);
      in[n + i] = call->grad[i];
      for (guint k = 0; k < n_states; k++)
        in[(2 + k) * n + i] = loom_program_read (call->p, state (call, states[k], i));
    }
  loom_emit (call->p, loom_prim (prim), attrs, n_in, in, out);
  for (guint i = 0; i < n; i++)
    {
      loom_program_commit (call->p, call->slot[i], out[i]);
      for (guint k = 0; k < n_states; k++)
        loom_program_commit (call->p, state (call, states[k], i), out[(1 + k) * n + i]);
    }
}

/* 1 when x - x is 0, which neither infinity nor NaN gives. */
static LoomValue
is_finite (LoomProgram *p, LoomValue x, LoomDType dtype)
{
  LoomValue none = loom_binary (p, LOOM_SCALAR_SUB, x, x);

  return loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, none, loom_const (p, value_desc (p, x)->dtype, 0)), dtype);
}

/* What the forward pass wants to remember (running statistics, counters) is kept only from a finite step: a NaN
 * destroys nothing, and the step can be repeated to find where it began. Each choice is made where the slot lives. */
static void
guard_commits (LoomProgram *p, LoomValue finite)
{
  LoomValue good = loom_binary (p, LOOM_SCALAR_NE, finite, loom_const (p, value_desc (p, finite)->dtype, 0));

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      if (slot->commit == 0 || slot->kind == LOOM_SLOT_PARAMETER || slot->kind == LOOM_SLOT_OPTIMIZER)
        continue;
      loom_program_set_origin (p, NULL, loom_value_info (p, loom_program_read (p, (int)i))->device);
      loom_program_commit (p, (int)i,
                           loom_ternary (p, LOOM_SCALAR_SELECT, good, slot->commit, loom_program_read (p, (int)i)));
    }
  loom_program_set_origin (p, NULL, NULL);
}

/* One device's parameters. */
typedef struct
{
  const char *device;
  guint n;
  int *slot;
  LoomValue *grad;
} Share;

static void
clear_share (gpointer data)
{
  Share *share = data;

  g_free (share->slot);
  g_free (share->grad);
}

/* Parameters are updated where they live, so each device has statistics and a step of its own. The order of devices
 * is that of their first parameter. */
static GArray *
share_out (LoomProgram *p, guint n, const int *slot, const LoomValue *grad)
{
  GArray *shares = g_array_new (FALSE, TRUE, sizeof (Share));

  g_array_set_clear_func (shares, clear_share);
  for (guint i = 0; i < n; i++)
    {
      const char *device = loom_value_info (p, loom_program_read (p, slot[i]))->device;
      Share *share = NULL;

      for (guint k = 0; k < shares->len && share == NULL; k++)
        {
          if (g_strcmp0 (g_array_index (shares, Share, k).device, device) == 0)
            share = &g_array_index (shares, Share, k);
        }
      if (share == NULL)
        {
          Share first = { .device = device, .slot = g_new (int, n), .grad = g_new (LoomValue, n) };

          g_array_append_val (shares, first);
          share = &g_array_index (shares, Share, shares->len - 1);
        }
      share->slot[share->n] = slot[i];
      share->grad[share->n++] = grad[i];
    }
  return shares;
}

/* The sum of squares of all gradients, and whether all are finite, over every device. */
static void
emit_stats (LoomProgram *p, const GArray *shares, LoomValue *sum_of_squares, LoomValue *finite)
{
  *sum_of_squares = *finite = 0;
  for (guint k = 0; k < shares->len; k++)
    {
      const Share *share = &g_array_index (shares, Share, k);
      LoomGradStatsAttrs attrs = { (int)share->n };
      LoomValue stats[2];

      loom_program_set_origin (p, NULL, share->device);
      loom_emit (p, loom_prim ("grad_stats"), &attrs, share->n, share->grad, stats);
      loom_program_set_origin (p, NULL, NULL);
      *sum_of_squares = k == 0 ? stats[0] : loom_binary (p, LOOM_SCALAR_ADD, *sum_of_squares, stats[0]);
      *finite = k == 0 ? stats[1] : loom_binary (p, LOOM_SCALAR_MUL, *finite, stats[1]);
    }
}

static void
emit_all (LoomProgram *p, const LoomOptimizer *optimizer, const LoomUpdateOptions *options, guint n, const int *slot,
          const LoomValue *grad)
{
  g_autoptr (GArray) shares = share_out (p, n, slot, grad);
  LoomDType dtype = loom_program_get_float (p);
  LoomValue sum_of_squares, norm, finite, scale, step;
  LoomValue done = loom_program_scalar_i64 (p, "step", 0);

  emit_stats (p, shares, &sum_of_squares, &finite);
  norm = loom_unary (p, LOOM_SCALAR_SQRT, sum_of_squares);
  if (options->loss != 0)
    {
      LoomValue loss = loom_reshape (p, options->loss, 0, NULL);

      finite = loom_binary (p, LOOM_SCALAR_MUL, finite, is_finite (p, loss, dtype));
    }
  scale = loom_const (p, dtype, 1);
  if (options->clip_norm > 0)
    {
      LoomValue limit = loom_program_scalar (p, "clip_norm", options->clip_norm);
      LoomValue safe = loom_binary (p, LOOM_SCALAR_ADD, norm, loom_const (p, dtype, 1e-6));

      scale = loom_binary (p, LOOM_SCALAR_MIN, scale, loom_binary (p, LOOM_SCALAR_DIV, limit, safe));
    }
  step = loom_binary (p, LOOM_SCALAR_ADD, done, loom_const (p, LOOM_I64, 1));
  loom_program_commit (p, loom_program_find_slot (p, "step"), step);
  guard_commits (p, finite);
  loom_program_output (p, "grad_norm", norm);
  loom_program_output (p, "finite", finite);

  for (guint i = 0; optimizer->hyper[i].name != NULL; i++)
    {
      /* Hyper-parameters live on the graph's device, whoever reads them first. */
      if (!optimizer->hyper[i].is_bool)
        loom_program_scalar (p, optimizer->hyper[i].name, options->hyper[i]);
    }
  for (guint k = 0; k < shares->len; k++)
    {
      const Share *share = &g_array_index (shares, Share, k);

      loom_program_set_origin (p, NULL, share->device);
      optimizer->emit (&(LoomOptimizerCall){ .p = p,
                                             .optimizer = optimizer,
                                             .n = share->n,
                                             .slot = share->slot,
                                             .grad = share->grad,
                                             .hyper = options->hyper,
                                             .prefix = "",
                                             .grad_scale = scale,
                                             .finite = finite,
                                             .step = step });
    }
  loom_program_set_origin (p, NULL, NULL);
}

gboolean
loom_emit_update (LoomProgram *p, const LoomUpdateOptions *options, guint n, const int *slot, const LoomValue *grad,
                  GError **error)
{
  const LoomOptimizer *optimizer = loom_optimizer (options->optimizer);
  g_autofree int *slots = g_new (int, n + 1);
  g_autofree LoomValue *grads = g_new (LoomValue, n + 1);
  LoomRegion region = loom_program_get_region (p);
  const char *origin, *device;
  guint k = 0;

  if (optimizer == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "There is no optimizer “%s”: use sgd, adam or adamw.",
                   options->optimizer);
      return FALSE;
    }
  /* A parameter that the loss does not reach is left alone, as PyTorch does with grad None. */
  for (guint i = 0; i < n; i++)
    {
      if (grad[i] == 0)
        continue;
      slots[k] = slot[i];
      grads[k++] = grad[i];
    }
  if (k == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                   "The loss depends on no trainable weight. Wire it behind a layer that has weights.");
      return FALSE;
    }
  loom_program_get_origin (p, &origin, &device);
  loom_program_set_region (p, LOOM_REGION_UPDATE);
  loom_program_set_origin (p, NULL, NULL);
  emit_all (p, optimizer, options, k, slots, grads);
  loom_program_set_region (p, region);
  loom_program_set_origin (p, origin, device);
  return TRUE;
}
