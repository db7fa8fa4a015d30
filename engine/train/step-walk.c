/* Walks the next step of a run; see the header. */
#include "engine/train/step-walk.h"

#include "engine/core/loom-error.h"

void
step_walk_clear (StepWalk *self)
{
  self->is_begun = FALSE;
  g_clear_pointer (&self->stepper, loom_stepper_free);
  g_clear_pointer (&self->plan, loom_step_free);
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
  self->plan = loom_step_new (self->model->graph, &spec, batch, TRUE, error);
  return self->plan != NULL;
}

static gboolean
make_stepper (StepWalk *self, GError **error)
{
  LoomEager *eager;

  if (self->stepper != NULL)
    return TRUE;
  eager = loom_eager_new (self->plan->program, self->model->state, self->model->devices, self->model->device, error);
  if (eager != NULL)
    self->stepper = loom_stepper_new (eager);
  return eager != NULL;
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

gboolean
step_walk_can_begin (const StepWalk *self)
{
  return self->group->comm == NULL || (!self->group->has_server && !loom_state_is_divided (self->model->state));
}

gboolean
step_walk_begin (StepWalk *self, GError **error)
{
  g_autoptr (LoomLoader) loader = NULL;
  const LoomBatch *batch;

  self->is_begun = FALSE;
  if (!step_walk_can_begin (self))
    {
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_USAGE,
          "Each rank of this run has only a part of the weights, so a step cannot be walked node by node. Train "
          "on one rank.");
      return FALSE;
    }
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
