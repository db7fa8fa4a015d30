/* Handles commands, requests and agreement of ranks between two steps. */
#include "engine/train/run-control.h"

#include "engine/core/loom-refuse.h"
#include "engine/recipe/loom-live-number.h"

#include <math.h>

/* Changes a number between two steps, on every rank itself, with an event. Nothing if there is none of this name.
 * Errors: of a batch size, with which the run cannot continue and does not; of the folder. */
static gboolean
change_value (RunControl *self, const char *name, double value, GError **error)
{
  const double before = g_str_equal (name, "lr")                    ? self->progress->base_lr
                        : g_str_equal (name, LEARNING_RATES_EPOCHS) ? (double)self->progress->epochs
                                                                    : NAN;
  const gboolean is_batch_size = g_str_equal (name, LOOM_LIVE_BATCH_SIZE);
  LoomJson *json;

  if (self->take_breakpoint != NULL && self->take_breakpoint (name, value, self->owner))
    return TRUE;
  if (is_batch_size && value == (double)batch_size_now (self->batch_size))
    return TRUE;
  if (is_batch_size)
    {
      if (!batch_size_change (self->batch_size, value, error))
        return FALSE;
    }
  else if (!learning_rates_change (self->rates, self->progress, name, value)
           && !loom_state_set_scalar (self->model->state, name, value))
    return TRUE; /* the sender calls loom_trainer_check_hyper() first */
  self->checkpoints->before_change = self->checkpoints->saved_step;
  json = run_event_new ("hyper");
  loom_json_int (json, "step", self->progress->step);
  loom_json_string (json, "name", name);
  loom_json_exact (json, "value", value);
  if (!isnan (before))
    loom_json_exact (json, "before", before);
  return run_folder_add_event (self->folder, json, error);
}

gboolean
run_control_replay (RunControl *self, LiveChanges *changes, GError **error)
{
  const LiveChange *change;

  while ((change = live_changes_next (changes, self->progress->step)) != NULL)
    if (change->is_initial)
      learning_rates_change (self->rates, self->progress, change->name, change->value);
    else if (!change_value (self, change->name, change->value, error))
      return FALSE;
  return TRUE;
}

/* A run continues as it was if its batch size cannot change. */
static gboolean
set_or_report (RunControl *self, const char *name, double value, GError **error)
{
  g_autoptr (GError) local = NULL;

  if (change_value (self, name, value, &local))
    return TRUE;
  if (g_str_equal (name, LOOM_LIVE_BATCH_SIZE) && !g_error_matches (local, LOOM_ERROR, LOOM_ERROR_DIST)
      && !g_error_matches (local, LOOM_ERROR, LOOM_ERROR_IO))
    {
      train_notes_report (self->notes, local->message);
      return TRUE;
    }
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

/* All ranks change the batch size together, after rank 0 has passed it on. */
static gboolean
set_value (const char *name, double value, RunControl *self, GError **error)
{
  const gboolean together = self->group->comm != NULL && g_str_equal (name, LOOM_LIVE_BATCH_SIZE);

  if (run_control_has_value (self, name))
    agreement_note_value (&self->agreement, name, value, together);
  return together || set_or_report (self, name, value, error);
}

static gboolean
set_agreed (const char *name, double value, gpointer data, GError **error)
{
  return set_or_report (data, name, value, error);
}

static gboolean
come_back (RunControl *self, GError **error)
{
  return self->come_back == NULL || self->come_back (self->owner, error);
}

static gboolean
obey (const TrainCommand *command, gpointer data, GError **error)
{
  RunControl *self = data;

  if (!come_back (self, error))
    return FALSE;
  if (command->kind == LOOM_COMMAND_SET_HYPER)
    return set_value (command->name, command->value, self, error);
  self->checkpoints->is_due = loom_state_is_divided (self->model->state);
  return self->checkpoints->is_due || checkpoints_write (self->checkpoints, self->progress, error);
}

static gboolean
serve (TrainRequest *request, gboolean fresh, gpointer data)
{
  RunControl *self = data;

  if (request->call != NULL)
    {
      request->call (request->call_data, &request->error);
      return TRUE; /* it may have gone to another step */
    }
  return train_observers_serve (self->observers, request, fresh, inbox_pauses (&self->inbox));
}

static gboolean
can_serve (const TrainRequest *request, gpointer data)
{
  const WatchedState *watched = &((RunControl *)data)->observers->watched;

  return (!train_request_needs_state (request) || watched_state_is_ready (watched))
         && (!train_request_is_update (request) || watched_state_can_stand (watched, FALSE));
}

static gboolean
can_stand (gboolean stops, gpointer data)
{
  return watched_state_can_stand (&((RunControl *)data)->observers->watched, stops);
}

static gboolean
pause_run (gpointer data, GError **error)
{
  RunControl *self = data;
  const gboolean ok = run_folder_flush (self->folder, error);

  run_control_show (self, "paused");
  return ok;
}

static void
resume_run (gpointer data)
{
  RunControl *self = data;

  step_clock_resume (self->clock, self->progress->step);
}

void
run_control_init (RunControl *self)
{
  const InboxOwner owner = { obey, serve, can_serve, can_stand, pause_run, resume_run, self };

  inbox_init (&self->inbox, &owner);
  self->agreement.group = self->group;
}

void
run_control_clear (RunControl *self)
{
  agreement_clear (&self->agreement);
  inbox_clear (&self->inbox);
}

void
run_control_show (RunControl *self, const char *state)
{
  if (g_strcmp0 (self->shown, state) == 0)
    return;
  self->shown = state;
  self->show (state, self->owner);
}

gboolean
run_control_is_wanted (RunControl *self)
{
  return self->group->comm != NULL || inbox_is_pending (&self->inbox);
}

/* Rank 0 handles its inbox, and all ranks execute the same. */
static gboolean
agree (RunControl *self, TrainAction *action, GError **error)
{
  RankReports *reports = &self->observers->reports;
  WatchedState *watched = &self->observers->watched;
  StepTrace *trace = &self->observers->trace;
  TrainAction own = TRAIN_CONTINUE;
  gint64 wanted[3] = { 0 }, most[3];
  AgreedStep step;

  if (rank_group_is_first (self->group))
    {
      wanted[0] = inbox_is_pending (&self->inbox) || trace->wanted || rank_reports_wanted (reports) != reports->on
                  || agreement_has_values (&self->agreement);
      wanted[2]
          = inbox_is_pending (&self->inbox) && watched_state_is_copy (watched) && inbox_needs_state (&self->inbox);
    }
  else /* On other ranks only a request to end counts, which may be a signal that reached only one of them. */
    wanted[0] = inbox_must_end (&self->inbox, FALSE) ? 2 : 0;
  wanted[1] = self->checkpoints->is_due;
  if (!rank_group_max (self->group, wanted, most, 3, error))
    return FALSE;
  if (most[0] == 0 && most[1] == 0)
    return TRUE;
  self->checkpoints->is_due = FALSE;
  /* Synchronises state and progress, on all ranks. Reading the last step may make the next checkpoint due. */
  if (!training_loop_finish (self->loop, error)
      || (most[1] != 0 && !checkpoints_write (self->checkpoints, self->progress, error))
      || (most[2] != 0 && !watched_state_gather (watched, error)))
    return FALSE;
  if (most[0] == 0)
    return TRUE;
  if (wanted[0] == 1 && !inbox_poll (&self->inbox, FALSE, &own, error))
    return FALSE;
  step = (AgreedStep){ .action = (gint32)own, .trace = trace->wanted, .reports = rank_reports_wanted (reports) };
  if (!rank_group_wait_for_first (self->group, error)
      || !agreement_pass_on (&self->agreement, &step, set_agreed, self, error))
    return FALSE;
  trace->wanted = step.trace;
  reports->on = step.reports;
  self->plans->reports_own = (reports->on & RANK_REPORT_LOSSES) != 0;
  *action = most[0] == 2 ? TRAIN_INTERRUPT : (TrainAction)step.action;
  return TRUE;
}

gboolean
run_control_poll (RunControl *self, TrainAction *action, GError **error)
{
  *action = TRAIN_CONTINUE;
  if (!(self->group->comm != NULL ? agree (self, action, error) : inbox_poll (&self->inbox, FALSE, action, error))
      || !come_back (self, error))
    return FALSE;
  if (*action == TRAIN_CONTINUE)
    run_control_show (self, "running");
  return TRUE;
}

gboolean
run_control_poll_evaluation (RunControl *self, gboolean *yields, GError **error)
{
  TrainAction action = TRAIN_CONTINUE;

  *yields = FALSE;
  if (self->group->comm != NULL || !inbox_is_pending (&self->inbox))
    return TRUE; /* ranks agree only between steps */
  if (!self->inbox.active || self->inbox.single)
    {
      *yields = inbox_must_end (&self->inbox, TRUE);
      return TRUE;
    }
  if (!inbox_poll (&self->inbox, TRUE, &action, error))
    return FALSE;
  *yields = action != TRAIN_CONTINUE;
  if (!*yields && !inbox_pauses (&self->inbox))
    run_control_show (self, "running");
  return TRUE;
}

gboolean
run_control_has_value (const RunControl *self, const char *name)
{
  if (g_str_equal (name, LOOM_LIVE_BATCH_SIZE))
    return batch_size_can_change (self->batch_size, NULL);
  if (learning_rates_schedules (self->rates, name))
    return FALSE;
  for (guint i = 0; i < loom_state_n_slots (self->model->state); i++)
    {
      const char *slot;
      LoomSlotKind kind;
      LoomTensorDesc desc;

      loom_state_slot (self->model->state, i, &slot, &kind, &desc);
      if (kind == LOOM_SLOT_SCALAR && loom_dtype_is_float (desc.dtype) && g_str_equal (slot, name)
          && !step_plans_owns_slot (self->plans, (int)i))
        return TRUE;
    }
  return FALSE;
}

gboolean
run_control_check_value (const RunControl *self, const char *name, double value, GError **error)
{
  if (g_str_equal (name, LOOM_LIVE_BATCH_SIZE))
    return batch_size_check (self->batch_size, value, error);
  if (run_control_has_value (self, name))
    {
      g_autoptr (GPtrArray) numbers = loom_live_numbers_new (self->model->spec, self->model->net);

      for (guint i = 0; i < numbers->len; i++)
        if (g_str_equal (((const LoomLiveNumber *)numbers->pdata[i])->name, name))
          return loom_live_number_check (numbers->pdata[i], value, error);
      return loom_live_number_check (
          &(LoomLiveNumber){ .name = (char *)name, .minimum = -INFINITY, .maximum = INFINITY }, value, error);
    }
  return loom_refuse (error, LOOM_ERROR_USAGE, "This run has no number “%s” that can change during training.", name);
}
