/* Commands and questions from other threads, answered between steps.
 *
 * Whoever posts one sets an atomic flag, which is all that a step looks at; the queues are read here, and here a paused
 * run waits. */
#include "engine/train/trainer-private.h"

#include <math.h>

static TrainerRate *
find_rate (LoomTrainer *t, const char *name)
{
  for (guint i = 0; i < t->rates->len; i++)
    {
      TrainerRate *rate = &g_array_index (t->rates, TrainerRate, i);
      if (g_str_equal (rate->slot_name, name))
        return rate;
    }
  return NULL;
}

static gboolean
set_hyper (LoomTrainer *t, const char *name, double value, GError **error)
{
  LoomJson *json;

  if (g_str_equal (name, "lr"))
    {
      t->base_lr = value;
      t->lr = NAN;
    }
  else if (find_rate (t, name))
    {
      find_rate (t, name)->base = value;
      find_rate (t, name)->now = NAN;
    }
  else if (!loom_state_set_scalar (t->state, name, value))
    return TRUE; /* whoever posts asks loom_trainer_has_hyper() first */
  json = trainer_event_new ("hyper");
  loom_json_int (json, "step", t->step);
  loom_json_string (json, "name", name);
  loom_json_number (json, "value", value);
  return trainer_event_write (t, json, error);
}

static gboolean
obey (LoomTrainer *t, const TrainerCommand *command, TrainerVerdict *verdict, GError **error)
{
  switch (command->kind)
    {
    case LOOM_COMMAND_PAUSE:
      t->paused = TRUE;
      return TRUE;
    case LOOM_COMMAND_RESUME:
      t->paused = FALSE;
      return TRUE;
    case LOOM_COMMAND_STEP:
      t->paused = t->single = TRUE;
      return TRUE;
    case LOOM_COMMAND_STOP:
      *verdict = MAX (*verdict, TRAINER_STOP);
      return TRUE;
    case LOOM_COMMAND_INTERRUPT:
      *verdict = TRAINER_INTERRUPT;
      return TRUE;
    case LOOM_COMMAND_CHECKPOINT:
      return trainer_checkpoint_write (t, NULL, error);
    case LOOM_COMMAND_SET_HYPER:
      return set_hyper (t, command->name, command->value, error);
    }
  g_return_val_if_reached (TRUE);
}

static gboolean
is_ending (const TrainerCommand *command)
{
  return command->kind == LOOM_COMMAND_INTERRUPT || command->kind == LOOM_COMMAND_STOP;
}

void
trainer_answer_requests (LoomTrainer *t)
{
  TrainerSnapshotRequest *request;

  while ((request = g_queue_pop_head (&t->requests)))
    {
      g_mutex_unlock (&t->lock);
      trainer_snapshot_answer (t, request);
      g_mutex_lock (&t->lock);
      request->done = TRUE;
      g_cond_broadcast (&t->answered);
    }
}

gboolean
trainer_attend (LoomTrainer *t, gboolean leave_ending, TrainerVerdict *verdict, GError **error)
{
  TrainerCommand *command;
  gboolean ok = TRUE;

  *verdict = TRAINER_GO_ON;
  g_mutex_lock (&t->lock);
  for (;;)
    {
      while (ok && !t->single && (command = g_queue_peek_head (&t->commands)))
        {
          if (leave_ending && is_ending (command))
            {
              *verdict = TRAINER_STOP;
              break;
            }
          g_queue_pop_head (&t->commands);
          g_mutex_unlock (&t->lock);
          ok = obey (t, command, verdict, error);
          g_mutex_lock (&t->lock);
          g_free (command->name);
          g_free (command);
        }
      trainer_answer_requests (t);
      if (!ok || *verdict != TRAINER_GO_ON || !t->paused || t->single)
        break;
      if (!g_queue_is_empty (&t->commands))
        continue;
      g_mutex_unlock (&t->lock);
      ok = trainer_events_flush (t, error);
      trainer_set_state (t, "paused");
      g_mutex_lock (&t->lock);
      if (ok && g_queue_is_empty (&t->commands) && g_queue_is_empty (&t->requests))
        g_cond_wait (&t->wake, &t->lock);
      t->clock_next = t->step; /* what passed while waiting was no step's time */
      t->last_time = g_get_monotonic_time ();
      t->items_since = 0;
    }
  g_atomic_int_set (&t->pending, t->paused || t->single || !g_queue_is_empty (&t->commands));
  g_mutex_unlock (&t->lock);
  return ok;
}

gboolean
trainer_must_end (LoomTrainer *t)
{
  gboolean end = FALSE;

  if (!g_atomic_int_get (&t->pending))
    return FALSE;
  g_mutex_lock (&t->lock);
  for (GList *l = t->commands.head; l; l = l->next)
    end = end || is_ending (l->data);
  trainer_answer_requests (t);
  g_mutex_unlock (&t->lock);
  return end;
}
