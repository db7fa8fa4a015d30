/* The state that views look at. Where ranks have parts of it, or some of them none, as with ZeRO, split products and
 * pipelines, no rank can answer a view by itself: when one asks rank 0, all ranks put their parts together before the
 * next step, and rank 0 keeps a copy that is whole. As long as nobody asks nothing is gathered. */
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "engine/train/trainer-private.h"

void
trainer_seen_free (TrainerSeen *seen)
{
  g_clear_pointer (&seen->state, loom_state_unref);
  g_clear_pointer (&seen->value, g_hash_table_unref);
}

/* What is asked for needs no values of the state, or is told by all ranks in another way. */
static gboolean
needs_state (const TrainerRequest *request)
{
  return request->samples != NULL || strchr (request->port, ':') == NULL || g_str_has_prefix (request->port, "grad:")
         || g_str_equal (request->port, LOOM_SNAPSHOT_TIMES);
}

static gboolean
is_newest (const LoomTrainer *t)
{
  return t->seen.value != NULL && t->seen.step == t->place.step;
}

gboolean
trainer_seen_can_answer (const LoomTrainer *t, const TrainerRequest *request)
{
  return !loom_state_is_divided (t->state) || !needs_state (request) || is_newest (t);
}

gboolean
trainer_seen_can_pause (const LoomTrainer *t)
{
  return !loom_state_is_divided (t->state) || is_newest (t);
}

gboolean
trainer_seen_is_wanted (LoomTrainer *t)
{
  gboolean wanted = FALSE;

  if (!loom_state_is_divided (t->state) || !g_atomic_int_get (&t->inbox.pending))
    return FALSE;
  g_mutex_lock (&t->inbox.lock);
  for (GList *l = t->inbox.requests.head; l != NULL; l = l->next)
    wanted = wanted || needs_state (l->data);
  for (GList *l = t->inbox.commands.head; l != NULL; l = l->next)
    wanted = wanted || trainer_command_pauses (l->data);
  g_mutex_unlock (&t->inbox.lock);
  return wanted || t->inbox.paused;
}

/* Weights, buffers and averages of weights: what a model computes with. */
static gboolean
is_seen (const char *name, LoomSlotKind kind)
{
  return kind == LOOM_SLOT_PARAMETER || kind == LOOM_SLOT_BUFFER || g_str_has_prefix (name, LOOM_SLOT_EMA);
}

/* Each slot of the copy that the run has a value of. */
static gboolean
fill (LoomTrainer *t, GError **error)
{
  for (guint i = 0; i < loom_state_n_slots (t->seen.state); i++)
    {
      const char *name;

      loom_state_slot (t->seen.state, i, &name, NULL, NULL);
      const LoomTensor *value = g_hash_table_lookup (t->seen.value, name);
      if (value != NULL && !loom_state_set (t->seen.state, name, value, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
trainer_seen_gather (LoomTrainer *t, GError **error)
{
  TrainerSeen *seen = &t->seen;

  if (seen->value == NULL)
    seen->value = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < loom_state_n_slots (t->state); i++)
    {
      const char *name;
      LoomSlotKind kind;

      loom_state_slot (t->state, i, &name, &kind, NULL);
      if (!is_seen (name, kind))
        continue;
      g_autoptr (LoomTensor) value = loom_state_get (t->state, name, error);
      if (value == NULL)
        return FALSE;
      if (t->comm->rank == 0)
        g_hash_table_replace (seen->value, g_strdup (name), g_steal_pointer (&value));
    }
  seen->step = t->place.step;
  return t->comm->rank != 0 || seen->state == NULL || fill (t, error);
}

gboolean
trainer_seen_end (LoomTrainer *t, GError **error)
{
  return t->seen.value == NULL || trainer_seen_gather (t, error);
}

LoomState *
trainer_seen_state (LoomTrainer *t, GError **error)
{
  if (!loom_state_is_divided (t->state))
    return t->state;
  if (t->seen.value == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                   "Each rank has a part of the weights alone, and they have not been put together yet.");
      return NULL;
    }
  if (t->seen.state == NULL)
    t->seen.state = loom_state_new (t->devices, t->device, t->spec->seed);
  return t->seen.state;
}

gboolean
trainer_seen_fill (LoomTrainer *t, GError **error)
{
  return t->seen.state == NULL || fill (t, error);
}

LoomTensor *
trainer_seen_get (LoomTrainer *t, const char *name, GError **error)
{
  if (!loom_state_slot_is_divided (t->state, (guint)loom_state_find (t->state, name)))
    return loom_state_get (t->state, name, error);
  return trainer_seen_state (t, error) != NULL ? loom_tensor_ref (g_hash_table_lookup (t->seen.value, name)) : NULL;
}

gint64
trainer_seen_step (const LoomTrainer *t)
{
  return t->seen.value != NULL ? t->seen.step : t->place.step;
}
