/* Rollback of a step of several batches where one of them fails.
 *
 * Each batch commits what the forward pass remembers (running statistics, what the graph assigns to) and is counted by
 * the metrics, so a fault of a later one must undo that. A step of one batch commits all or nothing by itself. */
#include "engine/train/trainer-private.h"

#include <string.h>

struct _TrainerRollback
{
  GPtrArray *name;  /* of the slots, as the program has them */
  GPtrArray *value; /* LoomTensor, of the newest step's beginning */
  double *sums,
      *recent; /* of the epoch's metrics then, and of the last steps', as trainer_metrics_save() stores them */
};

TrainerRollback *
trainer_rollback_new (const LoomProgram *program, const TrainerMetrics *metrics)
{
  TrainerRollback *rollback = g_new0 (TrainerRollback, 1);

  rollback->sums = g_new0 (double, trainer_metrics_count (metrics) + metrics->n + 1);
  rollback->recent = g_new0 (double, trainer_metrics_count (metrics) + metrics->n + 1);
  rollback->name = g_ptr_array_new_with_free_func (g_free);
  rollback->value = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < loom_program_n_slots (program); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (program, i);

      if (slot->commit != 0 && (slot->kind == LOOM_SLOT_BUFFER || slot->kind == LOOM_SLOT_PARAMETER))
        g_ptr_array_add (rollback->name, g_strdup (slot->name));
    }
  return rollback;
}

void
trainer_rollback_free (TrainerRollback *rollback)
{
  if (rollback == NULL)
    return;
  g_ptr_array_unref (rollback->name);
  g_ptr_array_unref (rollback->value);
  g_free (rollback->sums);
  g_free (rollback->recent);
  g_free (rollback);
}

gboolean
trainer_rollback_has_slots (const TrainerRollback *rollback)
{
  return rollback->name->len > 0;
}

gboolean
trainer_rollback_save (LoomTrainer *t, GError **error)
{
  g_ptr_array_set_size (t->rollback->value, 0);
  for (guint i = 0; i < t->rollback->name->len; i++)
    {
      LoomTensor *value = loom_state_get (t->state, t->rollback->name->pdata[i], error);
      if (value == NULL)
        return FALSE;
      g_ptr_array_add (t->rollback->value, value);
    }
  trainer_metrics_save (t->place.metrics, t->rollback->sums);
  trainer_metrics_save (trainer_recent_metrics (&t->recent), t->rollback->recent);
  return TRUE;
}

void
trainer_rollback_restore (LoomTrainer *t)
{
  /* On a device that is lost nothing can be put back, and nothing needs to be. */
  for (guint i = 0; i < t->rollback->value->len; i++)
    loom_state_set (t->state, t->rollback->name->pdata[i], t->rollback->value->pdata[i], NULL);
  trainer_metrics_load (t->place.metrics, t->rollback->sums);
  trainer_metrics_load (trainer_recent_metrics (&t->recent), t->rollback->recent);
}
