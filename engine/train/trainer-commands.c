/* Commands and snapshot requests from other threads, handled between steps.
 *
 * Posting one sets an atomic flag, which is all that a step reads. The queues are read here, and a paused run waits
 * here. */
#include "engine/train/trainer-private.h"

#include <math.h>

/* The group whose learning rate this slot is, or -1. */
static int
find_group (const LoomTrainer *t, const char *name)
{
  for (guint i = 0; i < t->rates.n_groups; i++)
    if (g_str_equal (t->rates.group[i].slot_name, name))
      return (int)i;
  return -1;
}

gboolean
trainer_set_hyper (LoomTrainer *t, const char *name, double value, GError **error)
{
  int group = find_group (t, name);
  LoomJson *json;

  if (g_str_equal (name, "lr"))
    {
      t->place.base_lr = value;
      t->rates.lr = NAN;
    }
  else if (group >= 0)
    {
      t->place.group_lr[group] = value;
      t->rates.group[group].now = NAN;
    }
  else if (!loom_state_set_scalar (t->state, name, value))
    return TRUE; /* the sender calls loom_trainer_has_hyper() first */
  trainer_note_hyper (t, name, value);
  json = trainer_event_new ("hyper");
  loom_json_int (json, "step", t->place.step);
  loom_json_string (json, "name", name);
  loom_json_number (json, "value", value);
  return trainer_event_write (t, json, error);
}

static gboolean
run_command (LoomTrainer *t, const TrainerCommand *command, TrainerAction *action, GError **error)
{
  switch (command->kind)
    {
    case LOOM_COMMAND_PAUSE:
      t->inbox.paused = TRUE;
      return TRUE;
    case LOOM_COMMAND_RESUME:
      t->inbox.paused = FALSE;
      return TRUE;
    case LOOM_COMMAND_STEP:
      t->inbox.paused = t->inbox.single = TRUE;
      return TRUE;
    case LOOM_COMMAND_STOP:
      *action = MAX (*action, TRAINER_STOP);
      return TRUE;
    case LOOM_COMMAND_INTERRUPT:
      *action = TRAINER_INTERRUPT;
      return TRUE;
    case LOOM_COMMAND_CHECKPOINT:
      t->checkpoint_due = loom_state_is_divided (t->state);
      return t->checkpoint_due || trainer_checkpoint_write (t, NULL, error);
    case LOOM_COMMAND_SET_HYPER:
      return trainer_set_hyper (t, command->name, command->value, error);
    }
  g_return_val_if_reached (TRUE);
}

gboolean
trainer_command_pauses (const TrainerCommand *command)
{
  return command->kind == LOOM_COMMAND_PAUSE || command->kind == LOOM_COMMAND_STEP;
}

static gboolean
is_ending (const TrainerCommand *command)
{
  return command->kind == LOOM_COMMAND_INTERRUPT || command->kind == LOOM_COMMAND_STOP;
}

/* Who pauses or stops a run looks at its last step. An evaluation comes after an epoch's last one, which is kept. */
static gboolean
waits_for_step (const LoomTrainer *t, const TrainerCommand *command)
{
  const gboolean looks
      = trainer_command_pauses (command) || (command->kind == LOOM_COMMAND_STOP && !trainer_seen_is_copy (t));

  return looks && !t->inbox.paused && !trainer_seen_can_pause (t);
}

/* Snapshots of one round share a run of their plan; TRUE as long as none was asked for. */
static gboolean
trainer_answer (LoomTrainer *t, TrainerRequest *request, gboolean fresh)
{
  if (request->samples != NULL)
    {
      trainer_predict_answer (t, request);
      return fresh;
    }
  if (fresh)
    trainer_snapshot_round (t);
  trainer_snapshot_answer (t, request);
  return FALSE;
}

LoomTensor *
trainer_ask (LoomTrainer *t, TrainerRequest *request, GError **error)
{
  g_mutex_lock (&t->inbox.lock);
  /* Where nobody computes, the lock keeps a run from beginning meanwhile. */
  if (!t->inbox.active)
    trainer_answer (t, request, TRUE);
  else
    {
      g_queue_push_tail (&t->inbox.requests, request);
      g_atomic_int_set (&t->inbox.pending, 1);
      g_cond_signal (&t->inbox.wake);
      while (!request->done)
        g_cond_wait (&t->inbox.answered, &t->inbox.lock);
    }
  g_mutex_unlock (&t->inbox.lock);
  if (request->error != NULL)
    g_propagate_error (error, request->error);
  return request->result;
}

void
trainer_answer_requests (LoomTrainer *t)
{
  TrainerRequest *request;
  gboolean fresh = TRUE;

  /* One that has to wait for all ranks does so before the next step, if there is one. */
  while ((request = g_queue_peek_head (&t->inbox.requests))
         && (t->inbox.over || t->inbox.paused || trainer_seen_can_answer (t, request)))
    {
      g_queue_pop_head (&t->inbox.requests);
      g_mutex_unlock (&t->inbox.lock);
      fresh = trainer_answer (t, request, fresh);
      g_mutex_lock (&t->inbox.lock);
      request->done = TRUE;
      g_cond_broadcast (&t->inbox.answered);
    }
}

gboolean
trainer_poll (LoomTrainer *t, gboolean leave_ending, TrainerAction *action, GError **error)
{
  TrainerCommand *command;
  gboolean ok = TRUE;

  *action = TRAINER_CONTINUE;
  g_mutex_lock (&t->inbox.lock);
  for (;;)
    {
      while (ok && !t->inbox.single && (command = g_queue_peek_head (&t->inbox.commands)))
        {
          if (leave_ending && is_ending (command))
            {
              *action = TRAINER_STOP;
              break;
            }
          if (!leave_ending && waits_for_step (t, command))
            break;
          g_queue_pop_head (&t->inbox.commands);
          g_mutex_unlock (&t->inbox.lock);
          ok = run_command (t, command, action, error);
          g_mutex_lock (&t->inbox.lock);
          g_free (command->name);
          g_free (command);
        }
      trainer_answer_requests (t);
      if (!ok || *action != TRAINER_CONTINUE || !t->inbox.paused || t->inbox.single)
        break;
      if (!g_queue_is_empty (&t->inbox.commands))
        continue;
      g_mutex_unlock (&t->inbox.lock);
      ok = trainer_events_flush (t, error);
      trainer_set_state (t, "paused");
      g_mutex_lock (&t->inbox.lock);
      if (ok && g_queue_is_empty (&t->inbox.commands) && g_queue_is_empty (&t->inbox.requests))
        g_cond_wait (&t->inbox.wake, &t->inbox.lock);
      t->clock.next_step = t->place.step; /* what passed while waiting was no step's time */
      t->clock.last_time = g_get_monotonic_time ();
      t->clock.items_since = 0;
    }
  g_atomic_int_set (&t->inbox.pending, t->inbox.paused || t->inbox.single || !g_queue_is_empty (&t->inbox.commands)
                                           || !g_queue_is_empty (&t->inbox.requests));
  g_mutex_unlock (&t->inbox.lock);
  return ok;
}

gboolean
trainer_must_end (LoomTrainer *t)
{
  gboolean end = FALSE;

  if (!g_atomic_int_get (&t->inbox.pending))
    return FALSE;
  g_mutex_lock (&t->inbox.lock);
  for (GList *l = t->inbox.commands.head; l != NULL; l = l->next)
    end = end || is_ending (l->data);
  trainer_answer_requests (t);
  g_mutex_unlock (&t->inbox.lock);
  return end;
}
