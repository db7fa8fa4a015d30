/* Requests of other threads for a walk; see the header. */
#include "engine/train/walk-requests.h"

#include "engine/core/loom-error.h"
#include "engine/core/loom-refuse.h"
#include "engine/infer/derivative-chain.h"
#include "engine/train/loom-step.h"

typedef struct
{
  StepWalk *walk;
  const LoomWalkCommand *command;
  LoomStepperPlace *place;
  gint64 *step;
} WalkCall;

static gboolean
run_walk_command (StepWalk *walk, const LoomWalkCommand *command, GError **error)
{
  switch (command->kind)
    {
    case LOOM_WALK_BEGIN:
      return step_walk_begin (walk, error);
    case LOOM_WALK_MOVE:
      return loom_stepper_move (walk->stepper, command->move, error);
    case LOOM_WALK_FINISH:
      return loom_stepper_finish (walk->stepper, command->region, error);
    case LOOM_WALK_GO_TO:
      return loom_stepper_go_to (walk->stepper, command->node, command->region, error);
    }
  g_return_val_if_reached (FALSE);
}

static gboolean
require_walk (const StepWalk *walk, GError **error)
{
  if (!walk->is_begun)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "No step is taken apart. Begin one.");
  return walk->is_begun;
}

/* The update of several ranks needs the gradients of all, or an optimizer's state of which each has a part, and a walk
 * has neither: it goes back. */
static gboolean
refuse_update (StepWalk *walk, const LoomStepperPlace *place, GError **error)
{
  GError *fault = NULL;

  if (walk->rank < 0 || place->region != LOOM_REGION_UPDATE)
    return FALSE;
  if (loom_stepper_finish (walk->stepper, LOOM_REGION_BACKWARD, &fault))
    g_set_error (&fault, LOOM_ERROR, LOOM_ERROR_USAGE,
                 step_walk_is_divided (walk)
                     ? "The ranks update their parts of the weights, which a walk on rank %d cannot. Take the step to "
                       "see its weights."
                     : "The update averages the gradients of all ranks, and these are of rank %d. Take the step to "
                       "see its weights.",
                 walk->rank);
  g_propagate_error (error, fault);
  return TRUE;
}

static gboolean
call_walk (gpointer data, GError **error)
{
  WalkCall *call = data;
  StepWalk *walk = call->walk;

  if ((call->command->kind != LOOM_WALK_BEGIN && !require_walk (walk, error))
      || !run_walk_command (walk, call->command, error))
    return FALSE;
  loom_stepper_get_place (walk->stepper, call->place);
  *call->step = walk->step;
  return !refuse_update (walk, call->place, error);
}

gboolean
walk_requests_command (Inbox *inbox, StepWalk *walk, const LoomWalkCommand *command, LoomStepperPlace *place,
                       gint64 *step, GError **error)
{
  WalkCall call = { walk, command, place, step };
  TrainRequest request
      = { .call = call_walk, .call_data = &call, .call_needs_state = command->kind == LOOM_WALK_BEGIN };
  GError *fault = NULL;

  inbox_ask (inbox, &request, &fault);
  if (fault != NULL)
    g_propagate_error (error, fault);
  return fault == NULL;
}

static gboolean
call_end_walk (gpointer data, GError **error)
{
  step_walk_clear (data);
  return TRUE;
}

void
walk_requests_end (Inbox *inbox, StepWalk *walk)
{
  TrainRequest request = { .call = call_end_walk, .call_data = walk };

  inbox_ask (inbox, &request, NULL);
}

typedef struct
{
  StepWalk *walk;
  guint n;
  const char *const *port;
  LoomPortSummary *value;
} ValuesCall;

static gboolean
call_values (gpointer data, GError **error)
{
  const ValuesCall *call = data;

  if (!require_walk (call->walk, error))
    return FALSE;
  for (guint i = 0; i < call->n; i++)
    {
      GError *fault = NULL;
      double scale;
      g_autoptr (LoomTensor) t = step_walk_port (call->walk, call->port[i], &scale, &fault);

      call->value[i] = (LoomPortSummary){ 0 };
      if (fault != NULL)
        {
          g_propagate_error (error, fault);
          return FALSE;
        }
      if (t != NULL)
        loom_port_summary_set (&call->value[i], t, scale);
    }
  return TRUE;
}

gboolean
walk_requests_values (Inbox *inbox, StepWalk *walk, guint n, const char *const *port, LoomPortSummary *value,
                      GError **error)
{
  ValuesCall call = { walk, n, port, value };
  TrainRequest request = { .call = call_values, .call_data = &call };
  GError *fault = NULL;

  inbox_ask (inbox, &request, &fault);
  if (fault != NULL)
    g_propagate_error (error, fault);
  return fault == NULL;
}

typedef struct
{
  StepWalk *walk;
  const char *port;
  double *scale;
  LoomTensor *result;
} PortCall;

static gboolean
call_port (gpointer data, GError **error)
{
  PortCall *call = data;

  if (!require_walk (call->walk, error))
    return FALSE;
  call->result = step_walk_port (call->walk, call->port, call->scale, error);
  return call->result != NULL;
}

LoomTensor *
walk_requests_port (Inbox *inbox, StepWalk *walk, const char *port, double *scale, GError **error)
{
  PortCall call = { walk, port, scale, NULL };
  TrainRequest request = { .call = call_port, .call_data = &call };

  inbox_ask (inbox, &request, error);
  return call.result;
}

typedef struct
{
  StepWalk *walk;
  const char *port;
  gint64 element;
  double *value, *gradient;
  GArray *chain;
} ChainCall;

static gboolean
trains (gpointer data, int slot)
{
  const StepWalk *walk = data;

  return loom_step_trains (walk->plan->program, slot, walk->model->spec);
}

static LoomTensor *
port_of (gpointer data, const char *port, double *scale, GError **error)
{
  return step_walk_port (data, port, scale, error);
}

static gboolean
call_chain (gpointer data, GError **error)
{
  ChainCall *call = data;
  StepWalk *walk = call->walk;
  DerivativeStep step;

  if (!require_walk (walk, error))
    return FALSE;
  if (walk->loop->log->progress->step + 1 != walk->step)
    return loom_refuse (error, LOOM_ERROR_USAGE, "The run has continued. Take its next step apart.");
  step = (DerivativeStep){ .net = walk->plan->net,
                           .program = walk->plan->program,
                           .eager = loom_stepper_eager (walk->stepper),
                           .loss = walk->model->spec->loss,
                           .options = train_model_lower_options (walk->model, 0, NULL),
                           .state = walk->model->state,
                           .devices = walk->model->devices,
                           .device = walk->model->device,
                           .trains = trains,
                           .port = port_of,
                           .data = walk };
  step.options.training = TRUE;
  call->chain = derivative_chain_new (&step, call->port, call->element, call->value, call->gradient, error);
  return call->chain != NULL;
}

GArray *
walk_requests_derivatives (Inbox *inbox, StepWalk *walk, const char *port, gint64 element, double *value,
                           double *gradient, GError **error)
{
  ChainCall call = { walk, port, element, value, gradient, NULL };
  TrainRequest request = { .call = call_chain, .call_data = &call };

  inbox_ask (inbox, &request, error);
  return call.chain;
}
