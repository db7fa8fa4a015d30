/* Gathers shards on rank 0 and keeps the state of before a step, for observers (watched-state.h). */
#include "engine/train/watched-state.h"

#include "engine/core/loom-refuse.h"
#include "engine/interop/loom-safetensors.h"
#include "engine/program/loom-optimizer.h"

void
watched_state_init (WatchedState *self, const TrainModel *model, const RankGroup *group, const TrainProgress *progress)
{
  *self = (WatchedState){ .model = model, .group = group, .progress = progress };
}

static void
state_copy_clear (StateCopy *copy)
{
  g_clear_pointer (&copy->state, loom_state_unref);
  g_clear_pointer (&copy->value, g_hash_table_unref);
  g_clear_pointer (&copy->why_not, g_free);
}

void
watched_state_clear (WatchedState *self)
{
  state_copy_clear (&self->now);
  state_copy_clear (&self->last);
}

void
watched_state_begin (WatchedState *self)
{
  self->last.step = self->progress->step - 1;
  g_clear_pointer (&self->last.value, g_hash_table_unref);
}

/* TRUE for weights, buffers and averages of weights: the values that a model computes with. Scalars are the same on all
 * ranks. */
static gboolean
is_watched (const char *name, LoomSlotKind kind)
{
  return kind == LOOM_SLOT_PARAMETER || kind == LOOM_SLOT_BUFFER || g_str_has_prefix (name, LOOM_SLOT_EMA);
}

gboolean
watched_state_is_copy (const WatchedState *self)
{
  gboolean divided = FALSE;

  for (guint i = 0;
       loom_state_is_divided (self->model->state) && i < loom_state_n_slots (self->model->state) && !divided; i++)
    {
      const char *name;
      LoomSlotKind kind;

      loom_state_slot (self->model->state, i, &name, &kind, NULL);
      divided = is_watched (name, kind) && loom_state_slot_is_divided (self->model->state, i);
    }
  return divided;
}

static gboolean
is_newest (const WatchedState *self)
{
  return self->now.value != NULL && self->now.step == self->progress->step;
}

gboolean
watched_state_is_ready (const WatchedState *self)
{
  return is_newest (self) || !watched_state_is_copy (self) || !rank_group_is_first (self->group);
}

gboolean
watched_state_keeps (const WatchedState *self)
{
  /* Ranks would have to gather their shards before each such step. */
  return self->is_shown && self->group->comm == NULL;
}

gboolean
watched_state_can_stand (const WatchedState *self, gboolean stops)
{
  if (watched_state_is_copy (self))
    return stops || is_newest (self);
  return !watched_state_keeps (self) || self->last.step + 1 == self->progress->step;
}

/* Sets each slot of the copy to the run's value: only scalars, or also the copied values. */
static gboolean
copy_slots (WatchedState *self, StateCopy *copy, gboolean all, GError **error)
{
  LoomState *to = copy->state;

  for (guint i = 0; to != NULL && i < loom_state_n_slots (to); i++)
    {
      const char *name;
      LoomSlotKind kind;

      loom_state_slot (to, i, &name, &kind, NULL);
      if (kind == LOOM_SLOT_SCALAR)
        {
          if (!loom_state_copy_scalar (to, self->model->state, name, error))
            return FALSE;
          continue;
        }
      const LoomTensor *value = all ? g_hash_table_lookup (copy->value, name) : NULL;
      if (value != NULL && !loom_state_set (to, name, value, error))
        return FALSE;
    }
  return TRUE;
}

static void
refuse (StateCopy *copy, GError *why)
{
  g_free (copy->why_not);
  copy->why_not = why != NULL ? g_strdup (why->message) : NULL;
  g_clear_error (&why);
}

/* Copies the values of the watched slots; ranks other than 0 keep none. */
static GHashTable *
read_values (WatchedState *self, GError **error)
{
  g_autoptr (GHashTable) all
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_state_n_slots (self->model->state); i++)
    {
      const char *name;
      LoomSlotKind kind;

      loom_state_slot (self->model->state, i, &name, &kind, NULL);
      if (!is_watched (name, kind))
        continue;
      g_autoptr (LoomTensor) value = loom_state_get (self->model->state, name, error);
      if (value == NULL)
        return NULL;
      if (rank_group_is_first (self->group))
        g_hash_table_insert (all, g_strdup (name), g_steal_pointer (&value));
    }
  return g_steal_pointer (&all);
}

static void
take_values (WatchedState *self, StateCopy *copy, GHashTable *all)
{
  GError *failure = NULL;

  g_clear_pointer (&copy->value, g_hash_table_unref);
  copy->value = all;
  copy->step = self->progress->step;
  copy->epoch = self->progress->epoch;
  copy_slots (self, copy, all != NULL, &failure);
  refuse (copy, failure);
}

gboolean
watched_state_gather (WatchedState *self, GError **error)
{
  GHashTable *all = read_values (self, error);

  /* On failure the former values stay. */
  if (all == NULL)
    return FALSE;
  take_values (self, &self->now, all);
  return TRUE;
}

void
watched_state_keep (WatchedState *self)
{
  g_clear_pointer (&self->last.value, g_hash_table_unref); /* so that the two copies never exist together */
  take_values (self, &self->last, read_values (self, NULL));
}

void
watched_state_set_aside (WatchedState *self, StateCopy *aside)
{
  *aside
      = (StateCopy){ .value = g_steal_pointer (&self->last.value), .step = self->last.step, .epoch = self->last.epoch };
}

/* The state for computations is the same before and after, and gets the values again. */
void
watched_state_put_back (WatchedState *self, StateCopy *aside)
{
  GError *failure = NULL;

  g_clear_pointer (&self->last.value, g_hash_table_unref);
  self->last.value = g_steal_pointer (&aside->value);
  self->last.step = aside->step;
  self->last.epoch = aside->epoch;
  copy_slots (self, &self->last, self->last.value != NULL, &failure);
  refuse (&self->last, failure);
}

void
watched_state_drop_last (WatchedState *self)
{
  g_clear_pointer (&self->last.value, g_hash_table_unref);
}

StateCopy *
watched_state_of_step (WatchedState *self, gboolean is_paused)
{
  return is_paused && self->last.value != NULL && self->last.why_not == NULL
                 && self->last.step + 1 == self->progress->step
             ? &self->last
             : &self->now;
}

void
watched_state_end (WatchedState *self, gboolean is_wanted)
{
  g_autoptr (GError) error = NULL;

  if (!watched_state_is_copy (self))
    return;
  is_wanted = is_wanted || self->now.value != NULL || self->is_shown;
  /* The run has ended successfully, even if its last state cannot be shown. */
  if (rank_group_first_says (self->group, self->model->state, is_wanted, &error))
    watched_state_gather (self, &error);
  /* The other ranks wait for this one's part. */
  if (error != NULL && self->group->comm != NULL)
    self->group->comm->abort (self->group->comm, error->message);
}

LoomState *
watched_state_get (WatchedState *self, StateCopy *copy, GError **error)
{
  if (copy == &self->now && !watched_state_is_copy (self))
    return self->model->state;
  if (copy->why_not != NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY, copy->why_not);
      return NULL;
    }
  if (copy->value == NULL || !rank_group_is_first (self->group))
    return loom_refuse_null (error, LOOM_ERROR_SHAPE,
                             "Each rank has only a part of the weights, and they have not been gathered yet.");
  if (copy->state == NULL)
    copy->state = loom_state_new (self->model->devices, self->model->device, self->model->spec->seed);
  return copy->state;
}

gboolean
watched_state_fill (WatchedState *self, StateCopy *copy, GError **error)
{
  return copy_slots (self, copy, TRUE, error);
}

gboolean
watched_state_fill_scalars (WatchedState *self, StateCopy *copy, GError **error)
{
  return copy_slots (self, copy, FALSE, error);
}

LoomTensor *
watched_state_slot (WatchedState *self, StateCopy *copy, const char *name, GError **error)
{
  if (copy == &self->now
      && !loom_state_slot_is_divided (self->model->state, (guint)loom_state_find (self->model->state, name)))
    return loom_state_get (self->model->state, name, error);
  if (watched_state_get (self, copy, error) == NULL)
    return NULL;
  LoomTensor *value = g_hash_table_lookup (copy->value, name);
  g_return_val_if_fail (value != NULL, NULL);
  return loom_tensor_ref (value);
}

/* The slot with the average of a weight if averages are used, else the weight's own. */
static LoomTensor *
weight_of (WatchedState *self, const char *name, gboolean averaged, GError **error)
{
  g_autofree char *average = g_strconcat (LOOM_SLOT_EMA, name, NULL);
  const gboolean is_there = averaged && loom_state_find (self->model->state, average) >= 0;

  return watched_state_slot (self, &self->now, is_there ? average : name, error);
}

GPtrArray *
watched_state_weights (WatchedState *self, GError **error)
{
  const LoomState *state = self->model->state;
  g_autoptr (GPtrArray) all = loom_named_tensors_new ();
  gboolean averaged;

  if (!train_model_has_averages (self->model, &averaged, error))
    return NULL;
  averaged = averaged && watched_state_step (self, &self->now, TRUE) > 0;
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;
      LoomSlotKind kind;

      loom_state_slot (state, i, &name, &kind, NULL);
      if (kind != LOOM_SLOT_PARAMETER && kind != LOOM_SLOT_BUFFER)
        continue;
      g_autoptr (LoomTensor) value = weight_of (self, name, averaged, error);
      if (value == NULL)
        return NULL;
      g_ptr_array_add (all, loom_named_tensor_new (name, value));
    }
  return g_steal_pointer (&all);
}

gint64
watched_state_step (const WatchedState *self, const StateCopy *copy, gboolean needs_state)
{
  return needs_state && copy->value != NULL ? copy->step : self->progress->step;
}

gint64
watched_state_epoch (const WatchedState *self)
{
  return self->now.value != NULL ? self->now.epoch : self->progress->epoch;
}

static void
add_memory (const StateCopy *copy, gsize bytes[LOOM_N_OWNERS])
{
  GHashTableIter iter;
  gpointer value;

  if (copy->state != NULL)
    {
      gsize state[LOOM_N_OWNERS];

      loom_state_memory (copy->state, NULL, state);
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        bytes[o] += state[o];
    }
  if (copy->value == NULL)
    return;
  g_hash_table_iter_init (&iter, copy->value);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    bytes[LOOM_OWNER_WORKSPACE] += ((const LoomTensor *)value)->bytes;
}

void
watched_state_memory (const WatchedState *self, gsize bytes[LOOM_N_OWNERS])
{
  add_memory (&self->now, bytes);
  add_memory (&self->last, bytes);
}
