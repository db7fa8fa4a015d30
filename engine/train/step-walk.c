/* Walks the next step of a run; see the header. */
#include "engine/train/step-walk.h"

#include "engine/core/loom-error.h"

void
step_walk_clear (StepWalk *self)
{
  self->is_begun = FALSE;
  g_clear_pointer (&self->stepper, loom_stepper_free);
  g_clear_pointer (&self->plan, loom_step_free);
  g_clear_pointer (&self->gathered, loom_state_unref);
}

/* The program of training, which recomputes nothing, so that every value is computed once. */
static gboolean
make_plan (StepWalk *self, gint64 batch, GError **error)
{
  LoomTrainSpec spec = *self->model->spec;

  if (self->plan != NULL && self->plan->batch == batch)
    return TRUE;
  step_walk_clear (self);
  spec.keep_all = TRUE;
  self->plan = loom_step_new (&spec, batch, TRUE, error);
  return self->plan != NULL;
}

gboolean
step_walk_is_divided (const StepWalk *self)
{
  return self->group->comm != NULL && loom_state_is_divided (self->model->state);
}

/* Copies what the run has gathered, or rank 0 has whole. The slots of the optimizer keep their initial values: only an
 * update reads them. */
static gboolean
fill_gathered (StepWalk *self, GError **error)
{
  for (guint i = 0; i < loom_state_n_slots (self->gathered); i++)
    {
      const char *name;
      LoomSlotKind kind;

      loom_state_slot (self->gathered, i, &name, &kind, NULL);
      if (kind == LOOM_SLOT_SCALAR && !loom_state_copy_scalar (self->gathered, self->model->state, name, error))
        return FALSE;
      if (kind != LOOM_SLOT_PARAMETER && kind != LOOM_SLOT_BUFFER)
        continue;
      g_autoptr (LoomTensor) value = watched_state_slot (self->watched, &self->watched->now, name, error);
      if (value == NULL || !loom_state_set (self->gathered, name, value, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
make_stepper (StepWalk *self, GError **error)
{
  const TrainModel *model = self->model;

  if (self->stepper == NULL)
    {
      const gboolean divided = step_walk_is_divided (self);
      LoomEager *eager;

      if (divided)
        self->gathered = loom_state_new (model->devices, model->device, model->spec->seed);
      eager = loom_eager_new (self->plan->program, divided ? self->gathered : model->state, model->devices,
                              model->device, error);
      if (eager == NULL)
        {
          g_clear_pointer (&self->gathered, loom_state_unref);
          return FALSE;
        }
      self->stepper = loom_stepper_new (eager);
    }
  return self->gathered == NULL || fill_gathered (self, error);
}

/* The executor copies its inputs when it begins, so the batch is needed only until then. */
static gboolean
begin (StepWalk *self, const LoomBatch *batch, GError **error)
{
  LoomProgram *p = self->plan->program;
  LoomEager *eager = loom_stepper_eager (self->stepper);
  g_autoptr (GPtrArray) converted = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autofree StepInput *input = NULL;
  guint n = 0;

  input = step_inputs_new (self->loop->data, p, &n, error);
  if (input == NULL)
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      LoomTensor *t = batch->tensors[input[i].port];
      const LoomDType dtype = loom_value_info (p, loom_program_get_input (p, input[i].input)->value)->desc.dtype;

      if (t->dtype != dtype)
        {
          t = loom_tensor_convert (t, dtype, FALSE, error);
          if (t == NULL)
            return FALSE;
          g_ptr_array_add (converted, t);
        }
      loom_eager_feed (eager, input[i].input, t->data);
    }
  return loom_stepper_begin (self->stepper, error);
}

/* The samples of another rank are read a second time, here; the others of the step are the same for all. */
static const LoomBatch *
peek (StepWalk *self, LoomLoader **loader, GError **error)
{
  const LoomBatch *own = training_loop_peek (self->loop, error);
  const TrainProgress *progress = self->loop->log->progress;
  int rank, n;

  rank_group_shard (self->group, &rank, &n);
  if (own == NULL || self->rank < 0 || self->rank == rank || self->rank >= n)
    return own;
  *loader = train_data_loader_of_rank (self->loop->data, self->model, self->group, self->rank, &progress->division,
                                       progress->epoch, error);
  if (*loader == NULL)
    return NULL;
  loom_loader_start (*loader, progress->epoch + (progress->batch >= self->loop->data->steps_per_epoch), own->index);
  return loom_loader_next (*loader, error);
}

/* A server's ranks compute steps of their own, each with weights of another time. */
static gboolean
check (const StepWalk *self, GError **error)
{
  if (self->group->has_server)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                 "The ranks of a parameter server take no common step that could be walked node by node. Train with "
                 "strategy=\"data\", or on one rank.");
  else if (step_walk_is_divided (self) && self->watched == NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                 "Each rank of this run has only a part of the weights. Train on one rank.");
  else
    return TRUE;
  return FALSE;
}

gboolean
step_walk_begin (StepWalk *self, GError **error)
{
  g_autoptr (LoomLoader) loader = NULL;
  const LoomBatch *batch;

  self->is_begun = FALSE;
  if (!check (self, error))
    return FALSE;
  if (self->find_rank != NULL)
    self->rank = self->find_rank (self->data);
  batch = peek (self, &loader, error);
  self->step = self->loop->log->progress->step + 1;
  self->is_begun = batch != NULL && make_plan (self, batch->n_own, error) && make_stepper (self, error)
                   && begin (self, batch, error);
  return self->is_begun;
}

/* The gradient of the loss itself: 1, or in 16-bit training a factor. */
static double
scale_of_gradients (StepWalk *self)
{
  const LoomProgram *p = self->plan->program;
  const LoomValue loss = loom_program_find_output (p, "loss");
  const LoomTrainSpec *spec = self->model->spec;
  g_autofree char *port = loom_net_port_name (self->plan->net, spec->loss.node, spec->loss.output);
  g_autofree char *name = g_strconcat (LOOM_PORT_GRADIENT, port, NULL);
  g_autoptr (LoomTensor) seed = NULL;

  if (loss == 0 || spec->precision != LOOM_F16)
    return 1;
  seed = loom_stepper_port (self->stepper, name, NULL);
  return seed != NULL && loom_tensor_get (seed, 0) != 0 ? 1 / loom_tensor_get (seed, 0) : 1;
}

LoomTensor *
step_walk_port (StepWalk *self, const char *port, double *scale, GError **error)
{
  *scale = g_str_has_prefix (port, LOOM_PORT_GRADIENT) ? scale_of_gradients (self) : 1;
  return loom_stepper_port (self->stepper, port, error);
}
