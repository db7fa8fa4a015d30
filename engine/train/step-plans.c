/* The planned steps of a run, by batch size. */
#include "engine/train/step-plans.h"

#include "engine/program/loom-slot-names.h"

void
step_plans_init (StepPlans *self)
{
  self->training = g_ptr_array_new_with_free_func ((GDestroyNotify)step_plan_free);
  self->evaluation = g_ptr_array_new_with_free_func ((GDestroyNotify)step_plan_free);
  self->weight_slot = self->first_slot = self->rng_slot = self->carry_slot = -1;
}

void
step_plans_clear (StepPlans *self)
{
  g_clear_pointer (&self->training, g_ptr_array_unref);
  g_clear_pointer (&self->evaluation, g_ptr_array_unref);
  g_clear_pointer (&self->update, loom_exec_free);
}

/* The ranks of a parameter server report their losses in their pushes. */
static gboolean
reports_own (const StepPlans *self, gboolean training)
{
  return training && self->reports_own && !self->group->has_server;
}

static StepPlan *
make (StepPlans *self, gint64 batch, gboolean training, gboolean averaged, GError **error)
{
  LoomStep *step = loom_step_new (self->model->spec, batch, training, error);

  if (step == NULL)
    return NULL;
  step->reports_own = reports_own (self, training);
  /* The gradients of a worker of a server are pushed, and exchanged with no other rank. */
  return step_plan_new (step, self->model, self->data, training && self->group->has_server ? NULL : self->group,
                        training, averaged, error);
}

static void
report_costs (const StepPlans *self)
{
  g_autofree char *note = loom_cost_table_take_note (loom_devices_costs (self->model->devices));

  if (note != NULL)
    train_notes_report (self->notes, note);
}

static StepPlan *
find (const StepPlans *self, gint64 batch, gboolean training, gboolean averaged)
{
  const GPtrArray *plans = training ? self->training : self->evaluation;

  for (guint i = 0; i < plans->len; i++)
    {
      StepPlan *plan = plans->pdata[i];

      if (plan->step->batch == batch && plan->averaged == averaged && plan->reports_own == reports_own (self, training))
        return plan;
    }
  return NULL;
}

gboolean
step_plans_has (const StepPlans *self, gint64 batch)
{
  return find (self, batch, TRUE, FALSE) != NULL;
}

StepPlan *
step_plans_first (const StepPlans *self)
{
  return self->training->len > 0 ? self->training->pdata[0] : NULL;
}

/* The batch size that the user chose: that of the first plan, which may be the one being made. */
static gint64
usual_batch (const StepPlans *self, gint64 batch)
{
  return self->training->len > 0 ? step_plans_first (self)->step->batch : batch;
}

StepPlan *
step_plans_get (StepPlans *self, gint64 batch, gboolean training, GError **error)
{
  gboolean averaged = FALSE;
  StepPlan *plan;

  if (!training && !train_model_has_averages (self->model, &averaged, error))
    return NULL;
  plan = find (self, batch, training, averaged);
  if (plan != NULL)
    return plan;
  plan = make (self, batch, training, averaged, error);
  report_costs (self);
  if (plan == NULL)
    {
      memory_budget_explain (self->budget, usual_batch (self, batch), error);
      return NULL;
    }
  g_ptr_array_add (training ? self->training : self->evaluation, plan);
  if (self->made != NULL)
    self->made (self->made_data);
  return plan;
}

gboolean
step_plans_make_update (StepPlans *self, GError **error)
{
  const LoomTrainSpec *spec = self->model->spec;
  LoomState *state = self->model->state;

  self->carry_slot = loom_state_find (state, LOOM_SLOT_CARRY LOOM_CARRY_POSITION);
  self->weight_slot = loom_state_find (state, "accumulate_weight");
  self->first_slot = loom_state_find (state, "accumulate_first");
  self->rng_slot = loom_state_find (state, LOOM_STEP_RNG);
  /* Only rank 0 of a parameter server has states of the optimiser. */
  if ((spec->accumulate == 1 && !spec->gathers) || !rank_group_updates (self->group))
    return TRUE;
  self->update = step_plan_exec (step_plans_first (self)->step->update, self->model,
                                 self->group->has_server ? NULL : self->group, error);
  report_costs (self);
  if (self->update == NULL)
    {
      memory_budget_explain (self->budget, usual_batch (self, 0), error);
      return FALSE;
    }
  self->update_norm = (guint)loom_exec_find_output (self->update, "grad_norm");
  if (self->made != NULL)
    self->made (self->made_data);
  return TRUE;
}

gboolean
step_plans_check_memory (const StepPlans *self, GError **error)
{
  const StepPlan *first = step_plans_first (self);

  return memory_budget_check (self->budget, first->step->batch, loom_exec_plan (first->exec),
                              self->update != NULL ? loom_exec_plan (self->update) : NULL, error);
}

void
step_plans_set_part (const StepPlans *self, gint64 step, gint64 batch, gint64 part, double share)
{
  const gint64 accumulate = self->model->spec->accumulate;
  LoomState *state = self->model->state;

  if (self->update != NULL)
    {
      loom_state_put_scalar_at (state, (guint)self->first_slot, part == 0);
      loom_state_put_scalar_at (state, (guint)self->weight_slot, share);
      if (self->rng_slot >= 0)
        loom_state_put_scalar_at (state, (guint)self->rng_slot, (double)(step * accumulate + part));
    }
  if (self->carry_slot >= 0)
    loom_state_put_scalar_at (state, (guint)self->carry_slot, (double)(batch * accumulate + part));
}

gboolean
step_plans_owns_slot (const StepPlans *self, int slot)
{
  return slot >= 0 && (slot == self->weight_slot || slot == self->first_slot);
}
