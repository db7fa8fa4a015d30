/* The state that views look at. Where ranks have parts of the weights, or some of them none, as with ZeRO-3, split
 * products and pipelines, no rank can answer a view by itself: when one asks rank 0, or pauses the run to look, all
 * ranks put their parts together before the next step, and rank 0 keeps a copy that is whole. What cannot be copied is
 * reported to the caller, and does not end the run.
 *
 * A run that stands still shows one step: its loss, its values and its gradients, all from before its update. The
 * update overwrites the weights, so a run that is shown keeps a copy of them before each step after which it may stand
 * still: a single step, the step that a pause or a stop waits for, the last step, and the last of an epoch that ends
 * with an evaluation or may end the run early. Runs of several ranks show the state after the step. */
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "engine/train/trainer-private.h"

void
trainer_seen_free (TrainerSeen *seen)
{
  g_clear_pointer (&seen->state, loom_state_unref);
  g_clear_pointer (&seen->value, g_hash_table_unref);
  g_free (seen->why_not);
}

/* Weights, buffers and averages of weights: what a model computes with. Scalars are the same on all ranks. */
static gboolean
is_seen (const char *name, LoomSlotKind kind)
{
  return kind == LOOM_SLOT_PARAMETER || kind == LOOM_SLOT_BUFFER || g_str_has_prefix (name, LOOM_SLOT_EMA);
}

gboolean
trainer_seen_is_copy (const LoomTrainer *t)
{
  gboolean divided = FALSE;

  for (guint i = 0; loom_state_is_divided (t->state) && i < loom_state_n_slots (t->state) && !divided; i++)
    {
      const char *name;
      LoomSlotKind kind;

      loom_state_slot (t->state, i, &name, &kind, NULL);
      divided = is_seen (name, kind) && loom_state_slot_is_divided (t->state, i);
    }
  return divided;
}

/* What is asked for needs no values of the state, or is told by all ranks in another way. */
static gboolean
needs_state (const TrainerRequest *request)
{
  return request->samples != NULL || strchr (request->port, ':') == NULL || g_str_has_prefix (request->port, "grad:")
         || g_str_has_prefix (request->port, TRAINER_NOW) || g_str_equal (request->port, LOOM_SNAPSHOT_TIMES);
}

static gboolean
is_newest (const LoomTrainer *t)
{
  return t->seen.value != NULL && t->seen.step == t->place.step;
}

/* Another rank than the first is never asked to wait: it says that it has a part alone. */
gboolean
trainer_seen_can_answer (const LoomTrainer *t, const TrainerRequest *request)
{
  return !needs_state (request) || is_newest (t) || !trainer_seen_is_copy (t) || t->comm->rank > 0;
}

/* An observer of the memory shows the run. Ranks would have to put their parts together before each such step. */
static gboolean
keeps_last (const LoomTrainer *t)
{
  return t->observer.memory != NULL && t->comm == NULL;
}

gboolean
trainer_seen_can_pause (const LoomTrainer *t)
{
  if (trainer_seen_is_copy (t))
    return is_newest (t);
  return !keeps_last (t) || t->last.step + 1 == t->place.step;
}

/* With the lock held. */
static gboolean
is_asked (LoomTrainer *t)
{
  for (GList *l = t->inbox.requests.head; l != NULL; l = l->next)
    if (needs_state (l->data))
      return TRUE;
  for (GList *l = t->inbox.commands.head; l != NULL; l = l->next)
    if (trainer_command_pauses (l->data))
      return TRUE;
  return t->inbox.paused;
}

gboolean
trainer_seen_is_wanted (LoomTrainer *t)
{
  gboolean asked;

  if (!g_atomic_int_get (&t->inbox.pending) || !trainer_seen_is_copy (t))
    return FALSE;
  g_mutex_lock (&t->inbox.lock);
  asked = is_asked (t);
  g_mutex_unlock (&t->inbox.lock);
  return asked;
}

/* Into each slot of the copy what the run has: the scalars alone, or the gathered values, too. */
static gboolean
copy (LoomTrainer *t, TrainerSeen *seen, gboolean all, GError **error)
{
  LoomState *to = seen->state;

  for (guint i = 0; to != NULL && i < loom_state_n_slots (to); i++)
    {
      const char *name;
      LoomSlotKind kind;

      loom_state_slot (to, i, &name, &kind, NULL);
      if (kind == LOOM_SLOT_SCALAR)
        {
          loom_state_set_scalar (to, name, loom_state_get_scalar (t->state, name));
          continue;
        }
      const LoomTensor *value = all ? g_hash_table_lookup (seen->value, name) : NULL;
      if (value != NULL && !loom_state_set (to, name, value, error))
        return FALSE;
    }
  return TRUE;
}

static void
refuse (TrainerSeen *seen, GError *why)
{
  g_free (seen->why_not);
  seen->why_not = why != NULL ? g_strdup (why->message) : NULL;
  g_clear_error (&why);
}

/* The values of the slots that are seen; on other ranks than the first none are kept. */
static GHashTable *
read_values (LoomTrainer *t, GError **error)
{
  g_autoptr (GHashTable) all
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_state_n_slots (t->state); i++)
    {
      const char *name;
      LoomSlotKind kind;

      loom_state_slot (t->state, i, &name, &kind, NULL);
      if (!is_seen (name, kind))
        continue;
      g_autoptr (LoomTensor) value = loom_state_get (t->state, name, error);
      if (value == NULL)
        return NULL;
      if (t->comm == NULL || t->comm->rank == 0)
        g_hash_table_insert (all, g_strdup (name), g_steal_pointer (&value));
    }
  return g_steal_pointer (&all);
}

static void
take_values (LoomTrainer *t, TrainerSeen *seen, GHashTable *all)
{
  GError *failure = NULL;

  g_clear_pointer (&seen->value, g_hash_table_unref);
  seen->value = all;
  seen->step = t->place.step;
  seen->epoch = t->place.epoch;
  copy (t, seen, all != NULL, &failure);
  refuse (seen, failure);
}

/* An exchange that fails ends the run, on all ranks; the values that were there stay as they were. */
gboolean
trainer_seen_gather (LoomTrainer *t, GError **error)
{
  GHashTable *all = read_values (t, error);

  if (all == NULL)
    return FALSE;
  take_values (t, &t->seen, all);
  return TRUE;
}

/* A command waits for the next step, after which the run stands still. */
static gboolean
stand_is_asked (LoomTrainer *t)
{
  gboolean asked = FALSE;

  if (!g_atomic_int_get (&t->inbox.pending))
    return FALSE;
  g_mutex_lock (&t->inbox.lock);
  for (GList *l = t->inbox.commands.head; l != NULL; l = l->next)
    {
      const TrainerCommand *command = l->data;

      asked = asked || trainer_command_pauses (command) || command->kind == LOOM_COMMAND_STOP;
    }
  g_mutex_unlock (&t->inbox.lock);
  return asked;
}

/* If the memory does not suffice for the copy, views show the state after the step. */
gboolean
trainer_seen_keep (LoomTrainer *t, gboolean may_stand, GError **error)
{
  if (!keeps_last (t) || !(may_stand || stand_is_asked (t)))
    return TRUE;
  if (!trainer_late_finish (t, error))
    return FALSE;
  g_clear_pointer (&t->last.value, g_hash_table_unref); /* so that the two copies never coexist */
  take_values (t, &t->last, read_values (t, NULL));
  return TRUE;
}

TrainerSeen *
trainer_seen_of_step (LoomTrainer *t)
{
  const gboolean stands = !t->inbox.active || t->inbox.over || t->inbox.paused;

  return stands && t->last.value != NULL && t->last.why_not == NULL && t->last.step + 1 == t->place.step ? &t->last
                                                                                                         : &t->seen;
}

void
trainer_seen_end (LoomTrainer *t)
{
  g_autoptr (GError) error = NULL;
  gboolean asked = FALSE;

  if (!trainer_seen_is_copy (t))
    return;
  /* An observer of the memory shows the run, also after its end. */
  if (t->comm->rank == 0)
    {
      g_mutex_lock (&t->inbox.lock);
      asked = t->seen.value != NULL || t->observer.memory != NULL || is_asked (t);
      g_mutex_unlock (&t->inbox.lock);
    }
  /* The run has ended well, whatever becomes of what is shown. */
  if (trainer_rank_0_says (t, asked, &error))
    trainer_seen_gather (t, &error);
}

LoomState *
trainer_seen_state (LoomTrainer *t, TrainerSeen *seen, GError **error)
{
  if (seen == &t->seen && !trainer_seen_is_copy (t))
    return t->state;
  if (seen->why_not != NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY, seen->why_not);
      return NULL;
    }
  if (seen->value == NULL || (t->comm != NULL && t->comm->rank > 0))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                   "Each rank has only a part of the weights, and they have not been gathered yet.");
      return NULL;
    }
  if (seen->state == NULL)
    seen->state = loom_state_new (t->devices, t->device, t->spec->seed);
  return seen->state;
}

gboolean
trainer_seen_fill (LoomTrainer *t, TrainerSeen *seen, GError **error)
{
  return copy (t, seen, TRUE, error);
}

void
trainer_seen_scalars (LoomTrainer *t, TrainerSeen *seen)
{
  copy (t, seen, FALSE, NULL);
}

LoomTensor *
trainer_seen_get (LoomTrainer *t, TrainerSeen *seen, const char *name, GError **error)
{
  if (seen == &t->seen && !loom_state_slot_is_divided (t->state, (guint)loom_state_find (t->state, name)))
    return loom_state_get (t->state, name, error);
  if (trainer_seen_state (t, seen, error) == NULL)
    return NULL;
  LoomTensor *value = g_hash_table_lookup (seen->value, name);
  g_return_val_if_fail (value != NULL, NULL);
  return loom_tensor_ref (value);
}

gint64
trainer_seen_step (const LoomTrainer *t, const TrainerSeen *seen, const TrainerRequest *request)
{
  return needs_state (request) && seen->value != NULL ? seen->step : t->place.step;
}

gint64
trainer_seen_epoch (const LoomTrainer *t)
{
  return t->seen.value != NULL ? t->seen.epoch : t->place.epoch;
}

static void
add_memory (const TrainerSeen *seen, gsize bytes[LOOM_N_OWNERS])
{
  GHashTableIter iter;
  gpointer value;

  if (seen->state != NULL)
    {
      gsize state[LOOM_N_OWNERS];

      loom_state_memory (seen->state, NULL, state);
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        bytes[o] += state[o];
    }
  if (seen->value == NULL)
    return;
  g_hash_table_iter_init (&iter, seen->value);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    bytes[LOOM_OWNER_WORKSPACE] += ((const LoomTensor *)value)->bytes;
}

void
trainer_seen_memory (const LoomTrainer *t, gsize bytes[LOOM_N_OWNERS])
{
  add_memory (&t->seen, bytes);
  add_memory (&t->last, bytes);
}
