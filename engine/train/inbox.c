/* Commands and requests of other threads, handled between steps. */
#include "engine/train/inbox.h"

#include <string.h>

void
inbox_init (Inbox *self, const InboxOwner *owner)
{
  *self = (Inbox){ .owner = *owner };
  g_mutex_init (&self->lock);
  g_cond_init (&self->wake);
  g_cond_init (&self->served);
  g_queue_init (&self->commands);
  g_queue_init (&self->requests);
}

static void
command_free (TrainCommand *command)
{
  g_free (command->name);
  g_free (command);
}

void
inbox_clear (Inbox *self)
{
  g_queue_clear_full (&self->commands, (GDestroyNotify)command_free);
  g_queue_clear (&self->requests);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->wake);
  g_cond_clear (&self->served);
}

void
inbox_post (Inbox *self, LoomCommandKind kind, const char *name, double value)
{
  TrainCommand *command = g_new (TrainCommand, 1);

  *command = (TrainCommand){ kind, g_strdup (name), value };
  g_mutex_lock (&self->lock);
  g_queue_push_tail (&self->commands, command);
  g_atomic_int_set (&self->pending, 1);
  g_cond_signal (&self->wake);
  g_mutex_unlock (&self->lock);
}

gboolean
train_request_is_update (const TrainRequest *request)
{
  return request->port != NULL && g_str_has_prefix (request->port, TRAIN_PORT_UPDATE);
}

gboolean
train_request_needs_state (const TrainRequest *request)
{
  if (request->call != NULL || request->later != NULL)
    return request->call_needs_state;
  return request->samples != NULL || request->wants_weights || strchr (request->port, ':') == NULL
         || g_str_has_prefix (request->port, "grad:") || g_str_has_prefix (request->port, TRAIN_PORT_NOW)
         || train_request_is_update (request) || g_str_equal (request->port, LOOM_SNAPSHOT_TIMES)
         || g_str_equal (request->port, LOOM_SNAPSHOT_HEALTH);
}

/* A command that pauses the run, at once or after a step. */
static gboolean
pauses (const TrainCommand *command)
{
  return command->kind == LOOM_COMMAND_PAUSE || command->kind == LOOM_COMMAND_STEP;
}

static gboolean
ends (const TrainCommand *command)
{
  return command->kind == LOOM_COMMAND_STOP || command->kind == LOOM_COMMAND_INTERRUPT;
}

static gboolean
run_command (Inbox *self, const TrainCommand *command, TrainAction *action, GError **error)
{
  switch (command->kind)
    {
    case LOOM_COMMAND_PAUSE:
      self->paused = TRUE;
      return TRUE;
    case LOOM_COMMAND_RESUME:
      self->paused = FALSE;
      return TRUE;
    case LOOM_COMMAND_STEP:
      self->paused = self->single = TRUE;
      return TRUE;
    case LOOM_COMMAND_STOP:
      *action = MAX (*action, TRAIN_STOP);
      return TRUE;
    case LOOM_COMMAND_INTERRUPT:
      *action = TRAIN_INTERRUPT;
      return TRUE;
    case LOOM_COMMAND_CHECKPOINT:
    case LOOM_COMMAND_SET_HYPER:
      return self->owner.obey (command, self->owner.data, error);
    }
  g_return_val_if_reached (TRUE);
}

/* Observers show the last step of a paused or stopped run. An evaluation follows the last step of an epoch, whose state
 * is kept. */
static gboolean
waits_for_step (const Inbox *self, const TrainCommand *command)
{
  return (pauses (command) || command->kind == LOOM_COMMAND_STOP) && !self->paused
         && !self->owner.can_stand (command->kind == LOOM_COMMAND_STOP, self->owner.data);
}

/* The requests of the function are served at once, and share a round of snapshots. */
static void
call_later (Inbox *self, TrainRequest *request)
{
  self->fresh = TRUE;
  g_atomic_pointer_set (&self->thread, g_thread_self ());
  request->later (request->call_data);
  g_atomic_pointer_set (&self->thread, NULL);
  g_free (request);
}

/* TRUE if the next request waits until an evaluation is over, which therefore goes on, even if the run is paused. */
static gboolean
waits_for_evaluation (Inbox *self, gboolean evaluates)
{
  const TrainRequest *request = g_queue_peek_head (&self->requests);

  return evaluates && request != NULL && request->between_steps;
}

/* Called with the lock held, which is released while a request is served. */
static void
serve_requests (Inbox *self, gboolean evaluates)
{
  TrainRequest *request;
  gboolean fresh = TRUE;

  /* A request that needs all ranks waits for the next step, if there is one. */
  while ((request = g_queue_peek_head (&self->requests)) && !waits_for_evaluation (self, evaluates)
         && (self->over || self->paused || self->owner.can_serve (request, self->owner.data)))
    {
      g_queue_pop_head (&self->requests);
      g_mutex_unlock (&self->lock);
      if (request->later != NULL)
        {
          call_later (self, request);
          fresh = TRUE;
          g_mutex_lock (&self->lock);
          continue;
        }
      fresh = self->owner.serve (request, fresh, self->owner.data);
      g_mutex_lock (&self->lock);
      request->done = TRUE;
      g_cond_broadcast (&self->served);
    }
}

LoomTensor *
inbox_ask (Inbox *self, TrainRequest *request, GError **error)
{
  if (g_atomic_pointer_get (&self->thread) == g_thread_self ())
    {
      self->fresh = self->owner.serve (request, self->fresh, self->owner.data);
      if (request->error != NULL)
        g_propagate_error (error, request->error);
      return request->result;
    }
  g_mutex_lock (&self->lock);
  /* If no thread computes, the lock prevents a run from beginning meanwhile. */
  if (!self->active)
    self->owner.serve (request, TRUE, self->owner.data);
  else
    {
      g_queue_push_tail (&self->requests, request);
      g_atomic_int_set (&self->pending, 1);
      g_cond_signal (&self->wake);
      while (!request->done)
        g_cond_wait (&self->served, &self->lock);
    }
  g_mutex_unlock (&self->lock);
  if (request->error != NULL)
    g_propagate_error (error, request->error);
  return request->result;
}

void
inbox_later (Inbox *self, void (*later) (gpointer data), gpointer data)
{
  TrainRequest *request = g_new0 (TrainRequest, 1);

  *request = (TrainRequest){ .later = later, .call_data = data };
  g_mutex_lock (&self->lock);
  /* As in inbox_ask(): no run begins meanwhile. */
  if (!self->active)
    call_later (self, request);
  else
    {
      g_queue_push_tail (&self->requests, request);
      g_atomic_int_set (&self->pending, 1);
      g_cond_signal (&self->wake);
    }
  g_mutex_unlock (&self->lock);
}

void
inbox_begin (Inbox *self)
{
  g_mutex_lock (&self->lock);
  self->active = TRUE;
  g_mutex_unlock (&self->lock);
}

void
inbox_end (Inbox *self)
{
  /* Other requests wait in the queue while one is served, because the serving code is not reentrant. */
  g_mutex_lock (&self->lock);
  self->over = TRUE;
  serve_requests (self, FALSE);
  self->active = self->over = FALSE;
  g_mutex_unlock (&self->lock);
}

gboolean
inbox_is_pending (Inbox *self)
{
  return g_atomic_int_get (&self->pending) != 0;
}

/* With the lock held. FALSE on an error. */
static gboolean
run_commands (Inbox *self, gboolean evaluates, TrainAction *action, GError **error)
{
  TrainCommand *command;
  gboolean ok = TRUE;

  while (ok && !self->single && (command = g_queue_peek_head (&self->commands)))
    {
      if (evaluates && ends (command))
        {
          *action = TRAIN_STOP;
          break;
        }
      if (!evaluates && waits_for_step (self, command))
        break;
      g_queue_pop_head (&self->commands);
      g_mutex_unlock (&self->lock);
      ok = run_command (self, command, action, error);
      g_mutex_lock (&self->lock);
      command_free (command);
    }
  return ok;
}

gboolean
inbox_poll (Inbox *self, gboolean evaluates, TrainAction *action, GError **error)
{
  gboolean ok = TRUE;

  *action = TRAIN_CONTINUE;
  g_mutex_lock (&self->lock);
  for (;;)
    {
      ok = ok && run_commands (self, evaluates, action, error);
      serve_requests (self, evaluates);
      if (!ok || *action != TRAIN_CONTINUE || !self->paused || self->single || waits_for_evaluation (self, evaluates))
        break;
      if (!g_queue_is_empty (&self->commands))
        continue;
      g_mutex_unlock (&self->lock);
      ok = self->owner.pause (self->owner.data, error);
      g_mutex_lock (&self->lock);
      if (ok && g_queue_is_empty (&self->commands) && g_queue_is_empty (&self->requests))
        g_cond_wait (&self->wake, &self->lock);
      self->owner.resume (self->owner.data);
    }
  g_atomic_int_set (&self->pending, self->paused || self->single || !g_queue_is_empty (&self->commands)
                                        || !g_queue_is_empty (&self->requests));
  g_mutex_unlock (&self->lock);
  return ok;
}

void
inbox_pause (Inbox *self)
{
  g_mutex_lock (&self->lock);
  self->paused = TRUE;
  g_atomic_int_set (&self->pending, 1);
  g_mutex_unlock (&self->lock);
}

gboolean
inbox_take_single (Inbox *self)
{
  self->taken = self->single;
  self->single = FALSE;
  return self->taken;
}

void
inbox_repeat (Inbox *self)
{
  self->single = self->taken;
}

gboolean
inbox_must_end (Inbox *self, gboolean evaluates)
{
  gboolean end = FALSE;

  if (!inbox_is_pending (self))
    return FALSE;
  g_mutex_lock (&self->lock);
  for (GList *l = self->commands.head; l != NULL; l = l->next)
    end = end || ends (l->data);
  serve_requests (self, evaluates);
  g_mutex_unlock (&self->lock);
  return end;
}

gboolean
inbox_needs_state (Inbox *self)
{
  gboolean needs;

  g_mutex_lock (&self->lock);
  needs = self->paused;
  for (GList *l = self->requests.head; l != NULL; l = l->next)
    needs = needs || train_request_needs_state (l->data);
  for (GList *l = self->commands.head; l != NULL; l = l->next)
    needs = needs || pauses (l->data);
  g_mutex_unlock (&self->lock);
  return needs;
}

gboolean
inbox_will_stand (Inbox *self)
{
  gboolean is_paused = FALSE;

  if (!inbox_is_pending (self))
    return FALSE;
  g_mutex_lock (&self->lock);
  for (GList *l = self->commands.head; l != NULL; l = l->next)
    is_paused = is_paused || pauses (l->data) || ((const TrainCommand *)l->data)->kind == LOOM_COMMAND_STOP;
  for (GList *l = self->requests.head; l != NULL; l = l->next)
    is_paused = is_paused || train_request_is_update (l->data);
  g_mutex_unlock (&self->lock);
  return is_paused;
}

gboolean
inbox_pauses (const Inbox *self)
{
  return !self->active || self->over || self->paused;
}
