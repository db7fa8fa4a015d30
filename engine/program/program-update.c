/* Emits the update region from the gradients: their statistics, clipping, the gate, the optimizer's step (optim-*.c)
 * and the step counter. For L-BFGS and Newton, whose steps engine/train computes, it emits the gradients as outputs
 * instead. The file also emits the accumulation of gradients over micro-batches, and averages of weights. */
#include "engine/program/loom-optimizer.h"
#include "engine/core/loom-refuse.h"
#include "engine/program/loom-slot-names.h"
#include "engine/program/optim-private.h"
#include "engine/program/prim-private.h"

#include <string.h>

/* 1 if x - x is 0, which is not so for infinity and NaN. */
static LoomValue
is_finite (LoomProgram *p, LoomValue x, LoomDType dtype)
{
  LoomValue none = loom_binary (p, LOOM_SCALAR_SUB, x, x);

  return loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, none, loom_const (p, value_desc (p, x)->dtype, 0)), dtype);
}

/* Lets only a step without a fault commit state that the forward pass updates (running statistics, counters), so that
 * the step can be repeated to find the cause of a fault. Each selection is on the slot's device. */
static void
guard_commits (LoomProgram *p, LoomValue go)
{
  LoomValue good = loom_binary (p, LOOM_SCALAR_NE, go, loom_const (p, value_desc (p, go)->dtype, 0));

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      /* Optimizers guard their own writes, which come later: a parameter with a commit at this point is assigned by the
       * graph. */
      if (slot->commit == 0 || (slot->kind == LOOM_SLOT_OPTIMIZER && !g_str_has_prefix (slot->name, LOOM_SLOT_CARRY)))
        continue;
      loom_program_set_origin (p, NULL, loom_value_info (p, loom_program_read (p, (int)i))->device);
      loom_program_commit (p, (int)i,
                           loom_ternary (p, LOOM_SCALAR_SELECT, good, slot->commit, loom_program_read (p, (int)i)));
    }
  loom_program_set_origin (p, NULL, NULL);
}

/* The parameters of one group on one device. */
typedef struct
{
  const char *device;
  guint group; /* the group's number, see LoomUpdateOptions.group_of */
  guint n;
  int *slot;
  LoomValue *grad;
} ParameterSet;

static void
clear_set (gpointer data)
{
  ParameterSet *set = data;

  g_free (set->slot);
  g_free (set->grad);
}

/* Groups parameters by device (a parameter is updated on its own device) and by hyper-parameter group, in the order of
 * their first parameters. */
static GArray *
make_sets (LoomProgram *p, guint n, const int *slot, const LoomValue *grad, const guint *group_of)
{
  GArray *sets = g_array_new (FALSE, TRUE, sizeof (ParameterSet));

  g_array_set_clear_func (sets, clear_set);
  for (guint i = 0; i < n; i++)
    {
      const char *device = loom_value_info (p, loom_program_read (p, slot[i]))->device;
      guint group = group_of != NULL ? group_of[i] : 0;
      ParameterSet *set = NULL;

      for (guint k = 0; k < sets->len && set == NULL; k++)
        {
          const ParameterSet *one = &g_array_index (sets, ParameterSet, k);

          if (one->group == group && g_strcmp0 (one->device, device) == 0)
            set = &g_array_index (sets, ParameterSet, k);
        }
      if (set == NULL)
        {
          ParameterSet first
              = { .device = device, .group = group, .slot = g_new (int, n), .grad = g_new (LoomValue, n) };

          g_array_append_val (sets, first);
          set = &g_array_index (sets, ParameterSet, sets->len - 1);
        }
      set->slot[set->n] = slot[i];
      set->grad[set->n++] = grad[i];
    }
  return sets;
}

/* Emits the sum of squares of all gradients and the finite flag, over all devices. */
static void
emit_stats (LoomProgram *p, const GArray *sets, LoomValue *sum_of_squares, LoomValue *finite)
{
  *sum_of_squares = loom_const (p, loom_program_get_float (p), 0);
  *finite = loom_const (p, loom_program_get_float (p), 1);
  for (guint k = 0; k < sets->len; k++)
    {
      const ParameterSet *set = &g_array_index (sets, ParameterSet, k);
      LoomGradStatsAttrs attrs = { (int)set->n };
      LoomValue stats[2];

      loom_program_set_origin (p, NULL, set->device);
      loom_emit (p, loom_prim ("grad_stats"), &attrs, set->n, set->grad, stats);
      loom_program_set_origin (p, NULL, NULL);
      *sum_of_squares = k == 0 ? stats[0] : loom_binary (p, LOOM_SCALAR_ADD, *sum_of_squares, stats[0]);
      *finite = k == 0 ? stats[1] : loom_binary (p, LOOM_SCALAR_MUL, *finite, stats[1]);
    }
}

/* Declares outputs for the gradients' norm, the finite flag, and whether the step may write; all writes come after the
 * gate. With `driven` no outcome is a fault, because L-BFGS and Newton may evaluate points with an infinite loss.
 * Overflow of scaled gradients is no fault as long as the scale can shrink. */
static void
emit_outcome (LoomProgram *p, const GArray *sets, LoomValue loss, gboolean driven, LoomValue *norm, LoomValue *go)
{
  LoomDType dtype = loom_program_get_float (p);
  gboolean scaled = !driven && loom_program_find_slot (p, "loss_scale") >= 0;
  LoomValue sum_of_squares, finite, gate[2], in[2];

  emit_stats (p, sets, &sum_of_squares, &finite);
  *norm = loom_unary (p, LOOM_SCALAR_SQRT, sum_of_squares);
  in[1] = scaled ? loom_loss_scale_can_shrink (p) : loom_const (p, dtype, driven);
  if (loss != 0)
    {
      LoomValue of_loss = is_finite (p, loom_reshape (p, loss, 0, NULL), dtype);

      finite = loom_binary (p, LOOM_SCALAR_MUL, finite, of_loss);
      if (scaled)
        in[1] = loom_binary (p, LOOM_SCALAR_MUL, in[1], of_loss);
    }
  in[0] = finite;
  loom_emit (p, loom_prim ("update_gate"), NULL, 2, in, gate);
  *go = gate[0];
  guard_commits (p, *go);
  loom_program_output (p, "grad_norm", *norm);
  loom_program_output (p, "finite", finite);
  loom_program_output (p, LOOM_OUTPUT_STEP_WRITES, gate[0]);
  loom_program_output (p, LOOM_OUTPUT_NO_FAULT, gate[1]);
}

/* Clips each gradient's elements to -limit … limit. */
static void
clip_values (LoomProgram *p, GArray *sets, double limit)
{
  LoomValue most = loom_program_scalar (p, "clip_value", limit);

  for (guint k = 0; k < sets->len; k++)
    {
      ParameterSet *set = &g_array_index (sets, ParameterSet, k);

      loom_program_set_origin (p, NULL, set->device);
      for (guint i = 0; i < set->n; i++)
        {
          LoomValue below = loom_binary (p, LOOM_SCALAR_MIN, set->grad[i], most);

          set->grad[i] = loom_binary (p, LOOM_SCALAR_MAX, below, loom_unary (p, LOOM_SCALAR_NEG, most));
        }
    }
  loom_program_set_origin (p, NULL, NULL);
}

/* The factor by which all gradients are multiplied. */
static LoomValue
clip_norm (LoomProgram *p, LoomValue norm, double limit)
{
  LoomDType dtype = loom_program_get_float (p);
  LoomValue most = loom_program_scalar (p, "clip_norm", limit);
  LoomValue safe = loom_binary (p, LOOM_SCALAR_ADD, norm, loom_const (p, dtype, 1e-6));

  return loom_binary (p, LOOM_SCALAR_MIN, loom_const (p, dtype, 1), loom_binary (p, LOOM_SCALAR_DIV, most, safe));
}

/* Declares the hyper-parameters as scalar slots on the graph's device, whichever instruction reads them first. */
static void
declare_scalars (LoomProgram *p, const LoomOptimizer *optimizer, const double *hyper, const char *prefix, guint64 own)
{
  for (guint i = 0; optimizer->hyper[i].name != NULL; i++)
    {
      g_autofree char *slot = g_strconcat (prefix, optimizer->hyper[i].name, NULL);

      if ((own & ((guint64)1 << i)) && loom_optimizer_is_live (optimizer, hyper, i))
        loom_program_scalar (p, slot, hyper[i]);
    }
}

static void
emit_all (LoomProgram *p, const LoomOptimizer *optimizer, const LoomUpdateOptions *options, guint n, const int *slot,
          const LoomValue *grad, const guint *group_of)
{
  g_autoptr (GArray) sets = make_sets (p, n, slot, grad, group_of);
  LoomValue norm, go, scale = loom_const (p, loom_program_get_float (p), 1), step;
  LoomValue done = loom_program_scalar_i64 (p, "step", 0);

  emit_outcome (p, sets, options->loss, FALSE, &norm, &go);
  if (options->clip_value > 0)
    {
      clip_values (p, sets, options->clip_value);
      if (options->clip_norm > 0)
        {
          LoomValue sum_of_squares, same;

          emit_stats (p, sets, &sum_of_squares, &same);
          norm = loom_unary (p, LOOM_SCALAR_SQRT, sum_of_squares);
        }
    }
  if (options->clip_norm > 0)
    scale = clip_norm (p, norm, options->clip_norm);
  /* A step that writes nothing is not counted, so the next one has the same number. */
  step = loom_binary (p, LOOM_SCALAR_ADD, done, loom_cast (p, go, LOOM_I64));
  loom_program_commit (p, loom_program_find_slot (p, "step"), step);

  declare_scalars (p, optimizer, options->hyper, "", ~(guint64)0);
  for (guint k = 0; k < sets->len; k++)
    {
      const ParameterSet *set = &g_array_index (sets, ParameterSet, k);
      const LoomUpdateGroup none = { .prefix = "", .hyper = options->hyper };
      const LoomUpdateGroup *group = set->group > 0 ? &options->groups[set->group - 1] : &none;

      declare_scalars (p, optimizer, group->hyper, group->prefix, group->own);
      loom_program_set_origin (p, NULL, options->state_device != NULL ? options->state_device : set->device);
      optimizer->emit (&(LoomOptimizerCall){ .p = p,
                                             .optimizer = optimizer,
                                             .n = set->n,
                                             .slot = set->slot,
                                             .grad = set->grad,
                                             .hyper = group->hyper,
                                             .prefix = group->prefix,
                                             .own = group->own,
                                             .grad_scale = scale,
                                             .finite = go,
                                             .step = step });
      loom_program_set_origin (p, NULL, NULL);
    }
}

void
loom_emit_gradients (LoomProgram *p, const LoomOptimizer *optimizer, const double *hyper, LoomValue loss, guint n,
                     const int *slot, const LoomValue *grad)
{
  g_autoptr (GArray) sets = make_sets (p, n, slot, grad, NULL);
  LoomRegion region = loom_program_get_region (p);
  const char *origin, *device;
  LoomValue norm, go;

  loom_program_get_origin (p, &origin, &device);
  loom_program_set_region (p, LOOM_REGION_UPDATE);
  loom_program_set_origin (p, NULL, NULL);
  loom_program_scalar_i64 (p, "step", 0);
  emit_outcome (p, sets, loss, TRUE, &norm, &go);
  declare_scalars (p, optimizer, hyper, "", ~(guint64)0);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strconcat ("gradient.", loom_program_get_slot (p, (guint)slot[i])->name, NULL);

      loom_program_output (p, name, grad[i]);
    }
  loom_program_set_region (p, region);
  loom_program_set_origin (p, origin, device);
}

gboolean
loom_emit_update (LoomProgram *p, const LoomUpdateOptions *options, guint n, const int *slot, const LoomValue *grad,
                  GError **error)
{
  const LoomOptimizer *optimizer = loom_optimizer (options->optimizer);
  g_autofree int *slots = g_new (int, n + 1);
  g_autofree LoomValue *grads = g_new (LoomValue, n + 1);
  g_autofree guint *group_of = g_new0 (guint, n + 1);
  LoomRegion region = loom_program_get_region (p);
  const char *origin, *device;
  guint k = 0;

  if (optimizer == NULL || optimizer->emit == NULL)
    return loom_refuse (error, LOOM_ERROR_USAGE,
                        optimizer == NULL ? "There is no optimizer “%s”: use sgd, adam or adamw."
                                          : "The optimizer “%s” cannot be part of a program.",
                        options->optimizer);
  /* A parameter that the loss does not depend on is not updated, as in PyTorch if grad is None. */
  for (guint i = 0; i < n; i++)
    {
      if (grad[i] == 0)
        continue;
      slots[k] = slot[i];
      group_of[k] = options->group_of != NULL ? options->group_of[i] : 0;
      grads[k++] = grad[i];
    }
  if (k == 0 && !optimizer->takes_no_gradients)
    return loom_refuse (error, LOOM_ERROR_SHAPE,
                        "The loss depends on no trainable weight. Wire it after a layer that has weights.");
  loom_program_get_origin (p, &origin, &device);
  loom_program_set_region (p, LOOM_REGION_UPDATE);
  loom_program_set_origin (p, NULL, NULL);
  emit_all (p, optimizer, options, k, slots, grads, group_of);
  loom_program_set_region (p, region);
  loom_program_set_origin (p, origin, device);
  return TRUE;
}

/* The name of the slot for a parameter and term t: for the first term it has no number. */
static char *
accumulate_slot (guint t, const char *parameter)
{
  return t == 0 ? g_strconcat (LOOM_SLOT_ACCUMULATE, parameter, NULL)
                : g_strdup_printf (LOOM_SLOT_ACCUMULATE "#%u.%s", t, parameter);
}

static char *
count_slot (guint t)
{
  return g_strdup_printf (LOOM_SCALAR_ACCUMULATE "count_%u", t);
}

/* A micro-batch adds nothing if its numbers are not finite, or if it was queued after a fault. The selection also makes
 * the sums of every device wait for the gate, which is on the graph's device. */
static void
accumulate_term (LoomProgram *p, guint t, const LoomAccumulate *term, LoomValue first, LoomValue weight, LoomValue good)
{
  for (guint i = 0; i < term->n; i++)
    {
      const LoomSlot *parameter = loom_program_get_slot (p, (guint)term->slot[i]);
      g_autofree char *name = accumulate_slot (t, parameter->name);
      LoomDType dtype = parameter->dtype;
      LoomValue sum, before, old;
      int k;

      loom_program_set_origin (p, NULL, loom_value_info (p, loom_program_read (p, term->slot[i]))->device);
      k = loom_program_slot (p, name, LOOM_SLOT_OPTIMIZER, dtype, parameter->rank, parameter->dim, NULL, FALSE);
      old = loom_program_read (p, k);
      before = loom_ternary (p, LOOM_SCALAR_SELECT, first, loom_const (p, dtype, 0), old);
      sum = loom_cast (p, term->grad[i], dtype);
      if (term->count == 0)
        sum = loom_binary (p, LOOM_SCALAR_MUL, sum, loom_cast (p, weight, dtype));
      sum = loom_binary (p, LOOM_SCALAR_ADD, before, sum);
      loom_program_commit (p, k, loom_ternary (p, LOOM_SCALAR_SELECT, good, sum, old));
    }
  loom_program_set_origin (p, NULL, NULL);
  if (term->count != 0)
    {
      const LoomDType dtype = loom_program_get_float (p);
      g_autofree char *name = count_slot (t);
      LoomValue old = loom_program_scalar (p, name, 0);
      LoomValue before = loom_ternary (p, LOOM_SCALAR_SELECT, first, loom_const (p, dtype, 0), old);
      LoomValue sum = loom_binary (p, LOOM_SCALAR_ADD, before, loom_cast (p, term->count, dtype));

      loom_program_commit (p, loom_program_find_slot (p, name), loom_ternary (p, LOOM_SCALAR_SELECT, good, sum, old));
    }
}

void
loom_emit_accumulate (LoomProgram *p, LoomValue loss, guint n_terms, const LoomAccumulate *terms)
{
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GArray) grads = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  LoomRegion region = loom_program_get_region (p);
  const char *origin, *device;
  LoomValue weight, first, norm, go;

  for (guint t = 0; t < n_terms; t++)
    {
      g_array_append_vals (slots, terms[t].slot, terms[t].n);
      g_array_append_vals (grads, terms[t].grad, terms[t].n);
    }
  g_autoptr (GArray) sets = make_sets (p, slots->len, (const int *)slots->data, (const LoomValue *)grads->data, NULL);
  loom_program_get_origin (p, &origin, &device);
  loom_program_set_region (p, LOOM_REGION_UPDATE);
  loom_program_set_origin (p, NULL, NULL);
  emit_outcome (p, sets, loss, FALSE, &norm, &go);
  weight = loom_program_scalar (p, LOOM_SCALAR_ACCUMULATE "weight", 1);
  first = loom_binary (p, LOOM_SCALAR_NE, loom_program_scalar (p, LOOM_SCALAR_ACCUMULATE "first", 1),
                       loom_const (p, loom_program_get_float (p), 0));
  LoomValue good = loom_binary (p, LOOM_SCALAR_NE, go, loom_const (p, value_desc (p, go)->dtype, 0));
  for (guint t = 0; t < n_terms; t++)
    accumulate_term (p, t, &terms[t], first, weight, good);
  loom_program_set_region (p, region);
  loom_program_set_origin (p, origin, device);
}

const char *
loom_accumulated_parameter (const LoomSlot *slot, guint *t)
{
  char *end;

  *t = 0;
  if (slot->kind != LOOM_SLOT_OPTIMIZER || !g_str_has_prefix (slot->name, LOOM_SLOT_ACCUMULATE))
    return NULL;
  const char *name = slot->name + strlen (LOOM_SLOT_ACCUMULATE);
  if (*name != '#')
    return name;
  *t = (guint)g_ascii_strtoull (name + 1, &end, 10);
  return end + 1;
}

void
loom_accumulated_gradients (LoomProgram *p, const LoomProgram *from, GArray *slots, GArray *grads)
{
  for (guint i = 0; i < loom_program_n_slots (from); i++)
    {
      const LoomSlot *sum = loom_program_get_slot (from, i), *of;
      guint t, k = 0;
      const char *parameter = loom_accumulated_parameter (sum, &t);

      if (parameter == NULL)
        continue;
      of = loom_program_get_slot (from, (guint)loom_program_find_slot (from, parameter));
      g_autofree char *count_name = count_slot (t);
      LoomValue count = 0;

      /* The slot of the count is on the graph's device, as in the program that accumulates. */
      loom_program_set_origin (p, NULL, NULL);
      if (loom_program_find_slot (from, count_name) >= 0)
        count = loom_program_scalar (p, count_name, 0);
      loom_program_set_origin (p, NULL, loom_value_info (from, of->read)->device);
      int slot = loom_program_slot (p, of->name, of->kind, of->dtype, of->rank, of->dim, &of->init, of->trainable);
      loom_program_read (p, slot);
      LoomValue grad = loom_program_read (
          p, loom_program_slot (p, sum->name, sum->kind, sum->dtype, sum->rank, sum->dim, NULL, FALSE));
      if (count != 0)
        grad = loom_binary (p, LOOM_SCALAR_DIV, grad, loom_cast (p, count, sum->dtype));
      while (k < slots->len && g_array_index (slots, int, k) != slot)
        k++;
      if (k < slots->len)
        {
          LoomValue *before = &g_array_index (grads, LoomValue, k);
          *before = loom_binary (p, LOOM_SCALAR_ADD, *before, grad);
          continue;
        }
      g_array_append_val (slots, slot);
      g_array_append_val (grads, grad);
    }
  loom_program_set_origin (p, NULL, NULL);
}

void
loom_emit_average (LoomProgram *p, double decay)
{
  LoomRegion region = loom_program_get_region (p);
  guint n = loom_program_n_slots (p);
  const char *origin, *device;
  LoomValue good, first;

  loom_program_get_origin (p, &origin, &device);
  loom_program_set_region (p, LOOM_REGION_UPDATE);
  loom_program_set_origin (p, NULL, NULL);
  good = loom_binary (p, LOOM_SCALAR_NE, loom_program_find_output (p, LOOM_OUTPUT_STEP_WRITES),
                      loom_const (p, loom_program_get_float (p), 0));
  first = loom_binary (p, LOOM_SCALAR_EQ, loom_program_scalar_i64 (p, "step", 0), loom_const (p, LOOM_I64, 0));
  for (guint i = 0; i < n; i++)
    {
      const LoomSlot *parameter = loom_program_get_slot (p, i);
      LoomDType dtype = parameter->dtype;
      LoomValue now = parameter->commit, before, way, next;
      g_autofree char *name = NULL;
      int k;

      if (parameter->kind != LOOM_SLOT_PARAMETER || now == 0)
        continue;
      name = g_strconcat (LOOM_SLOT_EMA, parameter->name, NULL);
      loom_program_set_origin (p, NULL, loom_value_info (p, loom_program_read (p, (int)i))->device);
      k = loom_program_slot (p, name, LOOM_SLOT_OPTIMIZER, dtype, parameter->rank, parameter->dim, NULL, FALSE);
      before = loom_program_read (p, k);
      /* Interpolates from the nearer end, as torch.lerp does. */
      way = loom_binary (p, LOOM_SCALAR_SUB, now, before);
      if (1 - decay < 0.5)
        next = loom_binary (p, LOOM_SCALAR_ADD, before,
                            loom_binary (p, LOOM_SCALAR_MUL, way, loom_const (p, dtype, 1 - decay)));
      else
        next = loom_binary (p, LOOM_SCALAR_SUB, now,
                            loom_binary (p, LOOM_SCALAR_MUL, way, loom_const (p, dtype, decay)));
      next = loom_ternary (p, LOOM_SCALAR_SELECT, first, now, next);
      loom_program_commit (p, k, loom_ternary (p, LOOM_SCALAR_SELECT, good, next, before));
    }
  loom_program_set_region (p, region);
  loom_program_set_origin (p, origin, device);
}
