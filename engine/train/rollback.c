/* Undoes the commits of a step of several batches if one of them fails. */
#include "engine/train/rollback.h"

struct _Rollback
{
  GPtrArray *name;       /* of the slots in the program */
  GPtrArray *value;      /* LoomTensor, as when the newest step began */
  double *sums, *recent; /* saved sums of the metrics of the epoch and of the last steps (metric_sums_save()) */
};

Rollback *
rollback_new (const LoomProgram *program, const MetricSums *metrics)
{
  Rollback *rollback = g_new0 (Rollback, 1);

  rollback->sums = g_new0 (double, metric_sums_count (metrics) + 1);
  rollback->recent = g_new0 (double, metric_sums_count (metrics) + 1);
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
rollback_free (Rollback *rollback)
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
rollback_has_slots (const Rollback *rollback)
{
  return rollback->name->len > 0;
}

gboolean
rollback_save (Rollback *self, LoomState *state, const MetricSums *metrics, const MetricSums *recent, GError **error)
{
  g_ptr_array_set_size (self->value, 0);
  for (guint i = 0; i < self->name->len; i++)
    {
      LoomTensor *value = loom_state_get (state, self->name->pdata[i], error);

      if (value == NULL)
        return FALSE;
      g_ptr_array_add (self->value, value);
    }
  metric_sums_save (metrics, self->sums);
  metric_sums_save (recent, self->recent);
  return TRUE;
}

gboolean
rollback_restore (const Rollback *self, LoomState *state, MetricSums *metrics, MetricSums *recent)
{
  gboolean ok = TRUE;

  for (guint i = 0; i < self->value->len; i++)
    ok = loom_state_set (state, self->name->pdata[i], self->value->pdata[i], NULL) && ok;
  metric_sums_load (metrics, self->sums);
  metric_sums_load (recent, self->recent);
  return ok;
}
