/* States of a run in memory; see the header. */
#include "engine/train/moments.h"

#include <string.h>
#include <unistd.h>

#define FOR_VISITED 4 /* one part in this number of the budget is for states that were passed */

void
moment_free (Moment *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->value, g_ptr_array_unref);
  g_free (self->text);
  g_free (self);
}

Moment *
moment_new (const RunState *run, const TrainProgress *progress)
{
  LoomState *state = run->model->state;
  const guint n = loom_state_n_slots (state);
  g_autoptr (Moment) self = g_new0 (Moment, 1);

  self->step = progress->step;
  self->text = run_state_to_text (run, progress, 0);
  self->bytes = (gint64)strlen (self->text);
  self->value = g_ptr_array_new_full (n, (GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < n; i++)
    {
      const char *name;
      LoomTensor *value;

      loom_state_slot (state, i, &name, NULL, NULL);
      value = loom_state_get (state, name, NULL);
      if (value == NULL)
        return NULL;
      self->bytes += (gint64)value->bytes;
      g_ptr_array_add (self->value, value);
    }
  return g_steal_pointer (&self);
}

gboolean
moment_restore (const Moment *self, const RunState *run, TrainProgress *progress, GError **error)
{
  LoomState *state = run->model->state;

  if (!run_state_from_text (run, self->text, progress, error))
    return FALSE;
  for (guint i = 0; i < self->value->len; i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      if (!loom_state_set (state, name, self->value->pdata[i], error))
        return FALSE;
    }
  return TRUE;
}

/* ---- those of a run ------------------------------------------------------ */

void
moments_init (Moments *self, gint64 budget)
{
  const gint64 all = (gint64)sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGESIZE);

  *self = (Moments){ .history = { .budget = MIN (budget, all / 16) } };
  self->history.steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  self->moment = g_ptr_array_new_with_free_func ((GDestroyNotify)moment_free);
  self->visited = g_ptr_array_new_with_free_func ((GDestroyNotify)moment_free);
}

void
moments_clear (Moments *self)
{
  history_clear (&self->history);
  g_clear_pointer (&self->moment, g_ptr_array_unref);
  g_clear_pointer (&self->visited, g_ptr_array_unref);
}

void
moments_begin (Moments *self, const History *disk, gint64 total)
{
  const gint64 slot = history_slot (disk);
  gint64 parts;

  self->history.bytes = MAX (self->history.bytes, disk->bytes);
  self->history.total = total;
  self->history.slot = 0;
  parts = slot / history_slot (&self->history);
  /* As many between two checkpoints as fit, so that all states together are evenly spaced. */
  if (parts >= 1)
    self->history.slot = MAX (1, (slot + parts) / (parts + 1));
}

gboolean
moments_fit (Moments *self, LoomState *state)
{
  gint64 bytes = 0;

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      LoomTensorDesc desc;

      loom_state_slot (state, i, NULL, NULL, &desc);
      bytes += loom_desc_count (&desc) * (gint64)loom_dtype_size (desc.dtype);
    }
  self->history.bytes = MAX (self->history.bytes, bytes);
  return bytes <= self->history.budget;
}

static void
drop (Moments *self, gint64 step)
{
  for (guint i = 0; i < self->moment->len; i++)
    if (((const Moment *)self->moment->pdata[i])->step == step)
      {
        g_ptr_array_remove_index (self->moment, i);
        break;
      }
  history_note_removed (&self->history, step);
}

void
moments_keep (Moments *self, const RunState *run, const TrainProgress *progress)
{
  const gint64 begin = g_get_monotonic_time ();
  gint64 gone;
  Moment *fresh;

  if (!history_wants (&self->history, progress->step))
    return;
  fresh = moment_new (run, progress);
  if (fresh == NULL)
    {
      self->history.budget = 0;
      return;
    }
  g_ptr_array_add (self->moment, fresh);
  history_note_written (&self->history, fresh->step, fresh->bytes, begin, g_get_monotonic_time ());
  while ((gone = history_superfluous (&self->history)) >= 0)
    drop (self, gone);
}

void
moments_visit (Moments *self, const RunState *run, const TrainProgress *progress)
{
  const gint64 most = self->history.budget / FOR_VISITED;
  const Moment *near = moments_find (self, progress->step);
  Moment *fresh;

  if (self->history.bytes > most || (near != NULL && near->step == progress->step))
    return;
  fresh = moment_new (run, progress);
  if (fresh == NULL)
    return;
  g_ptr_array_add (self->visited, fresh);
  self->visited_bytes += fresh->bytes;
  while (self->visited_bytes > most && self->visited->len > 0)
    {
      self->visited_bytes -= ((const Moment *)self->visited->pdata[0])->bytes;
      g_ptr_array_remove_index (self->visited, 0);
    }
}

static const Moment *
nearest (const GPtrArray *list, gint64 step, const Moment *best)
{
  for (guint i = 0; i < list->len; i++)
    {
      const Moment *one = list->pdata[i];

      if (one->step <= step && (best == NULL || one->step > best->step))
        best = one;
    }
  return best;
}

const Moment *
moments_find (const Moments *self, gint64 step)
{
  return nearest (self->visited, step, nearest (self->moment, step, NULL));
}
