/* What a step of several batches puts back where one of them fails.
 *
 * Each batch commits what the forward pass remembers (running statistics, what the graph assigns to) and is counted by
 * the metrics, so a fault of a later one must undo that. A step of one batch commits all or nothing by itself. */
#include "engine/train/trainer-private.h"

#include <string.h>

struct _TrainerKept
{
  GPtrArray *name;  /* of the slots, as the program has them */
  GPtrArray *value; /* LoomTensor, of the newest step's beginning */
  double *sums;     /* of the metrics then, as trainer_metrics_save() has them */
};

TrainerKept *
trainer_kept_new (const LoomProgram *program, const TrainerMetrics *metrics)
{
  TrainerKept *kept = g_new0 (TrainerKept, 1);

  kept->sums = g_new0 (double, trainer_metrics_count (metrics) + metrics->n + 1);
  kept->name = g_ptr_array_new_with_free_func (g_free);
  kept->value = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < loom_program_n_slots (program); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (program, i);

      if (slot->commit != 0 && (slot->kind == LOOM_SLOT_BUFFER || slot->kind == LOOM_SLOT_PARAMETER))
        g_ptr_array_add (kept->name, g_strdup (slot->name));
    }
  return kept;
}

void
trainer_kept_free (TrainerKept *kept)
{
  if (!kept)
    return;
  g_ptr_array_unref (kept->name);
  g_ptr_array_unref (kept->value);
  g_free (kept->sums);
  g_free (kept);
}

gboolean
trainer_keep (LoomTrainer *t, GError **error)
{
  g_ptr_array_set_size (t->kept->value, 0);
  for (guint i = 0; i < t->kept->name->len; i++)
    {
      LoomTensor *value = loom_state_get (t->state, t->kept->name->pdata[i], error);
      if (!value)
        return FALSE;
      g_ptr_array_add (t->kept->value, value);
    }
  trainer_metrics_save (t->place.metrics, t->kept->sums);
  return TRUE;
}

void
trainer_put_back (LoomTrainer *t)
{
  /* On a device that is lost nothing can be put back, and nothing needs to be. */
  for (guint i = 0; i < t->kept->value->len; i++)
    loom_state_set (t->state, t->kept->name->pdata[i], t->kept->value->pdata[i], NULL);
  trainer_metrics_load (t->place.metrics, t->kept->sums);
}
